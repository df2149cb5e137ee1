#include "bench/histogram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "bench/random.hpp"

namespace durahash::bench {
namespace {

// The value that a sorted list has at that share: what the histogram approximates.
std::uint64_t exact_quantile(const std::vector<std::uint64_t>& sorted, double share) {
  auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

void expect_quantiles_close_to_sorting(const std::function<std::uint64_t(random_source&)>& draw) {
  random_source random(7);
  histogram seen;
  std::vector<std::uint64_t> values;
  for (int i = 0; i < 100'000; ++i) {
    values.push_back(draw(random));
    seen.record(values.back());
  }
  std::sort(values.begin(), values.end());
  for (double share : {1e-6, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 0.99999, 1.0}) {
    std::uint64_t exact = exact_quantile(values, share), found = seen.quantile(share);
    EXPECT_GE(found, exact) << "share " << share;
    EXPECT_LE(static_cast<double>(found), static_cast<double>(exact) * (1 + 1.0 / 64))
        << "share " << share;
  }
  EXPECT_EQ(seen.max(), values.back());
  EXPECT_EQ(seen.count(), values.size());
}

TEST(Histogram, QuantilesOfSmallValuesAreExact) {
  random_source random(3);
  histogram seen;
  std::vector<std::uint64_t> values;
  for (int i = 0; i < 10'000; ++i) seen.record(values.emplace_back(random.below(128)));
  std::sort(values.begin(), values.end());
  for (double share = 0.01; share <= 1; share += 0.01)
    EXPECT_EQ(seen.quantile(share), exact_quantile(values, share));
}

TEST(Histogram, QuantilesAreAtMostOneSixtyFourthAboveThoseOfSorting) {
  expect_quantiles_close_to_sorting([](random_source& random) { return random.below(1'000'000); });
  expect_quantiles_close_to_sorting(
      [](random_source& random) { return random.word() >> random.below(64); });  // every magnitude
  // a body and a rare, far tail, as latencies have
  expect_quantiles_close_to_sorting([](random_source& random) {
    return 90 + random.below(20) + (random.below(1000) == 0 ? random.below(50'000'000) : 0);
  });
}

TEST(Histogram, EveryValueLiesInABucketThatEndsAtOrAboveItAndBeforeTheNext) {
  for (int bit = 0; bit < 64; ++bit)
    for (int step = -2; step <= 2; ++step) {
      std::uint64_t value = (std::uint64_t{1} << bit) + static_cast<std::uint64_t>(step);
      std::size_t bucket = log_linear::bucket_of(value);
      ASSERT_LT(bucket, log_linear::bucket_count);
      ASSERT_GE(log_linear::last_value_of(bucket), value);
      if (bucket > 0) {
        ASSERT_LT(log_linear::last_value_of(bucket - 1), value);
      }
    }
}

TEST(Histogram, MergingIsRecordingInOne) {
  random_source random(11);
  histogram left, right, all;
  for (int i = 0; i < 5'000; ++i) {
    std::uint64_t value = random.below(1 << 20);
    (i % 3 == 0 ? left : right).record(value);
    all.record(value);
  }
  left.merge(right);
  EXPECT_EQ(left.count(), all.count());
  EXPECT_EQ(left.max(), all.max());
  for (double share : {0.1, 0.5, 0.99, 1.0}) EXPECT_EQ(left.quantile(share), all.quantile(share));
}

TEST(Histogram, StepsHoldAllThatWasRecorded) {
  random_source random(12);
  histogram seen;
  std::vector<std::uint64_t> values;
  for (int i = 0; i < 5'000; ++i) values.push_back(random.below(std::uint64_t{1} << (1 + i % 40)));
  for (std::uint64_t value : values) seen.record(value);
  std::sort(values.begin(), values.end());
  auto steps = seen.steps();
  std::uint64_t so_far = 0;
  for (auto [at_most, count] : steps) {
    so_far += count;
    EXPECT_EQ(so_far, std::upper_bound(values.begin(), values.end(), at_most) - values.begin())
        << at_most;
  }
  EXPECT_EQ(steps.back().at_most, values.back());
  EXPECT_LT(steps.size(), 8u * 40);
  EXPECT_TRUE(histogram().steps().empty());
}

TEST(Histogram, AnEmptyOneAnswersZeroAndASingleValueAnswersItself) {
  histogram empty;
  EXPECT_EQ(empty.quantile(0.5), 0u);
  histogram one;
  one.record(123'456'789);
  // never above the maximum
  for (double share : {0.001, 0.5, 1.0}) EXPECT_EQ(one.quantile(share), 123'456'789u);
}

}  // namespace
}  // namespace durahash::bench
