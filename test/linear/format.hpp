// Linear on the medium: the root, and one array of slots.
//
//   root   64 bytes at engine_offset: a word that names the array (engine/place.hpp: offset, log2
//          of its slots), and seven words that are 0
//   slot   32 bytes, of which a line has two: state, key word, value word, a word that is not used
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/bits.hpp"
#include "engine/place.hpp"
#include "persist/pm.hpp"

namespace durahash::linear {

inline constexpr std::uint64_t state_empty = 0;    // since the array was written: searches end here
inline constexpr std::uint64_t state_live = 1;     // has a record
inline constexpr std::uint64_t state_removed = 2;  // had one: searches go on

struct alignas(32) slot {
  pm<std::uint64_t> state;  // the commit word of what goes in and out
  pm<std::uint64_t> key;    // the key, or its hash
  pm<std::uint64_t> value;  // the value, or its record's offset
  pm<std::uint64_t> unused;
};
static_assert(sizeof(slot) == 32);

struct root {
  pm<std::uint64_t> array;  // a checked_place
  pm<std::uint64_t> unused[7];
};
static_assert(sizeof(root) == 64);

inline constexpr unsigned min_log2 = 3;  // an array is a multiple of 256 bytes
inline constexpr unsigned max_log2 = 40;
inline constexpr std::uint64_t min_reach = 2, usual_reach = 256, max_reach = 4096;

/// Settings in the superblock, by index. reach: the slots in which a key may be, from its home on.
enum setting : std::size_t { reach, first_log2 };

/// A key's home slot is the first bits of this of its hash (SplitMix64's last steps). The hashes of
/// words that count up may come in runs, which fill one place of an array that has no buckets.
constexpr std::uint64_t mixed(std::uint64_t hash) noexcept {
  hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9u;
  hash = (hash ^ hash >> 27) * 0x94d049bb133111ebu;
  return hash ^ hash >> 31;
}

/// With half of the slots filled, a key without room within the usual reach is as good as
/// impossible at any size.
constexpr unsigned log2_for(std::uint64_t records) noexcept {
  if (records >= std::uint64_t{1} << (max_log2 - 1)) return max_log2;
  return std::max(min_log2, log2_ceiling(std::max<std::uint64_t>(2 * records, 1)));
}

/// Whether an array of 2^log2 slots is not too large for so many records that some of their keys,
/// which were chosen for that, have no room.
constexpr bool in_proportion(unsigned log2, std::uint64_t records) noexcept {
  constexpr std::uint64_t max_slots_per_record = 64;
  return records * max_slots_per_record >> log2 != 0;
}

}  // namespace durahash::linear
