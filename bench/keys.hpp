// Which keys the benchmark uses, and which value belongs to each.
#pragma once

#include <cstdint>

#include "bench/random.hpp"

namespace durahash::bench {

/// Distinct random words by index. mix() is a bijection, so different indices are different keys,
/// and an index that was never inserted is a key that is absent.
class key_space {
 public:
  explicit constexpr key_space(std::uint64_t seed) noexcept : offset_(mix(~seed)) {}

  constexpr std::uint64_t key(std::uint64_t index) const noexcept { return mix(index + offset_); }

  // Index ranges: what is loaded starts at 0, the others lie far above any number of records.
  // inserted by a workload after the load
  static constexpr std::uint64_t fresh = std::uint64_t{1} << 48;
  static constexpr std::uint64_t absent = std::uint64_t{1} << 56;  // never inserted

 private:
  std::uint64_t offset_;
};

/// How often a record was written, modulo 2^16; the load writes generation 0.
using generation = std::uint16_t;

constexpr std::uint64_t value_of(std::uint64_t key, generation written) noexcept {
  return key ^ written;
}

/// Whether `value` is what some generation of `key` holds: another key's value is told apart, a
/// torn one too.
constexpr bool value_belongs(std::uint64_t key, std::uint64_t value) noexcept {
  return (key ^ value) >> 16 == 0;
}

}  // namespace durahash::bench
