// Arithmetic on sizes and words.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/processor.hpp"

namespace durahash {

inline constexpr std::size_t line_bytes = 64;    // unit of a cache flush
inline constexpr std::size_t block_bytes = 256;  // unit in which persistent memory reads and writes
inline constexpr std::size_t page_bytes = 4096;

constexpr std::uint64_t align_up(std::uint64_t n, std::uint64_t unit) noexcept {
  return (n + unit - 1) / unit * unit;
}
constexpr std::uint64_t align_down(std::uint64_t n, std::uint64_t unit) noexcept {
  return n / unit * unit;
}

/// Smallest k with 2^k >= n; 0 for n <= 1.
constexpr unsigned log2_ceiling(std::uint64_t n) noexcept {
  return n <= 1 ? 0 : static_cast<unsigned>(64 - std::countl_zero(n - 1));
}

/// The low `count` bits set.
constexpr std::uint64_t low_bits(unsigned count) noexcept {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

/// As std::popcount and std::countr_zero, on a device too.
constexpr int count_bits(std::uint32_t bits) noexcept {
#ifdef __CUDA_ARCH__
  return __popc(bits);
#else
  return std::popcount(bits);
#endif
}
constexpr int lowest_bit(std::uint32_t bits) noexcept {
#ifdef __CUDA_ARCH__
  return __ffs(static_cast<int>(bits)) - 1;
#else
  return std::countr_zero(bits);
#endif
}

/// Takes the lowest set bit out of `bits` and returns its index.
constexpr int take_lowest(std::uint32_t& bits) noexcept {
  int index = lowest_bit(bits);
  bits &= bits - 1;
  return index;
}

}  // namespace durahash
