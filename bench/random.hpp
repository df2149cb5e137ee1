// Randomness of the benchmark: small, fast, and the same on every machine for the same seed.
#pragma once

#include <cstdint>

namespace durahash::bench {

/// A bijection of 64-bit words in which every bit reaches every other (the finalizer of
/// SplitMix64).
constexpr std::uint64_t mix(std::uint64_t word) noexcept {
  word = (word ^ (word >> 30)) * 0xbf58'476d'1ce4'e5b9;
  word = (word ^ (word >> 27)) * 0x94d0'49bb'1331'11eb;
  return word ^ (word >> 31);
}

/// SplitMix64: one word of state, every seed is a good one.
class random_source {
 public:
  explicit constexpr random_source(std::uint64_t seed) noexcept : state_(mix(seed + golden)) {}
  /// The source of one purpose: different `purpose`, unrelated numbers.
  constexpr random_source(std::uint64_t seed, std::uint64_t purpose) noexcept
      : random_source(mix(seed) ^ purpose) {}

  constexpr std::uint64_t word() noexcept { return mix(state_ += golden); }

  /// In [0, bound). The bias of the multiplication is below bound / 2^64.
  constexpr std::uint64_t below(std::uint64_t bound) noexcept {
    __extension__ using wide = unsigned __int128;
    return static_cast<std::uint64_t>(static_cast<wide>(word()) * bound >> 64);
  }

  /// In [0, 1), 53 bits.
  constexpr double unit() noexcept { return static_cast<double>(word() >> 11) * 0x1p-53; }

 private:
  // odd: the state visits every word
  static constexpr std::uint64_t golden = 0x9e37'79b9'7f4a'7c15;
  std::uint64_t state_;
};

}  // namespace durahash::bench
