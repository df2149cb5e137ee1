#include "bench/popularity.hpp"

#include <gtest/gtest.h>

namespace durahash::bench {
namespace {

operations of(std::vector<std::uint64_t> keys) {
  operations one;
  one.keys = std::move(keys);
  return one;
}

TEST(Popularity, KeysOfAllThreadsAreCountedTogether) {
  popularity found =
      popularity_of(std::vector{of({7, 8, 7}), of({}), of({9, 7, 0, ~std::uint64_t{0}})});
  EXPECT_EQ(found.operations, 7u);
  EXPECT_EQ(found.different_keys, 5u);
  EXPECT_EQ(found.on_top, 3u);  // one key in place of a twentieth of one
  EXPECT_DOUBLE_EQ(found.unique_ratio(), 5.0 / 7);
  EXPECT_DOUBLE_EQ(found.top_1_percent_share(), 3.0 / 7);
}

TEST(Popularity, OnTopIsTheMostPopularHundredthOfTheKeysThatOccur) {
  std::vector<std::uint64_t> keys;
  for (std::uint64_t key = 0; key < 300; ++key)
    for (std::uint64_t i = 0; i < (key % 100 == 42 ? 10 + key / 100 : 1); ++i)
      keys.push_back(mix(key));
  popularity found = popularity_of(std::vector{of(keys)});
  EXPECT_EQ(found.different_keys, 300u);
  EXPECT_EQ(found.on_top, 10u + 11 + 12);
}

TEST(Popularity, OfNoOperationsThereIsNone) {
  popularity found = popularity_of({});
  EXPECT_EQ(found.different_keys, 0u);
  EXPECT_EQ(found.unique_ratio(), 0);
  EXPECT_EQ(found.top_1_percent_share(), 0);
}

}  // namespace
}  // namespace durahash::bench
