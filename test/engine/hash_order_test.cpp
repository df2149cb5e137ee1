// Records put in the order of their hashes: by where each is expected, and by comparing them where
// hashes are not spread evenly.
#include "engine/frame/hash_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <compare>
#include <cstdint>
#include <random>
#include <vector>

#include "base/bits.hpp"

namespace durahash::test {
namespace {

struct numbered {
  std::uint64_t hash, number;
  friend auto operator<=>(const numbered&, const numbered&) = default;
};

class HashOrder : public testing::Test {
 protected:
  /// Of `count` hashes that make() gives.
  void expect_order(std::size_t count, auto make) {
    std::vector<numbered> records, expected;
    for (std::uint64_t n = 0; n < count; ++n) records.push_back({make(), n});
    expected = records;
    std::sort(expected.begin(), expected.end());
    order_.sort(records);
    EXPECT_TRUE(std::ranges::is_sorted(records, {}, &numbered::hash));
    std::sort(records.begin(), records.end());  // those with one hash may stand in any order
    EXPECT_EQ(records, expected);
  }
  std::mt19937_64 random_{1};
  hash_order<numbered> order_;  // one for all: what one call leaves there is nothing to the next
  static constexpr std::size_t counts[] = {0, 1, 2, 23, 24, 25, 1000, 64, 5000, 100};
};

TEST_F(HashOrder, OfAPrefix) {
  for (unsigned bits : {0u, 1u, 20u, 57u, 63u})
    for (std::size_t count : counts) {
      const std::uint64_t behind = low_bits(64 - bits), prefix = random_() & ~behind;
      expect_order(count, [&] { return prefix | (random_() & behind); });
    }
}

TEST_F(HashOrder, OfHashesThatAreNotSpread) {
  for (std::size_t count : counts) {
    expect_order(count, [&] { return random_() % 50 == 0 ? random_() : random_() % 1000; });
    expect_order(count, [&] { return ~(random_() % 3); });
    expect_order(count, [] { return std::uint64_t{7}; });
    std::uint64_t last = 1 << 20;
    expect_order(count, [&] { return last -= random_() % 2; });
  }
}

}  // namespace
}  // namespace durahash::test
