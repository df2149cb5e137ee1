// Counts that move between stripes, beside who adds them up. By one thread, step by step.
#include <gtest/gtest.h>

#include "engine/frame/stripes.hpp"

namespace durahash {
namespace {

/// Who moves does not wait for a sum that is under way, which is made again.
TEST(MovingCounts, AMoveWithinASumWaitsForNobodyAndTheSumIsMadeAgain) {
  moving_counts counts;
  std::uint64_t from = 7, to = 0;
  int sums = 0;
  EXPECT_EQ(counts.sum([&] {
    const std::uint64_t first = from;
    if (++sums == 1) counts.move([&] { to += 3, from -= 3; });
    return first + to;  // the first time what moved is in both
  }),
            7u);
  EXPECT_EQ(sums, 2);
}

/// A sum that is disturbed again and again ends: then nothing moves meanwhile.
TEST(MovingCounts, ASumEndsHoweverOftenItIsDisturbed) {
  moving_counts counts;
  int sums = 0;
  constexpr int tries = 16;  // as there
  EXPECT_EQ(counts.sum([&] {
    if (++sums <= tries) counts.move([] {});
    return std::uint64_t{5};
  }),
            5u);
  EXPECT_EQ(sums, tries + 1);
}

/// What a damaged root says of its records is a number like any other: no sum overflows.
TEST(RecordsOf, ASumBeginsWithAnyNumberAndIsNeverNegative) {
  struct stripe {
    std::atomic<std::int32_t> records;
  };
  const stripe stripes[] = {{-1}, {5}, {-6}};
  const std::uint64_t most_negative = std::uint64_t{1} << 63;
  EXPECT_EQ(records_of(most_negative, stripes, 3), most_negative - 2);
  EXPECT_EQ(records_of(~std::uint64_t{0}, stripes, 2), 3u);
  EXPECT_EQ(records_of(1, stripes, 3), 0u);
}

}  // namespace
}  // namespace durahash
