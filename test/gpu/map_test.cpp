// gpu::map on a device of host threads, and on a GPU where there is one: the kernels' own lines
// (gpu/operations.hpp, gpu/batch.hpp), growth, commits, and the pool as the CPU finds it.
#include <atomic>
#include <fstream>
#include <thread>

#include "persist/format.hpp"
#include "test/gpu/map_rig.hpp"

namespace durahash::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Every, GpuMap, testing::ValuesIn(every_case()),
                         [](const auto& each) { return each.param.name; });

TEST_P(GpuMap, FillsAPoolThatTheCpuReads) {
  std::mt19937_64 random(1);
  std::size_t count = GetParam().on_gpu && interpreted() ? 3'000 : 20'000;
  std::vector<std::uint64_t> keys = random_words(count, random),
                             values = random_words(count, random);
  model wanted;
  for (std::size_t i = 0; i < keys.size(); ++i) wanted[keys[i]] = values[i];
  {
    auto made = open();
    ASSERT_TRUE(made) << made.failure().message;
    device_words shared_keys(*device, keys), shared_values(*device, values);
    shared_answers answers(*device, keys.size());
    ASSERT_EQ(made->put(keys.size(), shared_keys.data(), shared_values.data(), answers.data()),
              status::ok);
    for (status answer : answers) ASSERT_EQ(answer, status::ok);
    expect_found(*made, wanted);
    EXPECT_EQ(made->size(), wanted.size());
    EXPECT_TRUE(made->check().ok);
  }
  expect_on_the_cpu(wanted);
}

TEST_P(GpuMap, SearchesAPoolThatTheCpuFilled) {
  if (GetParam().to_power) GTEST_SKIP() << "memory is gone when the CPU closes it";
  model wanted;
  {
    options how;
    how.engine = engine_kind::gphash;
    how.settings = GetParam().settings;
    auto pool = map<std::uint64_t, std::uint64_t>::open(path(), how);
    ASSERT_TRUE(pool) << pool.failure().message;
    for (std::uint64_t n = 0; n < 5000; ++n) {
      ASSERT_EQ(pool->put(n * n, n), status::ok);
      wanted[n * n] = n;
    }
  }
  auto made = open();
  ASSERT_TRUE(made) << made.failure().message;
  expect_found(*made, wanted);
  device_words absent(*device, {2, 3, 5, ~std::uint64_t{0}}), values(*device, {77, 77, 77, 77});
  shared_answers answers(*device, 4);
  ASSERT_EQ(made->find_async(4, absent.data(), values.data(), answers.data()), status::ok);
  ASSERT_EQ(made->commit(), status::ok);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(answers[i], status::not_found);
    EXPECT_EQ(values[i], 77u) << "a value was written for an absent key";
  }
}

/// Every answer is the model's, whatever the mixture; keys of a batch are unique here, so that the
/// order within it does not matter.
TEST_P(GpuMap, AnswersAsTheModel) {
  std::mt19937_64 random(7);
  model wanted;
  auto made = open(3);
  ASSERT_TRUE(made) << made.failure().message;
  for (int round = 0; round < 60; ++round) {
    std::map<std::uint64_t, std::uint64_t> batch;
    while (batch.size() < 64) batch[random() % 3 == 0 ? random() % 8 : random() % 400] = random();
    device_words keys(*device, batch.size()), values(*device, batch.size());
    std::size_t at = 0;
    for (auto [key, value] : batch) keys[at] = key, values[at++] = value;
    shared_answers answers(*device, keys.size());
    std::vector<status> expected(keys.size(), status::ok);
    int what = static_cast<int>(random() % 4);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      bool there = wanted.contains(keys[i]);
      if (what == 1 && there) expected[i] = status::exists;
      if (what >= 2 && !there) expected[i] = status::not_found;
      if (expected[i] != status::ok) continue;
      if (what == 3) wanted.erase(keys[i]);
      else wanted[keys[i]] = values[i];
    }
    auto n = keys.size();
    status done = what == 0   ? made->put(n, keys.data(), values.data(), answers.data())
                  : what == 1 ? made->insert(n, keys.data(), values.data(), answers.data())
                  : what == 2 ? made->update_async(n, keys.data(), values.data(), answers.data())
                              : made->erase_async(n, keys.data(), answers.data());
    ASSERT_EQ(done, status::ok);
    ASSERT_EQ(made->commit(), status::ok);
    if (round % 4 == 0) {
      shared_answers found(*device, n);
      ASSERT_EQ(made->find_async(n, keys.data(), nullptr, found.data()), status::ok);
      ASSERT_EQ(made->load_cache(), status::ok);
      ASSERT_EQ(made->commit(), status::ok);
    }
    for (std::size_t i = 0; i < n; ++i)
      ASSERT_EQ(answers[i], expected[i])
          << "round " << round << ", action " << what << ", key " << keys[i];
    ASSERT_EQ(made->size(), wanted.size());
  }
  expect_found(*made, wanted);
  check_report report = made->check();
  EXPECT_TRUE(report.ok) << report.violations.front();
}

