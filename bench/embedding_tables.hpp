// The look-ups of a recommender: rows of many embedding tables, of which a few are asked for all
// the time.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "bench/distribution.hpp"

namespace durahash::bench {

/// 26 tables in the shape of DLRM on the Criteo Kaggle data set: a sample looks up one row of each.
/// How popular the rows of a table are is not published with its size: a zipf law with an exponent
/// drawn by the seed, which is an assumption.
class embedding_tables {
 public:
  static constexpr std::array<std::uint64_t, 26> cardinalities = {
      1460,  583,  10131227, 2202608, 305, 24,     12517,   633,   3,
      93145, 5683, 8351593,  3194,    27,  14992,  5461306, 10,    5652,
      2173,  4,    7046547,  18,      15,  286181, 105,     142572};
  static constexpr std::array<double, 3> exponents = {0.8, 1.05, 1.2};

  struct table {
    std::uint64_t first = 0;  ///< of its rows, in load order
    std::uint64_t rows = 0;
    double exponent = 0;
    zipfian_ranks popular;
    permutation order;

    /// Where in load order the row of that rank lies: popular rows lie anywhere in their table.
    std::uint64_t row(std::uint64_t rank) const noexcept { return first + order(rank); }
  };

  /// All rows together are `records` or up to 25 fewer, and never more than in the data set: every
  /// table is scaled down alike, to one row at least. records >= 1; below 26 there are as many
  /// tables as records.
  embedding_tables(std::uint64_t records, std::uint64_t seed);

  std::span<const table> tables() const noexcept { return tables_; }
  std::uint64_t rows() const noexcept { return tables_.back().first + tables_.back().rows; }

  /// The row, in load order, that look-up `number` of the trace asks for: one table after the
  /// other, sample after sample.
  std::uint64_t look_up(std::uint64_t number) const noexcept;

 private:
  std::uint64_t seed_;
  std::vector<table> tables_;
};

}  // namespace durahash::bench
