// TurboHash: read beside a writer of another process. A bucket's commit word counts all of its
// changes; a word of the directory, or of a pair, names the shard's array
// (docs/explanation/readers.md).
#pragma once

#include "engine/beside.hpp"
#include "engine/turbo/bucket.hpp"

namespace durahash::turbo {

template <medium M, class Kind>
class beside {
 public:
  using kind = Kind;
  using key_type = typename Kind::key_type;
  using record = copied_record<Kind>;
  static constexpr bool finds_by_versions = false, scans_by_versions = false;
  static constexpr bool reads_pairs = false;

  explicit beside(beside_pool<M>& p)
      : p_(p),
        seeds_(seeds_of(p.block())),
        shard_bits_(static_cast<unsigned>(p.block().settings[setting::shard_bits])),
        scope_(p.block().settings[setting::scope]) {}

  bool is_possible() const noexcept {
    return shard_bits_ >= 1 && shard_bits_ <= 24 &&
           p_.block().engine_bytes == std::uint64_t{8} << shard_bits_;
  }
  std::size_t key_bytes() const noexcept { return 0; }

  looked find(key_type key, const std::byte*, record& found) const {
    const std::uint64_t hash = Kind::hash(key, seeds_), key_word = Kind::key_word(key, hash);
    leaf at;
    if (looked bad = leaf_of(hash, at); bad != looked::hit) return bad;
    const directory_entry e = at.entry;
    if (e.none()) return looked::miss;
    looked_at<M> seen(p_.medium());
    const std::uint64_t buckets = std::uint64_t{1} << e.exponent(),
                        home = (hash << at.level) >> 1 >> (63 - e.exponent());
    looked answer = looked::miss;
    for (std::uint64_t n = 0; n < std::min(scope_, buckets) && answer == looked::miss; ++n) {
      const bucket& b = buckets_of(e)[(home + n) & (buckets - 1)];
      const meta_word meta = load(p_.medium(), b.meta);
      seen.add(&b, sizeof b);
      answer = find_in(b, meta, key, key_word, hash, found);
      if (!is_as_read(b, meta)) return looked::again;
      if (meta.ends_path()) break;
    }
    seen.make_durable();
    return is_still(at, hash) ? answer : looked::again;
  }

  looked read_stretch(std::uint64_t position, const std::byte*, std::vector<record>& found,
                      std::uint64_t& end) const {
    leaf at;
    if (looked bad = leaf_of(position, at); bad != looked::hit) return bad;
    const directory_entry e = at.entry;
    const std::uint64_t behind = (position >> (64 - at.level)) + 1;
    end = behind >> at.level != 0 ? 0 : behind << (64 - at.level);
    if (e.none()) return looked::hit;
    looked_at<M> seen(p_.medium());
    for (std::uint64_t n = 0; n < std::uint64_t{1} << e.exponent(); ++n) {
      const bucket& b = buckets_of(e)[n];
      constexpr int tries = 100;
      looked read = looked::again;
      const std::size_t before = found.size();
      for (int left = tries; left > 0 && read != looked::hit; --left) {
        found.resize(before);
        read = read_bucket(b, found);
      }
      if (read != looked::hit) return read;
      seen.add(&b, sizeof b);
      if (n % 64 == 0 && !is_still(at, position)) return looked::again;
    }
    seen.make_durable();
    return is_still(at, position) ? looked::hit : looked::again;
  }

  std::uint64_t slots() const noexcept {
    std::uint64_t sum = 0;
    for (std::uint64_t s = 0; s < std::uint64_t{1} << shard_bits_; ++s)
      sum += slots_of({{load(p_.medium(), directory()[s])}}, shard_bits_);
    return sum;
  }

 private:
  /// Where a hash's shard was, and what its entry said.
  struct leaf {
    const pm<std::uint64_t>* named = nullptr;
    directory_entry entry;
    unsigned level = 0;  // bits of the hash that it stands for
  };

