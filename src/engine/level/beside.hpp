// Level hashing: read beside a writer of another process. A bucket's state word counts all of its
// changes; the root's words name the levels. Scans ask the writer's stripes whether records have
// moved (docs/explanation/readers.md).
#pragma once

#include "engine/beside.hpp"
#include "engine/level/format.hpp"
#include "engine/level/places.hpp"
#include "engine/level/stripes.hpp"

namespace durahash::level {

template <medium M, class Kind>
class beside {
 public:
  using kind = Kind;
  using key_type = typename Kind::key_type;
  using record = copied_record<Kind>;
  static constexpr bool finds_by_versions = false, scans_by_versions = true;
  static constexpr bool reads_pairs = false;

  explicit beside(beside_pool<M>& p)
      : p_(p),
        seeds_(seeds_of(p.block())),
        shape_(shape::of(static_cast<unsigned>(
            std::clamp<std::uint64_t>(p.block().settings[setting::slots], 1, max_slots)))),
        second_maps_(seeds_, p.block().incompat) {}

  bool is_possible() const noexcept {
    return p_.block().settings[setting::slots] == shape_.slots &&
           p_.block().engine_bytes == sizeof(root);
  }
  std::size_t key_bytes() const noexcept { return 0; }

  looked find(key_type key, const std::byte*, record& found) const {
    const std::uint64_t hash = Kind::hash(key, seeds_);
    const candidates s = second_maps_.candidates_of(hash, Kind::key_word(key, hash));
    named_levels v;
    if (looked bad = levels(v); bad != looked::hit) return bad;
    found.hash = hash;
    bucket_read seen[2 * level_sizes];
    unsigned count = 0;
    looked_at<M> lines(p_.medium());
    for (unsigned l = 0; l < v.count; ++l)
      for (std::uint64_t where : s.place) {
        const std::byte* b = bucket_at(v.at[l], first_bits(where, v.at[l].log2));
        const bucket_read& read = seen[count++] = {b, load(p_.medium(), state_of(b))};
        lines.add(b, std::size_t{1} << shape_.bytes_log2);
        const looked in = find_in(read, key, s, found);
        if (in == looked::miss) continue;
        lines.make_durable();
        return is_as_read(read) && are_still_named(v) ? in : looked::again;
      }
    for (unsigned n = 0; n < count; ++n)
      if (!is_as_read(seen[n])) return looked::again;
    lines.make_durable();
    return are_still_named(v) ? looked::miss : looked::again;
  }

  looked read_stretch(std::uint64_t position, const std::byte* versions, std::vector<record>& found,
                      std::uint64_t& end) const {
    named_levels v;
    if (looked bad = levels(v); bad != looked::hit) return bad;
    if (v.count == 0) return end = 0, looked::hit;
    const unsigned smallest = v.at[v.count - 1].log2,
                   bits = std::max(std::min(16u, smallest), smallest - std::min(smallest, 2u));
    const std::uint64_t prefix = place_with(first_bits(position, bits), bits);
    end = prefix + place_with(1, bits);
    const std::uint64_t moved = moves_of(versions, prefix, bits);
    looked_at<M> lines(p_.medium());
    for (const auto& [place, tags] : places_of_prefix(second_maps_, prefix, bits))
      for (unsigned l = 0; l < v.count; ++l) {
        const unsigned log2 = v.at[l].log2;
        const std::uint64_t first = first_bits(place, log2),
                            buckets = std::uint64_t{1} << (log2 - bits);
        for (std::uint64_t n = first; n < first + buckets; ++n) {
          const std::byte* b = bucket_at(v.at[l], n);
          if (looked read = read_bucket(b, tags, prefix, bits, found); read != looked::hit)
            return read;
          lines.add(b, std::size_t{1} << shape_.bytes_log2);
        }
      }
    lines.make_durable();
    if (moves_of(versions, prefix, bits) != moved) return looked::again;
    return are_still_named(v) ? looked::hit : looked::again;
  }

  std::uint64_t slots() const noexcept {
    named_levels v;
    std::uint64_t sum = 0;
    if (levels(v) == looked::hit)
      for (unsigned l = 0; l < v.count; ++l) sum += std::uint64_t{shape_.slots} << v.at[l].log2;
    return sum;
  }

 private:
  struct named_level {
    std::uint64_t word, offset;
    unsigned log2;
  };
  /// From the largest to the smallest.
  struct named_levels {
    unsigned count = 0;
    named_level at[level_sizes];
    std::uint64_t words[level_sizes];
  };
  struct bucket_read {
    const std::byte* where;
    std::uint64_t state;
  };

