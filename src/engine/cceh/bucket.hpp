// CCEH: the four slots of a bucket, each word read once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bits.hpp"
#include "base/bytes16.hpp"
#include "engine/cceh/format.hpp"
#include "persist/order.hpp"

namespace durahash::cceh {

/// A bucket's key words.
struct bucket_keys {
  bytes16 low, high;
};
template <medium M>
bucket_keys keys_of(M& m, const bucket& b) noexcept {
  const auto two = [&](int i) {
    const std::uint64_t first = load(m, b.slots[i].key);
    return bytes16_of(first, load(m, b.slots[i + 1].key));
  };
  return {two(0), two(2)};
}

/// The slots that hold this word.
inline std::uint32_t match(bucket_keys keys, std::uint64_t word) noexcept {
  return same_words(keys.low, keys.high, word);
}
template <medium M>
std::uint32_t match(M& m, const bucket& b, std::uint64_t word) noexcept {
  return match(keys_of(m, b), word);
}

/// The slot with that key word; `slots_per_bucket`: none.
template <medium M>
[[gnu::always_inline]] inline std::size_t slot_of(M& m, const bucket& b,
                                                  std::uint64_t word) noexcept {
  return holds(m, b.slots[0].key, word)   ? 0
         : holds(m, b.slots[1].key, word) ? 1
         : holds(m, b.slots[2].key, word) ? 2
         : holds(m, b.slots[3].key, word) ? 3
                                          : 4;
}

/// A bucket is filled from its first slot on.
template <medium M>
[[gnu::always_inline]] inline bool has_empty_slot(M& m, const bucket& b) noexcept {
  return holds(m, b.slots[3].key, empty_word) || holds(m, b.slots[2].key, empty_word) ||
         holds(m, b.slots[1].key, empty_word) || holds(m, b.slots[0].key, empty_word);
}

/// Of the escape slots those whose keys cannot be there, or are there twice.
template <class Kind, medium M>
std::uint32_t impossible_escapes(M& m, const bucket& escapes) {
  std::uint32_t possible = match(m, escapes, empty_word);
  for (std::uint64_t word : {escape_of_empty, escape_of_removed}) {
    std::uint32_t found = Kind::in_slot ? match(m, escapes, word) : 0;
    possible |= found & -found;
  }
  return low_bits(slots_per_bucket) & ~possible;
}

}  // namespace durahash::cceh