TEST_P(GpuMap, KeysOfABatchNeedNotBeUnique) {
  auto made = open(4);
  ASSERT_TRUE(made) << made.failure().message;
  constexpr std::size_t different = 10;
  const std::size_t n = GetParam().on_gpu && interpreted() ? 600 : 4000;
  device_words keys(*device, n), values(*device, n);
  for (std::size_t i = 0; i < n; ++i) keys[i] = i % different, values[i] = i;
  shared_answers answers(*device, n);
  ASSERT_EQ(made->insert(n, keys.data(), values.data(), answers.data()), status::ok);
  std::map<std::uint64_t, std::uint64_t> inserted;
  for (std::size_t i = 0; i < n; ++i) {
    if (answers[i] == status::ok) {
      EXPECT_TRUE(inserted.emplace(keys[i], values[i]).second)
          << "key " << keys[i] << " was inserted twice";
    } else {
      EXPECT_EQ(answers[i], status::exists);
    }
  }
  EXPECT_EQ(inserted.size(), different);
  expect_found(*made, inserted);
  EXPECT_EQ(made->size(), different);
  EXPECT_TRUE(made->check().ok);
}

TEST_P(GpuMap, ReusesWhatWasErasedAndGivesItBack) {
  auto made = open();
  ASSERT_TRUE(made) << made.failure().message;
  std::mt19937_64 random(3);
  std::uint64_t most = 0;
  const bool slow = GetParam().on_gpu && interpreted();
  const std::vector<std::uint64_t> the_same = random_words(slow ? 2500 : 5000, random);
  const int rounds = slow ? 2 : 12;
  for (int round = 0; round < rounds; ++round) {
    device_words keys(*device, the_same);
    shared_answers answers(*device, keys.size());
    ASSERT_EQ(made->put(keys.size(), keys.data(), keys.data(), answers.data()), status::ok);
    if (round == 0) most = made->info().slots;
    // in another order the last few may find no room
    EXPECT_LE(made->info().slots, 2 * most) << "slots of erased keys are lost";
    for (std::size_t at = 0; at < keys.size(); at += 2500) {  // as many as may be staged
      ASSERT_EQ(made->erase_async(2500, keys.data() + at, answers.data() + at), status::ok)
          << "at " << at;
      ASSERT_EQ(made->commit(), status::ok);
    }
    for (status answer : answers) ASSERT_EQ(answer, status::ok);
    EXPECT_EQ(made->size(), 0u);
  }
  std::uint64_t before = made->info().file_bytes;
  ASSERT_EQ(made->compact(), status::ok);
  EXPECT_LE(made->info().file_bytes, before);
  if (auto* lockstep = dynamic_cast<lockstep_device*>(device)) {
    EXPECT_EQ(lockstep->pinned_bytes(),
              GetParam().place == gpu::table_place::pool ? made->info().file_bytes : 0)
        << "what is pinned is not what the pool has";
  }
  EXPECT_TRUE(made->check().ok);
}

TEST_P(GpuMap, ABatchWithoutRoomSaysSoAndIsDoneAfterAReserve) {
  auto made = open();
  ASSERT_TRUE(made) << made.failure().message;
  std::mt19937_64 random(5);
  device_words keys(*device, random_words(3000, random));
  shared_answers answers(*device, keys.size());
  ASSERT_EQ(made->put_async(keys.size(), keys.data(), keys.data(), answers.data()), status::ok);
  ASSERT_EQ(made->commit(), status::ok);
  auto full =
      static_cast<std::uint64_t>(std::count(answers.begin(), answers.end(), status::no_space));
  EXPECT_GT(full, 0u) << "the first levels hold 3,000 records?";
  EXPECT_EQ(made->size(), keys.size() - full);
  while (std::count(answers.begin(), answers.end(), status::no_space) != 0) {
    ASSERT_EQ(made->reserve(made->info().slots), status::ok);
    ASSERT_EQ(made->put_async(keys.size(), keys.data(), keys.data(), answers.data()), status::ok);
    ASSERT_EQ(made->commit(), status::ok);
  }
  EXPECT_EQ(std::count(answers.begin(), answers.end(), status::ok),
            static_cast<std::ptrdiff_t>(keys.size()));
  EXPECT_EQ(made->size(), keys.size());
}

