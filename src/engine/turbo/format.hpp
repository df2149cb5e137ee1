// TurboHash on the medium: directory entries, buckets, the commit word. docs/reference/format.md,
// "turbo".
#pragma once

#include <bit>
#include <cstdint>

#include "base/bits.hpp"
#include "base/check.hpp"
#include "engine/place.hpp"
#include "persist/pm.hpp"

namespace durahash::turbo {

inline constexpr int slots_per_bucket = 14;
// one slot stays empty for near-place update (paper §3.3)
inline constexpr int max_valid = slots_per_bucket - 1;
inline constexpr std::uint32_t all_slots = (1u << slots_per_bucket) - 1;
inline constexpr unsigned max_log2_buckets = 24;

/// The commit word of a bucket. bits 0-13 valid, 14-27 deleted, 28-63 sequence.
/// Invariant B1: deleted is a subset of valid.   B2: at most 13 slots are valid.
/// Departs from the paper (4-byte sequence, 2-byte bitmaps): 36 bits count writes.
struct meta_word {
  std::uint64_t bits = 0;

  static constexpr unsigned first_deleted_bit = slots_per_bucket;
  static constexpr std::uint64_t one_write = std::uint64_t{1} << 28;

  constexpr std::uint32_t valid() const noexcept { return bits & all_slots; }
  constexpr std::uint32_t deleted() const noexcept {
    return (bits >> first_deleted_bit) & all_slots;
  }
  constexpr std::uint32_t live() const noexcept { return valid() & ~deleted(); }
  constexpr bool is_deleted(std::size_t slot) const noexcept {
    return (bits >> (first_deleted_bit + slot) & 1) != 0;
  }
  constexpr std::uint32_t empty() const noexcept { return ~valid() & all_slots; }
  constexpr bool ends_path() const noexcept { return std::popcount(valid()) < max_valid; }
  /// The same, where what is empty is asked for, too.
  constexpr bool two_empty() const noexcept { return (empty() & (empty() - 1)) != 0; }
  constexpr bool well_formed() const noexcept {
    return (deleted() & ~valid()) == 0 && std::popcount(valid()) <= max_valid;
  }

  static constexpr std::uint64_t valid_bit(std::size_t slot) noexcept {
    return std::uint64_t{1} << slot;
  }
  static constexpr std::uint64_t deleted_bit(std::size_t slot) noexcept {
    return std::uint64_t{1} << (first_deleted_bit + slot);
  }

  /// The next words.
  /// `slot` becomes live; it was empty or deleted.
  constexpr meta_word with_filled(std::size_t slot) const noexcept {
    return {((bits | valid_bit(slot)) & ~deleted_bit(slot)) + one_write};
  }
  /// `slot` becomes live and `old` empty, in one word: near-place update.
  constexpr meta_word with_replaced(std::size_t slot, std::size_t old) const noexcept {
    return {((bits | valid_bit(slot)) & ~valid_bit(old)) + one_write};
  }
  /// `slot` stays valid, so that paths through this bucket are not cut.
  constexpr meta_word with_deleted(std::size_t slot) const noexcept {
    return {(bits | deleted_bit(slot)) + one_write};
  }

  friend bool operator==(meta_word, meta_word) = default;
};

struct alignas(16) slot {
  pm<std::uint64_t> key;    // the key, or its hash
  pm<std::uint64_t> value;  // the value, or its record's offset
};

/// 256 bytes: one block of the medium. Its first line holds the commit word, the tags and two
/// slots.
struct alignas(block_bytes) bucket {
  pm<meta_word> meta;
  pm<std::uint64_t> tags[2];  // one byte each for 14 slots, little-endian; the rest 0
  pm<std::uint64_t> reserved;
  slot slots[slots_per_bucket];
};
static_assert(sizeof(slot) == 16 && sizeof(bucket) == 256 && offsetof(bucket, slots) == 32);

/// The commit word, for who stores it.
inline pm<std::uint64_t>* commit_word(bucket& b) noexcept {
  void* at = &b.meta;
  return static_cast<pm<std::uint64_t>*>(at);
}
/// One slot's tag, for who stores it.
inline pm<std::uint8_t>& tag_field(bucket& b, std::size_t slot) noexcept {
  void* first = b.tags;
  return static_cast<pm<std::uint8_t>*>(first)[slot];
}

inline constexpr int slots_in_first_line = 2;
inline constexpr unsigned slots_in_line = line_bytes / sizeof(slot);  // behind the first one
inline constexpr std::uint32_t slots_of_first_line = (1u << slots_in_first_line) - 1;
static_assert(offsetof(bucket, slots) + slots_in_first_line * sizeof(slot) == line_bytes);

/// Behind the first line, records fill a bucket from both ends: a bit of the hash says from which.
/// A search asks for the first line and for the second or the last one at once, and need not wait
/// for the first to learn where the slot is. Departs from the paper, and is no part of the format:
/// a record may lie in any slot.
constexpr bool from_the_end(std::uint64_t hash) noexcept { return (hash & 128) != 0; }
constexpr std::uint64_t byte_of_near_line(std::uint64_t hash) noexcept {
  return line_bytes + (hash & 128);
}
static_assert(byte_of_near_line(128) == block_bytes - line_bytes);

/// Of a shard that was split: the entries of its halves. A block, of which nothing else is used.
struct alignas(block_bytes) shard_pair {
  pm<std::uint64_t> entries[2];  // by the next bit of the hash
  pm<std::uint64_t> reserved[30];
};
static_assert(sizeof(shard_pair) == block_bytes);

/// One shard's place: its array and log2 of the buckets; or, once it was split, its pair. None: no
/// buckets yet. Departs from the paper (two sets of count and pointer, and a version byte): one
/// word changes at once (holes X5, TurboHash 4).
struct directory_entry : checked_place {
  static constexpr unsigned exponent_of_pair = 63;

  static constexpr directory_entry of(std::uint64_t offset, unsigned log2_buckets) noexcept {
    return {checked_place::of(offset, log2_buckets)};
  }
  static constexpr directory_entry of_pair(std::uint64_t offset) noexcept {
    return {checked_place::of(offset, exponent_of_pair)};
  }
  constexpr bool is_pair() const noexcept { return exponent() == exponent_of_pair; }
  constexpr std::uint64_t bytes() const noexcept {
    return is_pair() ? sizeof(shard_pair) : std::uint64_t{block_bytes} << exponent();
  }
  constexpr bool sound() const noexcept {
    return checked_place::sound() && (exponent() <= max_log2_buckets || is_pair());
  }
};

/// Settings in the superblock, by index.
enum setting : std::size_t {
  shard_bits,
  scope,
  first_log2,
  collect_distance,
  in_place,
  split_log2  // log2 of the buckets with which a shard is split, and 1; 0: never
};

/// Bits of the hash that tell shards apart, at most: of the directory, and of all that were split.
inline constexpr unsigned max_shard_bits = 20;

}  // namespace durahash::turbo
