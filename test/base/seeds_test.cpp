// Pools' seeds: keys that count up are spread over a table's buckets, whatever was drawn.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/hash.hpp"

namespace durahash {
namespace {

struct spread {
  double empty;        // of the buckets
  std::uint32_t most;  // in one bucket
};

/// Of four keys for each bucket, by the first bits of their hashes.
spread of_keys_that_count_up(const hash_seeds& seeds, std::uint64_t step, unsigned log2_buckets) {
  std::vector<std::uint32_t> in_bucket(std::size_t{1} << log2_buckets);
  for (std::uint64_t n = 0; n < 4 * in_bucket.size(); ++n)
    ++in_bucket[word_hash(n * step, seeds) >> (64 - log2_buckets)];
  const auto empty = std::count(in_bucket.begin(), in_bucket.end(), 0u);
  return {static_cast<double>(empty) / static_cast<double>(in_bucket.size()),
          *std::max_element(in_bucket.begin(), in_bucket.end())};
}

TEST(Seeds, SpreadKeysThatCountUpByOne) {
  for (int draw = 0; draw < 100; ++draw) {
    const hash_seeds seeds = draw_hash_seeds();
    for (unsigned log2_buckets : {8, 10, 12, 14}) {
      SCOPED_TRACE(std::to_string(seeds.multiply) + ", 2^" + std::to_string(log2_buckets));
      const spread found = of_keys_that_count_up(seeds, 1, log2_buckets);
      EXPECT_LT(found.empty, 0.3);
      EXPECT_LE(found.most, 12u);  // 2 sqrt(16), and what the upper half of the product adds
    }
  }
}

TEST(Seeds, SpreadKeysThatCountUpByUsualSteps) {
  for (int draw = 0; draw < 20; ++draw) {
    const hash_seeds seeds = draw_hash_seeds();
    for (std::uint64_t step : {8ull, 100ull, 4096ull, 1'000'000ull, 1ull << 32, 7ull, 24ull})
      for (unsigned log2_buckets : {8, 11, 14}) {
        SCOPED_TRACE(std::to_string(seeds.multiply) + ", step " + std::to_string(step));
        EXPECT_LE(of_keys_that_count_up(seeds, step, log2_buckets).most, 48u);
      }
  }
}

TEST(Seeds, ThatGatherKeysAreKnown) {
  EXPECT_TRUE(spreads_well(draw_hash_seeds().multiply));
  for (std::uint64_t few : {1ull, 3ull, 0xfffffffffffull}) EXPECT_FALSE(spreads_well(few));
  // drawn at random: more than half of 1,024 buckets are empty
  for (std::uint64_t bad : {0x0fffee94f20ca9fbull, 0xdac37f6b37b212d5ull, 0xf15f0ea2589f2e2bull,
                            0x9642bf678070c6d1ull, 0xa9419339dc16d92dull}) {
    EXPECT_GT(of_keys_that_count_up({0, bad}, 1, 10).empty, 0.5) << bad;
    EXPECT_FALSE(spreads_well(bad)) << bad;
  }
  // with these, level refuses numbers: the levels that it would need are nearly empty
  for (std::uint64_t bad :
       {0xfffffbf525d015f1ull, 0x7fffff54fe71858bull, 0xc000004d4fde8b1bull, 0x2d9433ba533ull})
    EXPECT_FALSE(spreads_well(bad)) << bad;
}

TEST(Seeds, AreOfEachPoolAlone) {
  const hash_seeds one = draw_hash_seeds(), other = draw_hash_seeds();
  EXPECT_NE(one.flip, other.flip);
  EXPECT_NE(one.multiply, other.multiply);
  EXPECT_EQ(one.multiply % 2, 1u);
}

}  // namespace
}  // namespace durahash
