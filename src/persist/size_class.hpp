// Size classes of the heap: multiples of 16 up to 128, then four to a doubling, up to half a slab.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "base/bits.hpp"

namespace durahash {

inline constexpr std::uint64_t slab_bytes = 64 << 10;  // aligned to its size
inline constexpr std::uint64_t largest_cell_bytes = slab_bytes / 2;

/// Bytes that a cell for `bytes` has. Cells above largest_cell_bytes are extents of whole pages.
constexpr std::uint64_t cell_bytes_for(std::uint64_t bytes) noexcept {
  if (bytes <= 128) return align_up(bytes == 0 ? 1 : bytes, 16);
  if (bytes > largest_cell_bytes) return align_up(bytes, page_bytes);
  std::uint64_t quarter = std::bit_ceil(bytes) / 8;  // a doubling (2^k, 2^(k+1)] in four steps
  return align_up(bytes, quarter);
}

/// Index of a cell size among the classes, for cell_bytes_for(bytes) <= largest_cell_bytes.
constexpr unsigned class_of(std::uint64_t cell_bytes) noexcept {
  if (cell_bytes <= 128) return static_cast<unsigned>(cell_bytes / 16 - 1);   // 0..7
  auto doubling = static_cast<unsigned>(std::bit_width(cell_bytes - 1)) - 8;  // 0 for (128, 256]
  std::uint64_t quarter = std::uint64_t{32} << doubling;
  return 8 + doubling * 4 + static_cast<unsigned>(cell_bytes / quarter) - 5;
}

inline constexpr unsigned class_count = class_of(largest_cell_bytes) + 1;
static_assert(class_of(160) == 8 && class_of(256) == 11 && class_of(320) == 12 &&
              class_of(32768) == 39);

/// Cells of records, mostly: their class is looked up, by the number of 16 bytes that they need.
inline constexpr std::uint64_t largest_small_bytes = 1024;
inline constexpr auto small_classes = [] {
  std::array<std::uint8_t, largest_small_bytes / 16 + 1> made{};
  for (std::uint64_t n = 0; n < made.size(); ++n)
    made[n] = static_cast<std::uint8_t>(class_of(cell_bytes_for(n * 16)));
  return made;
}();
inline constexpr unsigned small_class_count = small_classes.back() + 1;
inline constexpr auto small_cell_bytes = [] {
  std::array<std::uint16_t, small_class_count> made{};
  for (std::uint64_t n = 0; n < small_classes.size(); ++n)
    made[small_classes[n]] = static_cast<std::uint16_t>(cell_bytes_for(n * 16));
  return made;
}();
constexpr unsigned small_class_of(std::uint64_t bytes) noexcept {
  return small_classes[(bytes + 15) / 16];
}
/// Bytes of their cells, by the same number.
inline constexpr auto small_cells = [] {
  std::array<std::uint16_t, small_classes.size()> made{};
  for (std::uint64_t n = 0; n < made.size(); ++n)
    made[n] = static_cast<std::uint16_t>(cell_bytes_for(n * 16));
  return made;
}();

}  // namespace durahash