  const root& root_of_table() const noexcept {
    return *p_.template at<root>(p_.block().engine_offset);
  }
  /// A sum that changes when a record with the prefix moves, by however many bits its writer
  /// numbers stripes: while levels come and go, that is not to be seen from the root.
  static std::uint64_t moves_of(const std::byte* versions, std::uint64_t prefix,
                                unsigned bits) noexcept {
    if (versions == nullptr || M::planted("beside-versions-are-not-asked")) return 0;
    const auto* const stripes = reinterpret_cast<const stripe_state*>(versions);
    std::uint64_t sum = 0;
    for (unsigned by = 1; by <= stripe_bits_on<M>; ++by) {
      const std::uint64_t first = first_bits(prefix, by);
      const std::uint64_t count = by <= bits ? 1 : std::uint64_t{1} << (by - bits);
      for (std::uint64_t s = first; s < first + count; ++s)
        sum += stripes[s].moves.load(std::memory_order_acquire);
    }
    return sum;
  }
  looked levels(named_levels& v) const noexcept {
    for (unsigned k = level_sizes; k-- > 0;) {
      v.words[k] = load(p_.medium(), root_of_table().levels[k]);
      const checked_place at{v.words[k]};
      if (at.none()) continue;
      if (!at.sound() || k == 0 || (at.exponent() & (draining - 1)) != k ||
          !p_.holds(at.offset(), shape_.level_bytes(k)))
        return looked::suspect;
      v.at[v.count++] = {v.words[k], at.offset(), k};
    }
    return looked::hit;
  }
  bool are_still_named(const named_levels& v) const noexcept {
    std::atomic_thread_fence(std::memory_order_acquire);
    for (unsigned k = 0; k < level_sizes; ++k)
      if (load(p_.medium(), root_of_table().levels[k]) != v.words[k]) return false;
    return true;
  }
  const std::byte* bucket_at(const named_level& l, std::uint64_t index) const noexcept {
    return p_.template at<std::byte>(l.offset + (index << shape_.bytes_log2));
  }
  static const pm<std::uint64_t>& state_of(const std::byte* b) noexcept {
    return *reinterpret_cast<const pm<std::uint64_t>*>(b);
  }
  const slot& slot_of(const std::byte* b, int index) const noexcept {
    return reinterpret_cast<const slot*>(b + shape_.header_bytes)[index];
  }
  bool is_as_read(const bucket_read& b) const noexcept {
    std::atomic_thread_fence(std::memory_order_acquire);
    return load(p_.medium(), state_of(b.where)) == b.state ||
           M::planted("beside-what-was-read-is-not-looked-at-again");
  }
  std::uint8_t tag_at(const std::byte* b, int index) const noexcept {
    const pm<std::uint64_t>& word = (&state_of(b))[1 + index / 8];
    return static_cast<std::uint8_t>(load(p_.medium(), word) >> (index % 8 * 8));
  }

  looked find_in(const bucket_read& b, key_type key, const candidates& s, record& found) const {
    std::uint32_t tokens = bucket_state{b.state}.tokens() & shape_.all_tokens;
    while (tokens != 0) {
      const int i = take_lowest(tokens);
      if (tag_at(b.where, i) != static_cast<std::uint8_t>(s.tag)) continue;
      const slot& at = slot_of(b.where, i);
      if (load(p_.medium(), at.key) != s.key_word) continue;
      const std::uint64_t word = load(p_.medium(), at.value);
      if constexpr (Kind::in_slot) {
        found.key_word = s.key_word, found.value_word = word;
      } else {
        auto stays = [&] { return is_as_read(b) && load(p_.medium(), at.value) == word; };
        const looked copied = copy_record<M>(p_, word, {}, found, stays);
        if (!stays()) return looked::again;
        if (copied != looked::hit) return copied;
        if (found.key() != key) continue;
      }
      return looked::hit;
    }
    return looked::miss;
  }

  looked read_bucket(const std::byte* b, tag_bits tags, std::uint64_t prefix, unsigned bits,
                     std::vector<record>& found) const {
    constexpr int tries = 100;
    const std::size_t before = found.size();
    looked last = looked::again;
    for (int left = tries; left > 0; --left) {
      found.resize(before);
      const bucket_read read{b, load(p_.medium(), state_of(b))};
      last = read_slots(read, tags, prefix, bits, found);
      if (is_as_read(read)) {
        if (last == looked::hit) return last;
      } else {
        last = looked::again;
      }
    }
    return last;
  }
  looked read_slots(const bucket_read& b, tag_bits tags, std::uint64_t prefix, unsigned bits,
                    std::vector<record>& found) const {
    std::uint32_t tokens = bucket_state{b.state}.tokens() & shape_.all_tokens;
    while (tokens != 0) {
      const int i = take_lowest(tokens);
      if (!tags.in(tag_at(b.where, i))) continue;
      const slot& at = slot_of(b.where, i);
      const std::uint64_t key_word = load(p_.medium(), at.key), word = load(p_.medium(), at.value);
      std::uint64_t hash = key_word;
      if constexpr (Kind::in_slot) hash = word_hash(key_word, seeds_);
      if (first_bits(hash ^ prefix, bits) != 0) continue;
      record r;
      r.hash = hash;
      if constexpr (Kind::in_slot) {
        r.key_word = key_word, r.value_word = word;
      } else {
        auto stays = [&] { return is_as_read(b) && load(p_.medium(), at.value) == word; };
        const looked copied = copy_record<M>(p_, word, {}, r, stays);
        if (!stays()) return looked::again;
        if (copied != looked::hit) return copied;
      }
      found.push_back(std::move(r));
    }
    return looked::hit;
  }

  beside_pool<M>& p_;
  hash_seeds seeds_;
  shape shape_;
  second_maps second_maps_;
};

}  // namespace durahash::level
