// A bucket, and what a search knows of one.
#pragma once

#include <cstdint>

#include "base/bits.hpp"
#include "engine/level/format.hpp"
#include "persist/pm.hpp"

namespace durahash::level {

// of a table; the others are for who drains
inline constexpr unsigned max_levels = 8, max_levels_of_writers = 4;

/// A bucket, wherever it is.
struct bucket {
  pm<std::uint64_t>* state;
  pm<std::uint64_t>& tags(unsigned word) const noexcept { return state[1 + word]; }
  friend bool operator==(bucket, bucket) = default;
};

/// Headers as a search read them.
struct bucket_read {
  pm<std::uint64_t>* where;
  std::uint64_t state;
};

struct bucket_reads {
  bucket_read seen[2 * max_levels];  // begins as it may: it is on the way of every search
  std::uint32_t looked = 0;          // one bit each
  bucket_reads() noexcept {
    seen[2].where = seen[3].where = nullptr, seen[2].state = seen[3].state = 0;
  }
  bucket_state state(unsigned n) const noexcept { return {seen[n].state}; }
  bucket where(unsigned n) const noexcept { return {seen[n].where}; }
};

/// What the first two buckets said. Begins as it may: it is on the way of every search.
struct first_look {
  std::uint64_t state[2];
  // slots with the key's tag: of the first in the low half, of the second in the high one. Or
  // `below`, if there is none and the key may lie below
  std::uint32_t hits;
  static constexpr std::uint32_t below = 1u << 15;
  std::uint32_t in_first() const noexcept { return hits & low_bits(max_slots); }
  std::uint32_t in_second() const noexcept { return hits >> 16; }
};

/// A slot, and its token.
struct found_slot {
  slot* there = nullptr;
  std::uint32_t token = 0;
};

}  // namespace durahash::level
