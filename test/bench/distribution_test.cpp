#include "bench/distribution.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "chi_square.hpp"

namespace durahash::bench {
namespace {

std::vector<std::uint64_t> frequencies(std::uint64_t n, double theta, std::uint64_t draws) {
  zipfian_ranks ranks(n, theta);
  random_source random(42);
  std::vector<std::uint64_t> seen(n);
  for (std::uint64_t i = 0; i < draws; ++i) ++seen.at(ranks.rank(random));
  return seen;
}

std::vector<double> law(std::uint64_t n, double theta, std::uint64_t draws) {
  std::vector<double> expected(n);
  double zeta = 0;
  for (std::uint64_t k = 0; k < n; ++k)
    zeta += expected[k] = std::pow(static_cast<double>(k + 1), -theta);
  for (double& e : expected) e *= static_cast<double>(draws) / zeta;
  return expected;
}

class Zipfian : public testing::TestWithParam<double> {};

TEST_P(Zipfian, FrequenciesFollowTheLaw) {
  constexpr std::uint64_t n = 1000, draws = 2'000'000;
  chi_square test;
  test.add(law(n, GetParam(), draws), frequencies(n, GetParam(), draws));
  EXPECT_LT(test.statistic, test.limit());
}

INSTANTIATE_TEST_SUITE_P(Thetas, Zipfian,
                         testing::Values(0.0, 0.5, 0.8, 0.99, 1.0, 1.05, 1.2, 1.3));

TEST(Zipfian, AnotherThetaIsToldApart) {
  constexpr std::uint64_t n = 1000, draws = 2'000'000;
  chi_square test;
  test.add(law(n, 0.97, draws), frequencies(n, 0.99, draws));
  EXPECT_GT(test.statistic, test.limit());
}

TEST(Zipfian, TheHottestOfManyHasItsShare) {
  constexpr std::uint64_t n = 1 << 24, draws = 1'000'000;
  zipfian_ranks ranks(n, 0.99);
  random_source random(1);
  std::uint64_t hottest = 0;
  for (std::uint64_t i = 0; i < draws; ++i) {
    std::uint64_t rank = ranks.rank(random);
    ASSERT_LT(rank, n);
    hottest += rank == 0;
  }
  double zeta = 0;
  for (std::uint64_t k = n; k > 0; --k) zeta += std::pow(static_cast<double>(k), -0.99);
  double expected = draws / zeta;
  EXPECT_NEAR(static_cast<double>(hottest), expected, 5 * std::sqrt(expected));
}

TEST(Zipfian, OfOneRecordThereIsOneRank) {
  zipfian_ranks ranks(1, 0.99);
  random_source random(1);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(ranks.rank(random), 0u);
}

TEST(Permutation, VisitsEveryIndexOnce) {
  for (std::uint64_t n : {1, 2, 3, 5, 64, 1000, 1025, 65536}) {
    permutation order(n, 9);
    std::vector<bool> visited(n);
    for (std::uint64_t i = 0; i < n; ++i) {
      std::uint64_t at = order(i);
      ASSERT_LT(at, n);
      ASSERT_FALSE(visited[at]) << n;
      visited[at] = true;
    }
  }
}

TEST(Permutation, SeedsGiveDifferentOrdersAndNeighboursAreSpread) {
  constexpr std::uint64_t n = 10'000;
  permutation one(n, 1), other(n, 2);
  std::uint64_t same = 0, ascending = 0;
  for (std::uint64_t i = 0; i + 1 < n; ++i) {
    same += one(i) == other(i);
    ascending += one(i) < one(i + 1);
  }
  EXPECT_LT(same, 30u);  // one on average
  EXPECT_NEAR(static_cast<double>(ascending), n / 2.0, n / 20.0);
}

}  // namespace
}  // namespace durahash::bench
