// How often each record is asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "bench/random.hpp"

namespace durahash::bench {

enum class distribution_kind : std::uint8_t {
  uniform,
  zipfian,   ///< the hot records lie anywhere in load order
  latest,    ///< zipfian over recency: the newest record is the hottest
  distinct,  ///< every record at most once, in random order
  tables,    ///< zipfian in each of many tables, with an exponent of its own
  rmat,      ///< a vertex as often as it has edges
};

std::string_view name_of(distribution_kind) noexcept;
/// those a user may choose
std::optional<distribution_kind> distribution_named(std::string_view) noexcept;

/// Ranks 0 .. n-1 with probability proportional to 1 / (rank + 1)^theta: rank 0 is the hottest.
/// Exact, without tables and without summing the series (W. Hörmann, G. Derflinger,
/// "Rejection-inversion to generate variates from monotone discrete distributions", 1996).
class zipfian_ranks {
 public:
  /// n >= 1, theta >= 0 (0 is uniform).
  zipfian_ranks(std::uint64_t n, double theta) noexcept;
  std::uint64_t rank(random_source& random) const noexcept;

 private:
  double area(double x) const noexcept;  // integral of the hat from 1 to x, up to a constant
  double area_inverse(double area) const noexcept;
  double height(double x) const noexcept;  // x^-theta

  double n_;
  double theta_;
  double area_first_;
  double area_last_;
  double accept_below_;  // k - x below which no further test is needed
};

/// A random order of 0 .. n-1, without a table: a bijection of the next power of two, walked until
/// it falls inside.
class permutation {
 public:
  permutation(std::uint64_t n, std::uint64_t seed) noexcept;
  std::uint64_t operator()(std::uint64_t index) const noexcept;

 private:
  std::uint64_t scramble(std::uint64_t word) const noexcept;

  std::uint64_t n_;
  unsigned half_shift_;
  std::uint64_t mask_;
  std::uint64_t keys_[4];
};

}  // namespace durahash::bench
