// The words of SEPH: what a slot says, and what an entry of the directory says.
#pragma once

#include "bench/baselines/items.hpp"

namespace durahash::baselines {

/// From bit 0: the item's offset, 45 bits; copied, while its bucket is split; a mark, "perhaps not
/// durable"; one bit unused here; 16 bits of the hash. As published, but for the unused bit.
struct slot_word {
  std::uint64_t raw = 0;

  static constexpr std::uint64_t item_mask = (std::uint64_t{1} << 45) - 1,
                                 copied_bit = std::uint64_t{1} << 45,
                                 mark_bit = std::uint64_t{1} << 46;

  static slot_word of(std::uint64_t item, std::uint64_t print) { return {item | print << 48}; }
  std::uint64_t item() const { return raw & item_mask; }
  std::uint64_t print() const { return raw >> 48; }
  bool is_empty() const { return item() == 0; }
  bool is_tombstone() const { return item() == item_mask; }
  bool has_item() const { return !is_empty() && !is_tombstone(); }
  bool is_copied() const { return (raw & copied_bit) != 0; }
  bool is_empty_and_copied() const { return raw == copied_bit; }
  bool is_marked() const { return (raw & mark_bit) != 0; }

  slot_word tombstone() const { return {raw | item_mask}; }
  std::uint64_t marked() const { return raw | mark_bit; }
  std::uint64_t without_mark() const { return raw & ~mark_bit; }
  std::uint64_t with_copied() const { return raw | copied_bit; }
  std::uint64_t without_copied() const { return raw & ~copied_bit; }
};

/// Two segments, in lines, and how many bits the directory is deeper than the level segment.
struct level_segment {
  std::uint64_t top = 0, bottom = 0;  // offsets
  unsigned difference = 0;

  static constexpr unsigned deepest = 7;

  static level_segment from(std::uint64_t word) {
    constexpr std::uint64_t lines = (std::uint64_t{1} << 30) - 1;
    return {(word & lines) * line_bytes, (word >> 30 & lines) * line_bytes,
            static_cast<unsigned>(word >> 61)};
  }
  std::uint64_t word() const {
    return top / line_bytes | bottom / line_bytes << 30 | std::uint64_t{difference} << 61;
  }
};

}  // namespace durahash::baselines
