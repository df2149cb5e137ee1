// Numbers of binary32 in registers: to the nearest, with subnormal ones, as the host has them. What
// is not a number has one form.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace durahash::ptx {

inline float as_float(std::uint64_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}
inline std::uint64_t float_bits(float value) {
  return std::isnan(value) ? 0x7fffffffu : std::bit_cast<std::uint32_t>(value);
}

}  // namespace durahash::ptx