/// What finds no room in another stream's batch is that batch's.
TEST_P(GpuMap, OnlyACallThatFindsNoRoomGrowsTheTable) {
  if (GetParam().to_power || GetParam().place != gpu::table_place::pool)
    GTEST_SKIP() << "what waits for a commit is of one stream";
  auto made = open();
  ASSERT_TRUE(made) << made.failure().message;
  std::mt19937_64 random(8);
  device_words keys(*device, random_words(3000, random)), one(*device, 1);
  shared_answers answers(*device, keys.size()), answer(*device, 1);
  ASSERT_EQ(made->put(1, one.data(), one.data(), answer.data()), status::ok);
  std::uint64_t before = made->info().slots;
  ASSERT_EQ(made->put_async(keys.size(), keys.data(), keys.data(), answers.data(), beside()),
            status::ok);
  ASSERT_EQ(made->put(1, one.data(), one.data(), answer.data()), status::ok);
  EXPECT_EQ(answer[0], status::ok);
  EXPECT_EQ(made->info().slots, before);
  EXPECT_NE(std::count(answers.begin(), answers.end(), status::no_space), 0);
}

TEST_P(GpuMap, FindOrInsertTellsWhatIsThereAndOneOfABatchInserts) {
  auto made = open();
  ASSERT_TRUE(made) << made.failure().message;
  constexpr std::size_t n = 300, distinct = 100;  // the first half of them is there before
  device_words keys(*device, n), values(*device, n);
  shared_answers answers(*device, n);
  model wanted;
  for (std::size_t i = 0; i < n; ++i) keys[i] = 3 * (i % distinct), values[i] = 1000 + i;
  ASSERT_EQ(made->put(distinct / 2, keys.data(), values.data(), answers.data()), status::ok);
  for (std::size_t i = 0; i < distinct / 2; ++i) wanted[keys[i]] = values[i];
  for (std::size_t i = 0; i < n; ++i) values[i] = 5000 + i;
  ASSERT_EQ(made->find_or_insert(n, keys.data(), values.data(), answers.data()), status::ok);
  for (std::size_t i = 0; i < n; ++i)
    if (answers[i] == status::ok) {
      EXPECT_EQ(values[i], 5000 + i);
      EXPECT_TRUE(wanted.emplace(keys[i], values[i]).second) << "twice, or over key " << keys[i];
    }
  EXPECT_EQ(wanted.size(), distinct);
  for (std::size_t i = 0; i < n; ++i) {
    if (answers[i] == status::ok) continue;
    ASSERT_EQ(answers[i], status::exists);
    EXPECT_EQ(values[i], wanted.at(keys[i])) << "key " << keys[i];
  }
  expect_found(*made, wanted);
  EXPECT_EQ(made->size(), distinct);
  // again, and nothing is done
  ASSERT_EQ(made->find_or_insert_async(n, keys.data(), values.data(), answers.data()), status::ok);
  ASSERT_EQ(made->commit(), status::ok);
  for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(answers[i], status::exists);
  expect_found(*made, wanted);
  ASSERT_EQ(made->close(), status::ok);
  expect_on_the_cpu(wanted);
}

TEST_P(GpuMap, AddCountsEachOperationOfAKey) {
  auto made = open();
  ASSERT_TRUE(made) << made.failure().message;
  constexpr std::size_t n = 600, distinct = 40;
  device_words keys(*device, n), more(*device, n);
  shared_answers answers(*device, n);
  model wanted;
  for (std::size_t i = 0; i < n; ++i) {
    keys[i] = i % 7 == 0 ? 1 : 11 * (i % distinct);  // one is hot
    more[i] = i % 5 == 0 ? ~std::uint64_t{0} : i;    // less one, modulo 2^64
  }
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < n; ++i) wanted[keys[i]] += more[i];
    if (round != 1) {  // the first needs room
      ASSERT_EQ(made->add(n, keys.data(), more.data(), answers.data()), status::ok);
    } else {
      ASSERT_EQ(made->add_async(n, keys.data(), more.data(), answers.data()), status::ok);
      ASSERT_EQ(made->commit(), status::ok);
    }
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(answers[i], status::ok);
    expect_found(*made, wanted);
  }
  ASSERT_EQ(made->close(), status::ok);
  expect_on_the_cpu(wanted);
}

