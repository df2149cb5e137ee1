// Level hashing on the medium: the root, levels, buckets. docs/reference/format.md, "level".
#pragma once

#include <cstdint>

#include "base/bits.hpp"
#include "engine/place.hpp"
#include "persist/pm.hpp"

namespace durahash::level {

inline constexpr unsigned max_slots = 14;  // of a bucket
inline constexpr unsigned filter_classes = 24;
inline constexpr unsigned level_sizes = 32;  // a level has 2^1 to 2^31 buckets

/// The word that changes a bucket. bits 0-13 tokens, 14-37 filter, 38-63 version.
struct bucket_state {
  std::uint64_t word = 0;

  static constexpr unsigned filter_at = max_slots, version_at = filter_at + filter_classes;
  constexpr std::uint32_t tokens() const noexcept {
    return static_cast<std::uint32_t>(word & low_bits(max_slots));
  }
  constexpr std::uint32_t filter() const noexcept {
    return static_cast<std::uint32_t>(word >> filter_at & low_bits(filter_classes));
  }
  /// Whether a record of this class may lie one level below.
  constexpr bool admits(unsigned filter_class) const noexcept {
    return (word >> filter_at >> filter_class & 1) != 0;
  }
  constexpr bucket_state next(std::uint32_t tokens, std::uint32_t filter) const noexcept {
    return {((word >> version_at) + 1) << version_at | std::uint64_t{filter} << filter_at | tokens};
  }
  constexpr bucket_state with_tokens(std::uint32_t tokens) const noexcept {
    return next(tokens, filter());
  }
  constexpr bucket_state with_class(unsigned filter_class) const noexcept {
    return next(tokens(), filter() | 1u << filter_class);
  }
  /// The next one, with this token more, or less.
  constexpr bucket_state with_token(std::uint32_t bit) const noexcept {
    return {(word + (std::uint64_t{1} << version_at)) | bit};
  }
  constexpr bucket_state without_token(std::uint32_t bit) const noexcept {
    return {(word + (std::uint64_t{1} << version_at)) & ~std::uint64_t{bit}};
  }
  friend bool operator==(bucket_state, bucket_state) = default;
};

/// Of a new bucket above others: anything may be there.
inline constexpr bucket_state new_bucket{low_bits(filter_classes) << bucket_state::filter_at};

struct alignas(16) slot {
  pm<std::uint64_t> key;    // the key, or its hash
  pm<std::uint64_t> value;  // the value, or its record's offset
};

/// How a bucket is laid out, from the number of its slots: the state, one byte of tag per slot, the
/// slots. Neither a header nor a slot crosses a line.
struct shape {
  unsigned slots, bytes_log2;
  std::size_t header_bytes;
  std::uint32_t all_tokens;

  static constexpr shape of(unsigned slots) noexcept {
    return {slots,
            slots <= 3   ? 6u
            : slots <= 7 ? 7u
                         : 8u,
            slots <= 7 ? 16u : 32u, static_cast<std::uint32_t>(low_bits(slots))};
  }
  constexpr std::uint64_t level_bytes(unsigned log2) const noexcept {
    return std::uint64_t{1} << (log2 + bytes_log2) < block_bytes
               ? block_bytes
               : std::uint64_t{1} << (log2 + bytes_log2);
  }
};

/// What a thread that moves or replaces a record leaves for recovery: one line.
struct alignas(line_bytes) intent {
  // offset of the bucket whose records may exist twice; never cleared
  pm<std::uint64_t> moving;
  pm<std::uint64_t> logged_slot;  // offset of a slot whose value is being replaced
  pm<std::uint64_t> logged_key;
  pm<std::uint64_t> logged_value;  // what it becomes
  pm<std::uint64_t> logged_check;  // of the three; 0: nothing is logged
  pm<std::uint64_t> reserved[3];
};
static_assert(sizeof(intent) == line_bytes);

inline constexpr std::size_t intent_count = 16;

/// Never 0.
constexpr std::uint64_t log_check(std::uint64_t slot, std::uint64_t key,
                                  std::uint64_t value) noexcept {
  return (((slot * 0x9e3779b97f4a7c15u ^ key) * 0xd6e8feb86659fd93u ^ value) *
          0xa0761d6478bd642fu) |
         1;
}

/// In front of the heap. By its size in log2, each level's place: a checked_place whose exponent is
/// that log2, with `draining` while it is the top and on its way out.
struct root {
  pm<std::uint64_t> levels[level_sizes];
  intent intents[intent_count];
};
static_assert(sizeof(root) == 256 + 1024);

inline constexpr unsigned draining = 32;

/// Settings in the superblock, by index.
enum setting : std::size_t { slots, in_place, bottom_to_top, dynamic, helper, first_log2 };

/// Those that a table asks itself for.
struct choices {
  bool in_place, bottom_to_top, dynamic, helper;
  unsigned first_log2;

  template <class Settings>
  static choices of(const Settings& all) noexcept {
    return {all[setting::in_place] != 0, all[setting::bottom_to_top] != 0,
            all[setting::dynamic] != 0, all[setting::helper] != 0,
            static_cast<unsigned>(all[setting::first_log2])};
  }
};

/// The size of a top level with which a table holds so many records. The share of the slots that
/// they take when the table is about as full as it gets.
constexpr unsigned top_for(std::uint64_t records, unsigned slots) noexcept {
  std::uint64_t tenths = slots <= 2 ? 5 : slots <= 4 ? 7 : 9;
  unsigned log2 = 2;
  while (log2 + 1 < level_sizes && (std::uint64_t{3} << (log2 - 1)) * slots * tenths / 10 < records)
    ++log2;
  return log2;
}

}  // namespace durahash::level
