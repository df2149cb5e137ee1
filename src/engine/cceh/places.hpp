// CCEH: where a key may be, and to whom a hash belongs: all that follows from a hash alone.
// docs/reference/format.md, "cceh".
//
// The table uses it, and so does who reads beside a writer (beside.hpp).
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/seeds.hpp"
#include "engine/cceh/format.hpp"
#include "persist/format.hpp"

namespace durahash::cceh {

/// Keys of tables of words that no slot can hold, because they look like `empty` or `removed`.
template <class Kind>
constexpr bool escapes([[maybe_unused]] typename Kind::key_type key) noexcept {
  if constexpr (Kind::in_slot) return key + 1 <= 1;  // empty_word or removed_word
  else return false;
}
/// What stands in the escape slots for such a key.
constexpr std::uint64_t escape_word_of(std::uint64_t key) noexcept {
  return key == empty_word ? escape_of_empty : escape_of_removed;
}

template <class Kind>
std::uint64_t hash_of(typename Kind::key_type key, const hash_seeds& seeds) noexcept {
  std::uint64_t hash = Kind::hash(key, seeds);
  // it is the key word: two hashes fewer, which share their neighbours' places
  if constexpr (!Kind::in_slot)
    if (hash == empty_word || hash == removed_word) [[unlikely]]
      return hash ^ 1;
  return hash;
}

// --------------------------------------------------------------------- prefixes, of up to 63 bits

/// Its first bits, as a number.
constexpr std::uint64_t shifted(std::uint64_t hash, unsigned bits) noexcept {
  return hash >> 1 >> (63 - bits);
}
/// Its first bits, where they are; the others 0.
constexpr std::uint64_t prefix_of(std::uint64_t hash, unsigned depth) noexcept {
  return hash & ~(~std::uint64_t{0} >> depth);
}
constexpr std::uint64_t prefix_mask(unsigned depth) noexcept {
  return depth == 0 ? 0 : ~std::uint64_t{0} << (64 - depth);
}
constexpr bool begins_with(std::uint64_t hash, std::uint64_t prefix, unsigned depth) noexcept {
  return depth == 0 || (hash ^ prefix) >> (64 - depth) == 0;
}
/// Where the hashes of the next prefix of that depth begin; 0 behind the last one's.
constexpr std::uint64_t end_of(std::uint64_t prefix, unsigned depth) noexcept {
  return depth == 0 ? 0 : prefix + (std::uint64_t{1} << (64 - depth));
}
/// Of two buddies the right one's, of that depth.
constexpr std::uint64_t right_half_of(std::uint64_t prefix, unsigned depth) noexcept {
  return prefix | std::uint64_t{1} << (64 - depth);
}
constexpr std::uint64_t directory_bytes(unsigned depth) noexcept {
  return std::max<std::uint64_t>(std::uint64_t{8} << depth, block_bytes);
}

// ---------------------------------------------------------------------------------------- segments

/// Of a pool's segments, which are all alike.
struct segment_shape {
  unsigned log2, home_shift, probe = 0;

  explicit segment_shape(const setting_words& settings) noexcept
      : log2(static_cast<unsigned>(settings[setting::segment_log2])), home_shift(64 - log2) {
    if (is_possible()) probe = static_cast<unsigned>(std::min(settings[setting::probe], buckets()));
  }
  bool is_possible() const noexcept { return log2 >= 2 && log2 <= 12; }

  std::uint64_t buckets() const noexcept { return std::uint64_t{1} << log2; }
  std::uint64_t slots() const noexcept { return buckets() * slots_per_bucket; }
  std::uint64_t bytes() const noexcept { return sizeof(bucket) << log2; }
  /// Buckets lie in a circle.
  std::uint64_t mask() const noexcept { return buckets() - 1; }

  /// From all bits of the hash: its low bits alone are no hash of keys that count up.
  std::uint64_t home_of(std::uint64_t hash) const noexcept {
    return hash * 0x9e3779b97f4a7c15u >> home_shift;
  }
  /// How many buckets behind its home a record lies.
  std::uint64_t distance_of(std::uint64_t hash, std::uint64_t bucket) const noexcept {
    return (bucket - home_of(hash)) & mask();
  }
  bool may_hold(std::uint64_t bucket, std::uint64_t hash) const noexcept {
    return distance_of(hash, bucket) < probe;
  }
};

}  // namespace durahash::cceh