TEST_P(GpuMap, ExportsEveryRecordOnce) {
  auto made = open();
  ASSERT_TRUE(made) << made.failure().message;
  std::mt19937_64 random(11);
  const bool slow = GetParam().on_gpu && interpreted();
  std::vector<std::uint64_t> all = random_words(slow ? 1000 : 3000, random);
  device_words keys(*device, all), some_keys(*device, 100), some_values(*device, 100);
  shared_answers answers(*device, keys.size());
  ASSERT_EQ(made->put(keys.size(), keys.data(), keys.data(), answers.data()), status::ok);
  model wanted, found;
  for (std::uint64_t key : all) wanted[key] = key;
  std::size_t count = 0;
  gpu::map::export_cursor at;
  EXPECT_EQ(made->export_batch(at, 31, some_keys.data(), some_values.data(), count),
            status::invalid_argument);
  while (!at.done) {
    ASSERT_EQ(made->export_batch(at, some_keys.size(), some_keys.data(), some_values.data(), count),
              status::ok);
    ASSERT_LE(count, some_keys.size());
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_TRUE(found.emplace(some_keys[i], some_values[i]).second)
          << "key " << some_keys[i] << " came twice";
  }
  EXPECT_EQ(found, wanted);
  gpu::map::export_cursor old;
  ASSERT_EQ(made->export_batch(old, some_keys.size(), some_keys.data(), some_values.data(), count),
            status::ok);
  ASSERT_EQ(made->reserve(8 * made->info().slots), status::ok);
  EXPECT_EQ(made->export_batch(old, some_keys.size(), some_keys.data(), some_values.data(), count),
            status::mismatch);
}

/// Keys whose mixture is no fingerprint have slots of their own, and are exported from there; and
/// one whose mixture is all ones is as the others.
TEST_P(GpuMap, ExportsKeysOfEscapeSlots) {
  if (GetParam().to_power) GTEST_SKIP() << "the seeds of a pool in memory cannot be read";
  {
    auto made = open();
    ASSERT_TRUE(made) << made.failure().message;
  }
  std::ifstream file(path(), std::ios::binary);
  superblock block;
  file.read(reinterpret_cast<char*>(&block), sizeof block);
  gphash::mixer mixture(seeds_of(block));
  auto made = open();
  ASSERT_TRUE(made) << made.failure().message;
  model wanted, found;
  for (std::uint64_t mixed : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) wanted[mixture.key_of(mixed)] = mixed;
  wanted[mixture.key_of(~std::uint64_t{0})] = 77;
  device_words keys(*device, wanted.size()), values(*device, wanted.size()), some_keys(*device, 32),
      some_values(*device, 32);
  std::size_t n = 0, count = 0;
  for (auto [key, value] : wanted) keys[n] = key, values[n++] = value;
  shared_answers answers(*device, n);
  ASSERT_EQ(made->put(n, keys.data(), values.data(), answers.data()), status::ok);
  gpu::map::export_cursor at;
  while (!at.done) {
    ASSERT_EQ(made->export_batch(at, 32, some_keys.data(), some_values.data(), count), status::ok);
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_TRUE(found.emplace(some_keys[i], some_values[i]).second);
  }
  EXPECT_EQ(found, wanted);
}

/// Finds of another thread go on beside writes and growth, whose old levels they may still see.
TEST_P(GpuMap, FindsGoOnBesideGrowth) {
  auto made = open(2);
  ASSERT_TRUE(made) << made.failure().message;
  constexpr std::size_t kept = 200, added = 4000;
  device_words keys(*device, kept), values(*device, kept), more(*device, added);
  shared_answers answers(*device, kept), answers_of_more(*device, added);
  for (std::size_t i = 0; i < kept; ++i) keys[i] = i * 77;
  for (std::size_t i = 0; i < added; ++i) more[i] = 1'000'000 + i;
  ASSERT_EQ(made->put(kept, keys.data(), keys.data(), answers.data()), status::ok);
  std::atomic<bool> done{false};
  std::uint64_t found = 0, wrong = 0, slots = made->info().slots;
  std::jthread reader([&] {
    for (int round = 0; round < 5 || !done; ++round) {
      shared_answers mine(*device, kept);
      ASSERT_EQ(made->find_async(kept, keys.data(), values.data(), mine.data(), beside()),
                status::ok);
      ASSERT_EQ(device->wait(beside()).code, status::ok);
      for (std::size_t i = 0; i < kept; ++i)
        ++(mine[i] == status::ok && values[i] == keys[i] ? found : wrong);
    }
  });
  for (std::size_t at = 0; at < added; at += 500)
    ASSERT_EQ(made->put(500, more.data() + at, more.data() + at, answers_of_more.data() + at),
              status::ok);
  done = true;
  reader.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_GE(found, 5 * kept);
  EXPECT_GT(made->info().slots, slots) << "it did not grow";
  EXPECT_TRUE(made->check().ok);
}

}  // namespace
}  // namespace durahash::test
