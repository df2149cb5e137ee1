// Commits of gpu::map: writes that wait for one, one of many, and none when the device fails.
#include "test/gpu/map_rig.hpp"

namespace durahash::test {
namespace {

/// Staged is not visible; a commit makes it so. More than fits waits for a commit of what is
/// staged.
TEST_P(GpuMap, StagedWritesAppearWithTheCommit) {
  if (!GetParam().to_power && GetParam().place == gpu::table_place::pool)
    GTEST_SKIP() << "in the pool, at the level process, a write is done with its stream";
  auto made = open(2, 100);
  ASSERT_TRUE(made) << made.failure().message;
  device_words keys(*device, 60), values(*device, 60), found(*device, 60);
  ASSERT_EQ(made->reserve(1000), status::ok);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = 1000 + i, values[i] = i;
  shared_answers answers(*device, 60), answers_of_find(*device, 60);
  ASSERT_EQ(made->put_async(60, keys.data(), values.data(), answers.data()), status::ok);
  made->find_async(60, keys.data(), found.data(), answers_of_find.data());
  ASSERT_EQ(device->wait(nullptr).code, status::ok);
  EXPECT_EQ(std::count(answers_of_find.begin(), answers_of_find.end(), status::not_found), 60);
  EXPECT_EQ(made->erase_async(60, keys.data(), answers_of_find.data()), status::no_space)
      << "120 operations in room for 100";
  // A second batch of the same keys: later in the stream, so it decides.
  for (std::size_t i = 0; i < found.size(); ++i) found[i] = 500 + i;
  ASSERT_EQ(made->put_async(40, keys.data(), found.data(), answers_of_find.data()), status::ok);
  ASSERT_EQ(made->commit(), status::ok);
  EXPECT_EQ(std::count(answers_of_find.begin(), answers_of_find.begin() + 40, status::ok), 40);
  model wanted;
  for (std::size_t i = 0; i < keys.size(); ++i) wanted[keys[i]] = i < 40 ? 500 + i : i;
  expect_found(*made, wanted);
  EXPECT_EQ(made->size(), 60u);
  EXPECT_EQ(made->durability(),
            GetParam().to_power ? durability_level::power : durability_level::process);
  EXPECT_TRUE(made->check().ok);
}

/// Batches that wait for one commit see what those before them have done, key by key.
TEST_P(GpuMap, WritesThatWaitForACommitSeeThoseBeforeThem) {
  auto made = open();
  ASSERT_TRUE(made) << made.failure().message;
  constexpr std::size_t n = 24;  // the first half is there before
  device_words keys(*device, n), first(*device, n), second(*device, n);
  for (std::size_t i = 0; i < n; ++i) keys[i] = 7 * i, first[i] = 100 + i, second[i] = 900 + i;
  shared_answers answers(*device, n);
  make_room(*made, keys);
  ASSERT_EQ(made->put(n / 2, keys.data(), second.data(), answers.data()), status::ok);
  auto expect = [&](const char* what, status asked, status of_old, status of_new) {
    ASSERT_EQ(asked, status::ok);
    ASSERT_EQ(device->wait(nullptr).code, status::ok);
    for (std::size_t i = 0; i < n; ++i)
      ASSERT_EQ(answers[i], i < n / 2 ? of_old : of_new) << what << " of key " << keys[i];
  };
  using enum status;
  auto insert = [&] { return made->insert_async(n, keys.data(), first.data(), answers.data()); };
  auto update = [&] { return made->update_async(n, keys.data(), second.data(), answers.data()); };
  auto erase = [&] { return made->erase_async(n, keys.data(), answers.data()); };
  expect("update", update(), ok, not_found);
  expect("insert", insert(), exists, ok);
  expect("insert again", insert(), exists, exists);
  expect("erase", erase(), ok, ok);
  expect("erase again", erase(), not_found, not_found);
  expect("update of none", update(), not_found, not_found);
  expect("insert behind", insert(), ok, ok);
  expect("update behind", update(), ok, ok);
  ASSERT_EQ(made->commit(), ok);
  model wanted;
  for (std::size_t i = 0; i < n; ++i) wanted[keys[i]] = second[i];
  expect_found(*made, wanted);
  EXPECT_EQ(made->size(), n);
  ASSERT_EQ(made->insert_async(1, keys.data(), first.data(), answers.data()), ok);
  expect("erase of all", erase(), ok, ok);
  ASSERT_EQ(made->commit(), ok);
  EXPECT_EQ(made->size(), 0u);
  // what was inserted and erased before one commit leaves no claimed slot behind
  expect("insert of all", insert(), ok, ok);
  expect("erase of all", erase(), ok, ok);
  ASSERT_EQ(made->commit(), ok);
  EXPECT_EQ(made->size(), 0u);
  EXPECT_TRUE(made->check().ok);
  expect_found(*made, {});
}

/// 64 writes of each of 16 keys were 64 rounds, each with a wait for the device.
TEST_P(GpuMap, ABatchOfHotKeysIsOneRoundAndOneChangeForEach) {
  auto made = open();
  ASSERT_TRUE(made) << made.failure().message;
  constexpr std::size_t hot = 16, times = 64;
  device_words keys(*device, hot * times), values(*device, hot * times);
  shared_answers answers(*device, hot * times);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = i % hot, values[i] = i;
  make_room(*made, keys);
  auto* lockstep = dynamic_cast<lockstep_device*>(device);
  std::size_t before = lockstep == nullptr ? 0 : lockstep->stages;
  std::size_t committed_before = lockstep == nullptr ? 0 : lockstep->committed;
  ASSERT_EQ(made->insert_async(keys.size(), keys.data(), values.data(), answers.data()),
            status::ok);
  ASSERT_EQ(made->commit(), status::ok);
  bool staged = GetParam().to_power || GetParam().place != gpu::table_place::pool;
  if (lockstep != nullptr && staged) {
    EXPECT_EQ(lockstep->stages - before, 1u);
    EXPECT_EQ(lockstep->committed - committed_before, hot);
  }
  std::size_t added = 0;
  model wanted;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    EXPECT_TRUE(answers[i] == status::ok || answers[i] == status::exists);
    if (answers[i] == status::ok) wanted[keys[i]] = values[i], ++added;
  }
  EXPECT_EQ(added, hot) << "each key is inserted once";
  expect_found(*made, wanted);
}

/// So many that several threads of the processor commit them.
TEST_P(GpuMap, ACommitOfManyIsWhole) {
  bool staged = GetParam().to_power || GetParam().place != gpu::table_place::pool;
  if (!staged || !GetParam().settings.empty()) GTEST_SKIP() << "the shape changes nothing here";
  auto made = open(2, std::uint64_t{1} << 17);
  ASSERT_TRUE(made) << made.failure().message;
  constexpr std::size_t n = 33'000;
  device_words keys(*device, n), values(*device, n);
  shared_answers answers(*device, n);
  model wanted;
  for (std::size_t i = 0; i < n; ++i) keys[i] = 5 * i, values[i] = i, wanted[keys[i]] = i;
  ASSERT_EQ(made->reserve(n), status::ok);
  ASSERT_EQ(made->put(n, keys.data(), values.data(), answers.data()), status::ok);
  for (std::size_t i = 0; i < n; ++i) wanted[keys[i]] = values[i] = n + i;
  ASSERT_EQ(made->update_async(n, keys.data(), values.data(), answers.data()), status::ok);
  ASSERT_EQ(made->commit(), status::ok);
  ASSERT_EQ(made->close(), status::ok);
  expect_on_the_cpu(wanted);
}

/// Nobody knows what a device did that failed: nothing more is done, no close calls the pool clean,
/// and the next process recovers it.
TEST_P(GpuMap, ADeviceThatFailsLeavesThePoolAsACrashDoes) {
  if (GetParam().on_gpu) GTEST_SKIP() << "no GPU fails when it is told to";
  model wanted;
  {
    auto made = open();
    ASSERT_TRUE(made) << made.failure().message;
    device_words keys(*device, {1, 2, 3});
    shared_answers answers(*device, 3);
    ASSERT_EQ(made->put(3, keys.data(), keys.data(), answers.data()), status::ok);
    wanted = {{1, 1}, {2, 2}, {3, 3}};
    static_cast<lockstep_device*>(device)->fails = true;
    std::string why;
    EXPECT_EQ(made->commit(nullptr, &why), status::io_error);
    EXPECT_EQ(why, "the device failed");
    EXPECT_EQ(made->put_async(3, keys.data(), keys.data(), answers.data()), status::io_error);
    EXPECT_EQ(made->find_async(3, keys.data(), nullptr, answers.data()), status::io_error);
    EXPECT_EQ(made->reserve(100'000), status::io_error);
    EXPECT_EQ(made->sync(), status::io_error);
    EXPECT_EQ(made->close(), status::io_error);
    EXPECT_EQ(made->close(), status::closed);
    EXPECT_EQ(made->put_async(3, keys.data(), keys.data(), answers.data()), status::closed);
    EXPECT_EQ(made->size(), 0u);
    EXPECT_FALSE(made->check().ok);
  }
  if (GetParam().to_power) return;  // memory is gone
  auto pool = map<std::uint64_t, std::uint64_t>::open(path());
  ASSERT_TRUE(pool) << pool.failure().message;
  EXPECT_FALSE(pool->info().clean);
  EXPECT_TRUE(pool->check().ok);
  for (auto [key, value] : wanted) EXPECT_EQ(pool->get(key), value);
}

}  // namespace
}  // namespace durahash::test
