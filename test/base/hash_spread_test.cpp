// Words with a pattern are spread over a table's buckets, whatever the seeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/hash.hpp"
#include "test/store/random.hpp"

namespace durahash::test {
namespace {

struct spread {
  double empty;        // of the buckets
  std::uint32_t most;  // in one bucket
};

/// Of four keys for each bucket, by the first bits of their hashes.
template <class Key>
spread of(Key key, const hash_seeds& seeds, unsigned log2_buckets) {
  std::vector<std::uint32_t> in_bucket(std::size_t{1} << log2_buckets);
  for (std::uint64_t n = 0; n < 4 * in_bucket.size(); ++n)
    ++in_bucket[word_hash(key(n), seeds) >> (64 - log2_buckets)];
  const auto empty = std::count(in_bucket.begin(), in_bucket.end(), 0u);
  return {static_cast<double>(empty) / static_cast<double>(in_bucket.size()),
          *std::max_element(in_bucket.begin(), in_bucket.end())};
}

using key_of = std::uint64_t (*)(std::uint64_t n);
constexpr key_of patterns[] = {
    [](std::uint64_t n) { return n; },
    [](std::uint64_t n) { return n * 8; },
    [](std::uint64_t n) { return n << 32; },
    [](std::uint64_t n) { return 0x7f0012340000 + n * 48; },
    [](std::uint64_t n) { return (n % 64) << 32 | n / 64; },
    [](std::uint64_t n) { return (n % 256) << 16 | n / 256; },
    [](std::uint64_t n) { return (0x0a000000 + n / 16) << 16 | (1024 + n % 16); },
    [](std::uint64_t n) { return __builtin_bswap64(n); },
};

TEST(HashSpread, KeysWithAPatternAreSpread) {
  random_stream random(stream_seed("HashSpread"));
  for (int draw = 0; draw < 100; ++draw) {
    const hash_seeds seeds{random.next(), random.next() | 1};
    for (const key_of& key : patterns)
      for (unsigned log2_buckets : {8, 11, 13}) {
        SCOPED_TRACE(std::to_string(&key - patterns) + ", " + std::to_string(seeds.multiply));
        const spread found = of(key, seeds, log2_buckets);
        EXPECT_LT(found.empty, 0.09);  // chance leaves 0.018, and of 256 buckets seldom 0.05
        EXPECT_LE(found.most, 28u);
      }
  }
}

/// Drawn at random: with the first hash more than half of 1,024 buckets are empty.
TEST(HashSpread, UnluckySeedsGatherNoKeys) {
  for (std::uint64_t bad : {0x0fffee94f20ca9fbull, 0xdac37f6b37b212d5ull, 0xf15f0ea2589f2e2bull,
                            0x9642bf678070c6d1ull, 0xa9419339dc16d92dull}) {
    EXPECT_GT(of(patterns[0], {0, bad, 1}, 10).empty, 0.5) << bad;
    EXPECT_LT(of(patterns[0], {0, bad}, 10).empty, 0.05) << bad;
  }
}

}  // namespace
}  // namespace durahash::test