  /// The array, if there is one, lies in the pool.
  looked leaf_of(std::uint64_t hash, leaf& found) const noexcept {
    found.level = shard_bits_;
    found.named = &directory()[hash >> (64 - shard_bits_)];
    while (true) {
      found.entry = {{load(p_.medium(), *found.named)}};
      if (found.entry.none()) return looked::hit;
      if (looked bad = whether_there(found.entry); bad != looked::hit) return bad;
      if (!found.entry.is_pair()) return looked::hit;
      if (found.level >= max_shard_bits) return looked::suspect;
      found.named = &pair_of(found.entry)->entries[hash << found.level >> 63];
      ++found.level;
    }
  }
  bool is_still(const leaf& seen, std::uint64_t hash) const noexcept {
    leaf now;
    return leaf_of(hash, now) == looked::hit && now.named == seen.named && now.entry == seen.entry;
  }
  std::uint64_t slots_of(directory_entry e, unsigned level) const noexcept {
    if (e.none() || whether_there(e) != looked::hit) return 0;
    if (!e.is_pair()) return std::uint64_t{slots_per_bucket} << e.exponent();
    std::uint64_t sum = 0;
    for (int half = 0; half < 2 && level < max_shard_bits; ++half)
      sum += slots_of({{load(p_.medium(), pair_of(e)->entries[half])}}, level + 1);
    return sum;
  }
  const shard_pair* pair_of(directory_entry e) const noexcept {
    return p_.template at<shard_pair>(e.offset());
  }
  const pm<std::uint64_t>* directory() const noexcept {
    return p_.template at<pm<std::uint64_t>>(p_.block().engine_offset);
  }
  const bucket* buckets_of(directory_entry e) const noexcept {
    return p_.template at<bucket>(e.offset());
  }
  looked whether_there(directory_entry e) const noexcept {
    return e.sound() && p_.holds(e.offset(), e.bytes()) ? looked::hit : looked::suspect;
  }
  bool is_as_read(const bucket& b, meta_word meta) const noexcept {
    std::atomic_thread_fence(std::memory_order_acquire);
    return load(p_.medium(), b.meta) == meta ||
           M::planted("beside-what-was-read-is-not-looked-at-again");
  }

  looked find_in(const bucket& b, meta_word meta, key_type key, std::uint64_t key_word,
                 std::uint64_t hash, record& found) const {
    for (std::uint32_t live = meta.live(); live != 0;) {
      const int i = take_lowest(live);
      if (tag_at(p_.medium(), b, i) != tag_of(hash) ||
          load(p_.medium(), b.slots[i].key) != key_word)
        continue;
      const std::uint64_t word = load(p_.medium(), b.slots[i].value);
      found.hash = hash;
      if constexpr (Kind::in_slot) {
        found.key_word = key_word, found.value_word = word;
      } else {
        const looked copied =
            copy_record<M>(p_, word, {}, found, [&] { return is_as_read(b, meta); });
        if (copied != looked::hit) return copied;
        if (found.key() != key) continue;
      }
      return looked::hit;
    }
    return looked::miss;
  }

  looked read_bucket(const bucket& b, std::vector<record>& found) const {
    const meta_word meta = load(p_.medium(), b.meta);
    for (std::uint32_t live = meta.live(); live != 0;) {
      const int i = take_lowest(live);
      const std::uint64_t key_word = load(p_.medium(), b.slots[i].key),
                          word = load(p_.medium(), b.slots[i].value);
      record& r = found.emplace_back();
      if constexpr (Kind::in_slot) {
        r.hash = word_hash(key_word, seeds_), r.key_word = key_word, r.value_word = word;
      } else {
        r.hash = key_word;
        const looked copied = copy_record<M>(p_, word, {}, r, [&] { return is_as_read(b, meta); });
        if (copied != looked::hit) return is_as_read(b, meta) ? copied : looked::again;
      }
    }
    return is_as_read(b, meta) ? looked::hit : looked::again;
  }

  beside_pool<M>& p_;
  hash_seeds seeds_;
  unsigned shard_bits_;
  std::uint64_t scope_;
};

}  // namespace durahash::turbo
