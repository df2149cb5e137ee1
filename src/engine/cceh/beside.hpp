// CCEH: read beside a writer of another process. A slot's two words are read at once; its segment
// is the one that the directory named before and names after (docs/explanation/readers.md).
#pragma once

#include "engine/beside.hpp"
#include "engine/cceh/places.hpp"

namespace durahash::cceh {

template <medium M, class Kind>
class beside {
 public:
  using kind = Kind;
  using key_type = typename Kind::key_type;
  using record = copied_record<Kind>;
  static constexpr bool finds_by_versions = false, scans_by_versions = false;
  static constexpr bool reads_pairs = true;

  explicit beside(beside_pool<M>& p)
      : p_(p), seeds_(seeds_of(p.block())), shape_(p.block().settings) {}

  bool is_possible() const noexcept {
    return shape_.is_possible() && p_.block().engine_bytes == sizeof(root);
  }
  std::size_t key_bytes() const noexcept { return 0; }

  looked find(key_type key, const std::byte*, record& found) const {
    const std::uint64_t hash = hash_of<Kind>(key, seeds_);
    found.hash = hash;
    looked_at<M> seen(p_.medium());
    if constexpr (Kind::in_slot)
      if (escapes<Kind>(key)) {
        const bucket& b = root_of_table().escapes;
        seen.add(&b, sizeof b);
        const looked answer = find_in(b, key, escape_word_of(key), found);
        seen.make_durable();
        found.key_word = key;
        return answer;
      }
    named_segment s;
    if (looked bad = segment_of(hash, s); bad != looked::hit) return bad;
    const std::uint64_t key_word = Kind::key_word(key, hash), home = shape_.home_of(hash);
    looked answer = looked::miss;
    for (std::uint64_t n = 0; n < shape_.probe && answer == looked::miss; ++n) {
      const bucket& b = s.first[(home + n) & shape_.mask()];
      seen.add(&b, sizeof b);
      bool ends_here = false;
      answer = find_in(b, key, key_word, found, &ends_here);
      if (ends_here) break;
    }
    seen.make_durable();
    return is_still_named(s) ? answer : looked::again;
  }

  looked read_stretch(std::uint64_t position, const std::byte*, std::vector<record>& found,
                      std::uint64_t& end) const {
    named_segment s;
    if (looked bad = segment_of(position, s); bad != looked::hit) return bad;
    const unsigned depth = s.entry.exponent();
    const std::uint64_t prefix = prefix_of(position, depth);
    end = end_of(prefix, depth);
    auto owns = [&](std::uint64_t hash) { return begins_with(hash, prefix, depth); };
    looked_at<M> seen(p_.medium());
    for (std::uint64_t n = 0; n < shape_.buckets(); ++n)
      for (const slot& at : s.first[n].slots)
        if (looked read = read_slot(at, owns, found); read != looked::hit) return read;
    seen.add(s.first, shape_.bytes());
    if constexpr (Kind::in_slot) {
      const bucket& escaped = root_of_table().escapes;
      for (std::uint64_t key : {empty_word, removed_word})
        if (record r; owns(word_hash(key, seeds_)) &&
                      find_in(escaped, key, escape_word_of(key), r) == looked::hit) {
          r.hash = word_hash(key, seeds_), r.key_word = key;
          found.push_back(r);
        }
      seen.add(&escaped, sizeof escaped);
    }
    seen.make_durable();
    return is_still_named(s) ? looked::hit : looked::again;
  }

  /// Of as many segments as the directory has entries for at its depth, one for each that differs.
  std::uint64_t slots() const {
    std::uint64_t sum = 0;
    for (std::uint64_t position = 0;;) {
      named_segment s;
      if (segment_of(position, s) != looked::hit) return sum;
      sum += shape_.slots();
      const unsigned depth = s.entry.exponent();
      position = end_of(prefix_of(position, depth), depth);
      if (position == 0) return sum;
    }
  }

 private:
  /// As the directory named it.
  struct named_segment {
    checked_place directory, entry;
    const pm<std::uint64_t>* named;
    const bucket* first;
  };

  const root& root_of_table() const noexcept {
    return *p_.template at<root>(p_.block().engine_offset);
  }

  looked segment_of(std::uint64_t hash, named_segment& s) const noexcept {
    s.directory = {load(p_.medium(), root_of_table().directory)};
    const unsigned depth = s.directory.exponent();
    if (s.directory.none() || !s.directory.sound() || depth > max_depth ||
        !p_.holds(s.directory.offset(), std::uint64_t{8} << depth))
      return looked::suspect;
    s.named = p_.template at<pm<std::uint64_t>>(s.directory.offset()) + shifted(hash, depth);
    s.entry = {load(p_.medium(), *s.named)};
    if (s.entry.none() || !s.entry.sound() || s.entry.exponent() > depth ||
        !p_.holds(s.entry.offset(), shape_.bytes()))
      return looked::suspect;
    s.first = p_.template at<bucket>(s.entry.offset());
    return looked::hit;
  }
  bool is_still_named(const named_segment& s) const noexcept {
    std::atomic_thread_fence(std::memory_order_acquire);
    return (load(p_.medium(), *s.named) == s.entry.word &&
            load(p_.medium(), root_of_table().directory) == s.directory.word) ||
           M::planted("beside-what-was-read-is-not-looked-at-again");
  }

  looked find_in(const bucket& b, key_type key, std::uint64_t key_word, record& found,
                 bool* has_empty = nullptr) const {
    for (const slot& at : b.slots) {
      const word_pair pair = load_pair(p_.medium(), at.key);
      if (has_empty != nullptr && pair.first == empty_word) *has_empty = true;
      if (pair.first != key_word) continue;
      if constexpr (Kind::in_slot) {
        found.key_word = key, found.value_word = pair.second;
        return looked::hit;
      } else {
        auto stays = [&] { return load_pair(p_.medium(), at.key) == pair; };
        const looked copied = copy_record<M>(p_, pair.second, {}, found, stays);
        if (!stays()) return looked::again;
        if (copied != looked::hit) return copied;
        if (found.key() == key) return looked::hit;
      }
    }
    return looked::miss;
  }

  template <class Owns>
  looked read_slot(const slot& at, Owns& owns, std::vector<record>& found) const {
    constexpr int tries = 100;
    for (int left = tries; left > 0; --left) {
      const word_pair pair = load_pair(p_.medium(), at.key);
      if (pair.first == empty_word || pair.first == removed_word) return looked::hit;
      std::uint64_t hash = pair.first;
      if constexpr (Kind::in_slot) hash = word_hash(pair.first, seeds_);
      if (!owns(hash)) return looked::hit;
      record r;
      r.hash = hash;
      if constexpr (Kind::in_slot) {
        r.key_word = pair.first, r.value_word = pair.second;
      } else {
        auto stays = [&] { return load_pair(p_.medium(), at.key) == pair; };
        const looked copied = copy_record<M>(p_, pair.second, {}, r, stays);
        if (!stays()) continue;
        if (copied != looked::hit) return copied;
      }
      found.push_back(std::move(r));
      return looked::hit;
    }
    return looked::again;
  }

  beside_pool<M>& p_;
  hash_seeds seeds_;
  segment_shape shape_;
};

}  // namespace durahash::cceh
