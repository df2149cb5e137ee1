// CCEH on the medium: the root, the directory, segments of buckets. docs/reference/format.md,
// "cceh".
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/bits.hpp"
#include "engine/place.hpp"
#include "persist/pm.hpp"

namespace durahash::cceh {

inline constexpr int slots_per_bucket = 4;
inline constexpr unsigned max_depth = 32;  // of a segment, and of the directory

// What a slot's key word says when it holds no record. A bucket that once had no empty slot never
// has one again in its segment: searches end at the first empty slot, and a record that is removed
// behind that point leaves `removed`.
inline constexpr std::uint64_t empty_word = 0;
inline constexpr std::uint64_t removed_word = ~std::uint64_t{0};

/// The key word is the commit word: it is stored after the value, in the same line.
struct alignas(16) slot {
  pm<std::uint64_t> key;    // the key, or its hash
  pm<std::uint64_t> value;  // the value, or its record's offset
};

/// One cache line (paper §3.1).
struct alignas(line_bytes) bucket {
  slot slots[slots_per_bucket];
};
static_assert(sizeof(bucket) == line_bytes);

inline constexpr std::size_t words_per_bucket = sizeof(bucket) / 8;

/// In front of the heap. An entry of the directory names a segment with its local depth, the word
/// here the directory with the global depth.
struct root {
  pm<std::uint64_t> directory;  // a checked_place
  pm<std::uint64_t> reserved[7];
  // u64 keys that are empty_word or removed_word, under the words below (hole X4)
  bucket escapes;
};
static_assert(sizeof(root) == 128);

inline constexpr std::uint64_t escape_of_empty = 1, escape_of_removed = 2;

/// Settings in the superblock, by index.
enum setting : std::size_t { probe, copy_on_write, segment_log2, first_depth };

/// The share of a segment's slots that its records take when it is about as full as it gets.
constexpr unsigned fill_tenths(std::uint64_t probe) noexcept {
  return probe < 8 ? 5 : probe < 16 ? 6 : probe < 64 ? 7 : 8;
}

/// The depth at which all segments together hold so many records.
constexpr unsigned depth_for(std::uint64_t records, std::uint64_t slots_per_segment,
                             std::uint64_t probe) noexcept {
  std::uint64_t fit = slots_per_segment * fill_tenths(probe) / 10;
  return records == 0 ? 0 : log2_ceiling((records + fit - 1) / fit);
}

/// Whether a directory that deep is in proportion to what it names. Where hashes are spread evenly,
/// the deepest segment is a few levels below the others, and this holds at any size. Keys that were
/// chosen for the pool's seed may agree in all the bits that a directory can have.
constexpr bool in_proportion(unsigned depth, std::uint64_t segments) noexcept {
  constexpr std::uint64_t min_entries = 1 << 19,  // 4 MiB
      entries_per_segment = 1 << 11;              // as many bytes as a segment of 16 KiB
  return std::uint64_t{1} << depth <= std::max(min_entries, entries_per_segment * segments);
}

}  // namespace durahash::cceh
