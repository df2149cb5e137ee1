#include "bench/embedding_tables.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include "bench/popularity.hpp"
#include "chi_square.hpp"

namespace durahash::bench {
namespace {

constexpr std::uint64_t rows_of_data_set = 33'762'577;

// How likely each rank of a table is, the hottest first.
std::vector<double> law(std::uint64_t rows, double exponent) {
  std::vector<double> likely(rows);
  for (std::uint64_t rank = 0; rank < rows; ++rank)
    likely[rank] = std::pow(static_cast<double>(rank + 1), -exponent);
  double all = std::accumulate(likely.begin(), likely.end(), 0.0);
  for (double& one : likely) one /= all;
  return likely;
}

// How often each rank of table `t` was looked up in `samples` samples.
std::vector<std::uint64_t> ranks_seen(const embedding_tables& tables, std::size_t t,
                                      std::uint64_t samples) {
  const embedding_tables::table& from = tables.tables()[t];
  std::vector<std::uint64_t> rank_of(from.rows), seen(from.rows);
  for (std::uint64_t rank = 0; rank < from.rows; ++rank)
    rank_of.at(from.row(rank) - from.first) = rank;
  for (std::uint64_t s = 0; s < samples; ++s)
    ++seen.at(rank_of.at(tables.look_up(s * tables.tables().size() + t) - from.first));
  return seen;
}

TEST(EmbeddingTables, WithRecordsEnoughTheyAreThoseOfTheDataSet) {
  for (std::uint64_t records : {rows_of_data_set, std::uint64_t{1} << 40}) {
    embedding_tables tables(records, 1);
    EXPECT_EQ(tables.rows(), rows_of_data_set);
    ASSERT_EQ(tables.tables().size(), 26u);
    for (std::size_t t = 0; t < 26; ++t)
      EXPECT_EQ(tables.tables()[t].rows, embedding_tables::cardinalities[t]);
  }
}

TEST(EmbeddingTables, ScaledDownTheyKeepTheirProportionsAndLieSideBySide) {
  for (std::uint64_t records : {26, 27, 2000, 200'000, 4'000'001, 33'000'000}) {
    embedding_tables tables(records, 1);
    EXPECT_LE(tables.rows(), records);
    EXPECT_GT(tables.rows() + 26, records);
    double scale = static_cast<double>(records) / rows_of_data_set;
    std::uint64_t first = 0;
    for (std::size_t t = 0; t < 26; ++t) {
      const embedding_tables::table& one = tables.tables()[t];
      EXPECT_EQ(one.first, first);
      EXPECT_GE(one.rows, 1u);
      double proportional = static_cast<double>(embedding_tables::cardinalities[t]) * scale;
      EXPECT_NEAR(static_cast<double>(one.rows), proportional,
                  1 + 26 * proportional / static_cast<double>(records))
          << t;
      first += one.rows;
    }
  }
}

TEST(EmbeddingTables, FewerRecordsThanTablesAreATableEach) {
  embedding_tables tables(7, 1);
  EXPECT_EQ(tables.tables().size(), 7u);
  EXPECT_EQ(tables.rows(), 7u);
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(tables.look_up(i), i % 7);
}

TEST(EmbeddingTables, ASampleLooksUpOneRowOfEach) {
  embedding_tables tables(50'000, 3);
  for (std::uint64_t i = 0; i < 26'000; ++i) {
    const embedding_tables::table& asked = tables.tables()[i % 26];
    std::uint64_t row = tables.look_up(i);
    ASSERT_GE(row, asked.first);
    ASSERT_LT(row, asked.first + asked.rows);
  }
}

TEST(EmbeddingTables, RowsFollowTheZipfLawOfTheirTable) {
  constexpr std::uint64_t samples = 100'000;
  embedding_tables tables(20'000, 5);
  chi_square right, wrong;
  for (std::size_t t = 0; t < 26; ++t) {
    const embedding_tables::table& one = tables.tables()[t];
    std::vector<std::uint64_t> seen = ranks_seen(tables, t, samples);
    for (chi_square* test : {&right, &wrong}) {
      std::vector<double> expected = law(one.rows, one.exponent + (test == &wrong ? 0.02 : 0));
      for (double& e : expected) e *= samples;
      test->add(expected, seen);
    }
  }
  EXPECT_GT(right.freedom, 1000);
  EXPECT_LT(right.statistic, right.limit());
  EXPECT_GT(wrong.statistic, wrong.limit());  // exponents 0.02 higher are told apart
}

TEST(EmbeddingTables, PopularRowsLieAnywhereInTheirTable) {
  embedding_tables tables(1'000'000, 1);
  const embedding_tables::table& largest = tables.tables()[2];
  std::uint64_t in_the_first_half = 0;
  for (std::uint64_t rank = 0; rank < 1000; ++rank)
    in_the_first_half += largest.row(rank) - largest.first < largest.rows / 2;
  EXPECT_NEAR(static_cast<double>(in_the_first_half), 500, 100);
}

TEST(EmbeddingTables, TheTop1PercentHaveTheShareThatTheLawsGiveThem) {
  constexpr std::uint64_t records = 2000, ops = 2'000'000;
  embedding_tables tables(records, 9);
  std::vector<double> likely;
  for (const embedding_tables::table& one : tables.tables())
    for (double share : law(one.rows, one.exponent)) likely.push_back(share / 26);
  std::sort(likely.rbegin(), likely.rend());
  double expected =
      std::accumulate(likely.begin(), likely.begin() + (likely.size() + 99) / 100, 0.0);

  drawing what{workload_kind::dlrm, distribution_kind::tables, 0, records, ops, 1, 9};
  popularity found = popularity_of(draw_all(what));
  EXPECT_EQ(found.different_keys, tables.rows());  // the rarest row is expected 20 times and more
  EXPECT_NEAR(found.top_1_percent_share(), expected, 0.002);
}

TEST(EmbeddingTables, ExponentsAndRowsAreDrawnByTheSeed) {
  embedding_tables one(100'000, 1), again(100'000, 1), other(100'000, 2);
  std::set<double> drawn;
  std::uint64_t same_exponents = 0, same_rows = 0;
  for (std::size_t t = 0; t < 26; ++t) {
    drawn.insert(one.tables()[t].exponent);
    EXPECT_EQ(one.tables()[t].exponent, again.tables()[t].exponent);
    same_exponents += one.tables()[t].exponent == other.tables()[t].exponent;
  }
  EXPECT_EQ(drawn, std::set<double>(embedding_tables::exponents.begin(),
                                    embedding_tables::exponents.end()));
  EXPECT_LT(same_exponents, 26u);
  for (std::uint64_t i = 0; i < 26'000; ++i) {
    ASSERT_EQ(one.look_up(i), again.look_up(i));
    same_rows += one.tables()[i % 26].rows > 1 && one.look_up(i) == other.look_up(i);
  }
  EXPECT_LT(same_rows, 13'000u);
}

}  // namespace
}  // namespace durahash::bench
