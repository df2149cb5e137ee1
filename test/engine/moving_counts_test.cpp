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

}  // namespace
}  // namespace durahash
