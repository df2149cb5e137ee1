// Numbers of rows: float32, float16 (IEEE binary16) and bfloat16, by the same lines on host and
// device.
#pragma once

#include <bit>
#include <cstdint>

#include "durahash/gpu_table.hpp"

namespace durahash::gpu {

constexpr unsigned bytes_of(element kind) noexcept { return kind == element::float32 ? 4 : 2; }

constexpr float of_float16(std::uint16_t bits) noexcept {
  // exact, of subnormal numbers too: the exponents differ by 112
  const float size = std::bit_cast<float>((bits & 0x7fffu) << 13) * 0x1p112f;
  std::uint32_t made = std::bit_cast<std::uint32_t>(size);
  if (size >= 0x1p16f) made |= 0x7f800000u;  // infinite, or not a number
  return std::bit_cast<float>(made | (bits & 0x8000u) << 16);
}
/// To the nearest; of two the even one.
constexpr std::uint16_t float16_of(float value) noexcept {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value), sign = bits >> 16 & 0x8000u,
                      size = bits & 0x7fffffffu;
  constexpr std::uint32_t infinite = 0x7f800000u, too_large = 0x477ff000u,  // 65,520
      smallest_normal = 0x38800000u;                                        // 2^-14
  std::uint32_t made = (size - 0x38000000u + 0xfffu + (size >> 13 & 1)) >> 13;
  if (size < smallest_normal)  // where 0.5 is, numbers are 2^-24 apart
    made = std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + 0.5f) - 0x3f000000u;
  if (size >= too_large) made = 0x7c00u;
  if (size > infinite) made = 0x7e00u;
  return static_cast<std::uint16_t>(sign | made);
}

constexpr float of_bfloat16(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}
/// To the nearest; of two the even one.
constexpr std::uint16_t bfloat16_of(float value) noexcept {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>(bits >> 16 | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

/// The element of that number; a row's first one is aligned to its size.
constexpr float element_at(element kind, const void* row, std::uint64_t number) noexcept {
  if (kind == element::float32) return static_cast<const float*>(row)[number];
  const std::uint16_t bits = static_cast<const std::uint16_t*>(row)[number];
  return kind == element::float16 ? of_float16(bits) : of_bfloat16(bits);
}
constexpr void set_element(element kind, void* row, std::uint64_t number, float value) noexcept {
  if (kind == element::float32) static_cast<float*>(row)[number] = value;
  else
    static_cast<std::uint16_t*>(row)[number] =
        kind == element::float16 ? float16_of(value) : bfloat16_of(value);
}

}  // namespace durahash::gpu
