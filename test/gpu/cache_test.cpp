// Copies of hot buckets in the device's memory (gpu/bucket_copies.hpp, gpu/cache.hpp): what they
// hold is what the table holds, and they are of what is looked for most. docs/explanation/gpu.md
// quotes what this prints.
#include <atomic>
#include <cmath>
#include <cstdio>
#include <thread>

#include "test/gpu/map_rig.hpp"

namespace durahash::test {
namespace {

class GpuCopies : public GpuMap {};
INSTANTIATE_TEST_SUITE_P(Every, GpuCopies, testing::ValuesIn(cached_cases()),
                         [](const auto& each) { return each.param.name; });

/// Finds see the last value that was committed, or a later one, while their buckets get copies and
/// lose them.
TEST_P(GpuCopies, AreNeverBehindTheTable) {
  auto made = open(2);
  ASSERT_TRUE(made) << made.failure().message;
  constexpr std::size_t hot = 24;
  device_words keys(*device, hot), values(*device, hot);
  shared_answers answers(*device, hot);
  for (std::size_t i = 0; i < hot; ++i) keys[i] = i * 1000, values[i] = 0;
  ASSERT_EQ(made->reserve(500), status::ok);
  ASSERT_EQ(made->put(hot, keys.data(), values.data(), answers.data()), status::ok);
  std::atomic<std::uint64_t> committed{0};
  std::atomic<bool> done{false};
  std::jthread loads([&] {
    while (!done) ASSERT_EQ(made->load_cache(), status::ok);
  });
  std::jthread finds([&] {
    device_words found(*device, hot);
    shared_answers mine(*device, hot);
    while (!done) {
      std::uint64_t least = committed;
      ASSERT_EQ(made->find_async(hot, keys.data(), found.data(), mine.data(), beside()),
                status::ok);
      ASSERT_EQ(device->wait(beside()).code, status::ok);
      for (std::size_t i = 0; i < hot; ++i) {
        ASSERT_EQ(mine[i], status::ok) << "key " << keys[i];
        ASSERT_GE(found[i], least) << "key " << keys[i] << " shows an older value";
      }
    }
  });
  std::uint64_t round = 0;
  for (; round < 400 || (made->cache().loads < 20 && round < 100'000); ++round) {
    for (std::size_t i = 0; i < hot; ++i) values[i] = round + 1;
    ASSERT_EQ(made->put_async(hot, keys.data(), values.data(), answers.data()), status::ok);
    ASSERT_EQ(made->commit(), status::ok);
    committed = round + 1;
  }
  done = true;
  loads.join();
  finds.join();
  EXPECT_GE(made->cache().loads, 20u);
  EXPECT_GT(made->cache().hits, 0u);
  EXPECT_TRUE(made->check().ok);
}

/// A failure that a load has met is one of the map.
TEST(GpuCache, ADeviceThatFailsWhileItsCopiesAreLookedAt) {
  scratch_folder folder;
  auto d = std::make_unique<lockstep_device>();
  lockstep_device* device = d.get();
  auto made = gpu::open_on(std::move(d), folder.file("a"), {}, {.cache_percent = 50});
  ASSERT_TRUE(made) << made.failure().message;
  device->fails = true;
  EXPECT_EQ(made->cache().copies, 0u);
  EXPECT_EQ(made->commit(), status::io_error) << "a failure that nobody was told of";
  EXPECT_EQ(made->close(), status::io_error);
}

TEST(GpuCache, ADeviceThatFailsInALoad) {
  scratch_folder folder;
  auto d = std::make_unique<lockstep_device>();
  lockstep_device* device = d.get();
  auto made = gpu::open_on(std::move(d), folder.file("a"), {},
                           {.cache_percent = 50, .policy = gpu::cache_policy::random});
  ASSERT_TRUE(made) << made.failure().message;
  device->fails = true;
  EXPECT_EQ(made->load_cache(), status::io_error);
  std::string why;
  EXPECT_EQ(made->commit(nullptr, &why), status::io_error);
  EXPECT_EQ(why, "the device failed while copies of buckets were loaded, or counted");
  EXPECT_EQ(made->load_cache(), status::io_error);
  EXPECT_EQ(made->close(), status::io_error);
}

/// Copies of the buckets that are looked at most answer more finds than their share of the buckets.
TEST(GpuCache, HasWhatIsLookedForMost) {
  scratch_folder folder;
  constexpr std::uint64_t records = 20'000, batch = 5000;
  for (auto policy : {gpu::cache_policy::lfu, gpu::cache_policy::lru, gpu::cache_policy::random}) {
    options how;
    how.capacity = records;
    auto d = std::make_unique<lockstep_device>(1);
    auto made = gpu::open_on(std::move(d), folder.file(std::to_string(static_cast<int>(policy))),
                             how, {.cache_percent = 20, .policy = policy});
    ASSERT_TRUE(made) << made.failure().message;
    std::vector<std::uint64_t> keys(records), values(batch);
    std::mt19937_64 random(1);
    for (std::uint64_t& key : keys) key = random();
    std::vector<status> answers(records);
    ASSERT_EQ(made->put(records, keys.data(), keys.data(), answers.data()), status::ok);
    std::vector<double> sums(records);
    double sum = 0;
    for (std::size_t rank = 0; rank < records; ++rank)
      sums[rank] = sum += std::pow(static_cast<double>(rank + 1), -0.99);
    auto find = [&] {
      std::vector<std::uint64_t> drawn(batch);
      for (std::uint64_t& key : drawn)
        key = keys[static_cast<std::size_t>(
            std::lower_bound(sums.begin(), sums.end(),
                             std::uniform_real_distribution<>(0, sum)(random)) -
            sums.begin())];
      ASSERT_EQ(made->find_async(batch, drawn.data(), values.data(), answers.data()), status::ok);
      ASSERT_EQ(made->commit(), status::ok);
      for (std::size_t i = 0; i < batch; ++i) ASSERT_EQ(values[i], drawn[i]);
    };
    for (int load = 0; load < 4; ++load) {
      for (int n = 0; n < 40; ++n) find();
      ASSERT_EQ(made->load_cache(), status::ok);
    }
    auto before = made->cache();
    for (int n = 0; n < 20; ++n) find();
    auto after = made->cache();
    double rate = static_cast<double>(after.hits - before.hits) /
                  static_cast<double>(after.looks - before.looks);
    const char* names[] = {"lfu", "lru", "random"};
    std::printf("copies of 20 %% of the buckets, %s, zipf 0.99, %llu records: %.3f of the looks\n",
                names[static_cast<int>(policy)], static_cast<unsigned long long>(records), rate);
    if (policy == gpu::cache_policy::random) EXPECT_NEAR(rate, 0.2, 0.1);
    else EXPECT_GT(rate, 0.45);
  }
}

}  // namespace
}  // namespace durahash::test
