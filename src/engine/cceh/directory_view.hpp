// CCEH: where the directory is, in one word of DRAM, in the form that a search needs.
#pragma once

#include <cstdint>

#include "engine/cceh/format.hpp"
#include "engine/place.hpp"

namespace durahash::cceh {

///   bits 0-5    shift: what brings a hash down to the byte of its entry
///   bits 8-47   offset
///   bits 48-63  generation: tells a new directory from an old one in the same place
/// A read that sleeps through 65,536 doublings and halvings would take the one for the other.
struct directory_view {
  std::uint64_t word = 0;

  static constexpr directory_view of(checked_place d, std::uint64_t generation) noexcept {
    return {d.offset() | (shift_of_one_entry - d.exponent()) | generation << 48};
  }
  constexpr std::uint64_t offset() const noexcept { return word & low_bits(40) << 8; }
  constexpr bool none() const noexcept { return offset() == 0; }
  constexpr unsigned exponent() const noexcept {
    return shift_of_one_entry - static_cast<unsigned>(word & 63);
  }
  constexpr std::uint64_t generation() const noexcept { return word >> 48; }
  constexpr bool mirrors(checked_place d) const noexcept {
    return offset() == d.offset() && exponent() == d.exponent();
  }
  /// Where in the directory, in bytes, the entry of a hash is.
  constexpr std::uint64_t entry_byte(std::uint64_t hash) const noexcept {
    return hash >> (word & 63) & ~std::uint64_t{7};
  }
  friend bool operator==(directory_view, directory_view) = default;

 private:
  static constexpr unsigned shift_of_one_entry = 61;
};

}  // namespace durahash::cceh
