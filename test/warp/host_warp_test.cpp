// The ballot of every width that this machine has, against what it means.
#include <gtest/gtest.h>

#include <random>

#include "warp/host_warp.hpp"

namespace durahash::test {
namespace {

constexpr host_warp::width widths[] = {host_warp::width::scalar, host_warp::width::avx2,
                                       host_warp::width::avx512};

TEST(HostWarp, EveryWidthSeesTheSameLanes) {
  constexpr unsigned max_words = host_warp::lanes;
  alignas(64) std::uint64_t memory[4 * max_words];
  std::mt19937_64 random(20261121);
  for (unsigned slots : {2u, 4u, 8u, 16u})
    for (unsigned count = 1; count * slots <= host_warp::lanes; ++count)
      for (int round = 0; round < 200; ++round) {
        const std::uint64_t* buckets[host_warp::lanes];
        for (std::uint64_t& word : memory)
          word = random() % 4 == 0 ? 7 : random() % 2 == 0 ? std::uint64_t{7} << 32 : random();
        // some twice
        for (unsigned i = 0; i < count; ++i)
          buckets[i] = memory + random() % (4 * max_words / slots) * slots;
        std::uint32_t expected = 0;
        for (unsigned lane = 0; lane < count * slots; ++lane)
          expected |= std::uint32_t{buckets[lane / slots][lane % slots] == 7} << lane;
        for (host_warp::width w : widths)
          ASSERT_EQ(host_warp(w).ballot(buckets, count, slots, 7), expected)
              << count << " buckets of " << slots;
      }
}

TEST(HostWarp, TheEnvironmentChoosesAmongWhatThereIs) {
  ASSERT_EQ(::setenv("DURAHASH_WARP", "scalar", 1), 0);
  EXPECT_EQ(host_warp::widest(), host_warp::width::scalar);
  ASSERT_EQ(::setenv("DURAHASH_WARP", "of another machine", 1), 0);
  auto otherwise = host_warp::widest();
  ASSERT_EQ(::unsetenv("DURAHASH_WARP"), 0);
  EXPECT_EQ(host_warp::widest(), otherwise);
}

}  // namespace
}  // namespace durahash::test
