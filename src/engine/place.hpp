// Where an engine's arrays lie: an offset and an exponent in one word, which one store changes
// (hole X5).
#pragma once

#include <cstdint>

#include "base/bits.hpp"
#include "base/check.hpp"
#include "persist/pm.hpp"

namespace durahash {

/// Of a place: its low 40 bits times 256. By two shifts, which need no mask in a register.
constexpr std::uint64_t offset_in(std::uint64_t word) noexcept { return word << 24 >> 16; }
static_assert(offset_in(~std::uint64_t{0}) == low_bits(40) * block_bytes);

/// On the medium. bits 0-39 offset / 256, 40-45 exponent, 46-63 check. 0: none.
struct checked_place {
  std::uint64_t word = 0;

  static constexpr unsigned place_bits = 46;

  static constexpr std::uint64_t check_bits(std::uint64_t low) noexcept {
    return (low * 0x9e3779b97f4a7c15u) >> place_bits << place_bits;
  }
  static constexpr checked_place of(std::uint64_t offset, unsigned exponent) noexcept {
    check(offset % block_bytes == 0 && offset / block_bytes <= low_bits(40) &&
              exponent <= low_bits(place_bits - 40),
          "a place names a block, and an exponent of six bits");
    std::uint64_t low = offset / block_bytes | std::uint64_t{exponent} << 40;
    return {low | check_bits(low)};
  }
  constexpr bool none() const noexcept { return word == 0; }
  constexpr std::uint64_t offset() const noexcept { return offset_in(word); }
  constexpr unsigned exponent() const noexcept { return word >> 40 & 63; }
  constexpr bool sound() const noexcept {
    return none() || check_bits(word & low_bits(place_bits)) == (word & ~low_bits(place_bits));
  }
  friend bool operator==(checked_place, checked_place) = default;
};

/// Its mirror in DRAM: in place of the check bits a generation, which tells a new array from an old
/// one in the same place.
struct place_view {
  std::uint64_t word = 0;

  static constexpr place_view of(checked_place e, std::uint64_t generation) noexcept {
    return {(e.word & low_bits(checked_place::place_bits)) | generation
                                                                 << checked_place::place_bits};
  }
  constexpr bool none() const noexcept { return (word & low_bits(checked_place::place_bits)) == 0; }
  constexpr bool mirrors(checked_place e) const noexcept {
    return ((word ^ e.word) & low_bits(checked_place::place_bits)) == 0;
  }
  constexpr std::uint64_t offset() const noexcept { return offset_in(word); }
  constexpr unsigned exponent() const noexcept { return word >> 40 & 63; }
  constexpr std::uint64_t generation() const noexcept { return word >> checked_place::place_bits; }
  friend bool operator==(place_view, place_view) = default;
};

}  // namespace durahash
