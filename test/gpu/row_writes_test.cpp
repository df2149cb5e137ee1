// gpu::table: rows that the device writes, where it reaches the pool itself.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <random>

#include "durahash/table.hpp"
#include "gpu/row_batches.hpp"
#include "gpu/table.hpp"
#include "test/gpu/lockstep_device.hpp"
#include "test/gpu/map_rig.hpp"
#include "test/store/scratch.hpp"

namespace durahash::test {
namespace {

struct writes_case {
  std::string name;
  std::map<std::string, std::uint64_t> settings;  // key_bytes, or keys are u64
  bool to_power = false, on_gpu = false;
  unsigned cache_percent = 0;
  gpu::cache_policy policy = gpu::cache_policy::lfu;
};

void PrintTo(const writes_case& c, std::ostream* to) { *to << c.name; }

/// A pool that a device writes, and what must be in it.
class GpuRowWrites : public testing::TestWithParam<writes_case> {
 protected:
  enum class what { put, insert, update, erase };

  void SetUp() override {
    if (!GetParam().on_gpu) return;
    if (auto found = gpu::cuda_device(0); !found) {
      if (must_have_a_gpu()) FAIL() << found.failure().message;
      GTEST_SKIP() << "no GPU: " << found.failure().message;
    }
  }
  gpu::table open(std::uint64_t max_bytes = 0) {
    options how;
    how.medium = GetParam().to_power ? medium_kind::memory : medium_kind::file;
    how.durability = GetParam().to_power ? durability_level::power : durability_level::process;
    how.max_bytes = max_bytes;
    if (!std::filesystem::exists(path())) how.settings = GetParam().settings;
    auto host = std::make_unique<lockstep_device>();
    lockstep = host.get();
    std::unique_ptr<gpu::device> made = std::move(host);
    if (GetParam().on_gpu) made = std::move(*gpu::cuda_device(0)), lockstep = nullptr;
    device = made.get();
    auto opened = gpu::open_rows_on(std::move(made), path(), how,
                                    {.place = gpu::table_place::pool,
                                     .cache_percent = GetParam().cache_percent,
                                     .policy = GetParam().policy});
    if (!opened) throw std::runtime_error(opened.failure().message);
    return std::move(*opened);
  }
  std::string path() const { return folder_.file("pool"); }
  bool slowly() const { return GetParam().on_gpu && interpreted(); }
  std::size_t key_bytes() const {
    auto set = GetParam().settings.find("key_bytes");
    return set == GetParam().settings.end() ? 8 : set->second;
  }
  std::string key(std::uint64_t number) const {
    std::vector<std::uint64_t> words(key_bytes() / 8, 0x6b6579);
    words[number % words.size()] = number;
    return {reinterpret_cast<const char*>(words.data()), key_bytes()};
  }
  /// A batch, and what it must be answered; `wanted` becomes what must be there.
  void write(gpu::table& t, what does, const std::vector<std::uint64_t>& numbers,
             const std::vector<std::string>& values, std::size_t value_bytes) {
    const std::size_t n = numbers.size();
    shared_array<char> keys(*device, n * key_bytes()),
        rows(*device, std::max<std::size_t>(n * value_bytes, 1));
    shared_answers answers(*device, n);
    std::vector<status> should(n, status::ok);
    for (std::size_t i = 0; i < n; ++i) {
      const std::string name = key(numbers[i]);
      std::memcpy(keys.data() + i * key_bytes(), name.data(), key_bytes());
      std::memcpy(rows.data() + i * value_bytes, values[i].data(), value_bytes);
      auto at = wanted.find(name);
      const bool found = at != wanted.end();
      if (does == what::insert && found) should[i] = status::exists;
      else if ((does == what::update || does == what::erase) && !found)
        should[i] = status::not_found;
      else if (does == what::erase) wanted.erase(at);
      else wanted[name] = values[i];
    }
    status did = status::damaged;
    switch (does) {
      case what::put: did = t.put(n, keys.data(), rows.data(), value_bytes, answers.data()); break;
      case what::insert:
        did = t.insert(n, keys.data(), rows.data(), value_bytes, answers.data());
        break;
      case what::update:
        did = t.update(n, keys.data(), rows.data(), value_bytes, answers.data());
        break;
      case what::erase: did = t.erase(n, keys.data(), answers.data());
    }
    ASSERT_EQ(did, status::ok);
    for (std::size_t i = 0; i < n; ++i)
      ASSERT_EQ(answers[i], should[i]) << "operation " << i << " of " << n;
  }
  void expect_found(gpu::table& t, std::uint64_t numbers) {
    constexpr std::size_t most = 512;
    shared_array<char> keys(*device, numbers * key_bytes()), values(*device, numbers * most);
    shared_array<std::uint32_t> lengths(*device, numbers);
    shared_answers answers(*device, numbers);
    for (std::uint64_t number = 0; number < numbers; ++number)
      std::memcpy(keys.data() + number * key_bytes(), key(number).data(), key_bytes());
    ASSERT_EQ(t.find_async(numbers, keys.data(), values.data(), most, answers.data(), nullptr,
                           lengths.data()),
              status::ok);
    ASSERT_EQ(t.wait(), status::ok);
    for (std::uint64_t number = 0; number < numbers; ++number) {
      auto should = wanted.find(key(number));
      ASSERT_EQ(answers[number], should == wanted.end() ? status::not_found : status::ok)
          << "key " << number;
      if (should == wanted.end()) continue;
      ASSERT_EQ(std::string(values.data() + number * most, lengths[number]), should->second);
    }
  }

  std::map<std::string, std::string> wanted;
  gpu::device* device = nullptr;
  lockstep_device* lockstep = nullptr;

 private:
  scratch_folder folder_;
};

/// All kinds of writes, of values of all lengths, with keys that come many times, through growth;
/// after each the device finds what is there. So does the processor at last, whose check reads
/// every checksum.
TEST_P(GpuRowWrites, AnswerAsTheModel) {
  std::mt19937_64 random(7);
  const std::uint64_t numbers = slowly() ? 1000 : 3000;
  gpu::table t = open();
  for (int round = 0; round < (slowly() ? 12 : 24); ++round) {
    const std::size_t most = slowly() ? 400 : 900, n = gpu::row_batches::least + random() % most,
                      value_bytes =
                          std::vector<std::size_t>{128, 8, 77, 0, 24, 512, 1, 100}[random() % 8];
    // every third batch is about few keys
    const std::uint64_t among = round % 3 == 2 ? 1 + random() % 5 : numbers;
    std::vector<std::uint64_t> keys;
    std::vector<std::string> values;
    for (std::size_t i = 0; i < n; ++i) {
      keys.push_back(random() % among);
      values.emplace_back();
      for (std::size_t b = 0; b < value_bytes; ++b) values.back() += static_cast<char>(random());
    }
    ASSERT_NO_FATAL_FAILURE(write(t, static_cast<what>(round % 4), keys, values, value_bytes))
        << "round " << round;
    if (round == 9) {
      ASSERT_EQ(t.compact(), status::ok);
    }
    ASSERT_NO_FATAL_FAILURE(expect_found(t, numbers)) << "round " << round;
    if (round % 3 == 1) {
      ASSERT_EQ(t.load_cache(), status::ok);
    }
    if (round % 4 == 2) {  // by the processor
      ASSERT_NO_FATAL_FAILURE(write(t, what::put, {1, 2, 1}, {"of one", "of two", "again!"}, 6));
      ASSERT_NO_FATAL_FAILURE(write(t, what::erase, {3, 2}, {"", ""}, 0));
      ASSERT_NO_FATAL_FAILURE(expect_found(t, numbers)) << "behind round " << round;
    }
    if (round % 5 == 0) {
      ASSERT_EQ(t.size(), wanted.size());
    }
  }
  EXPECT_EQ(t.size(), wanted.size());
  check_report report = t.check();
  EXPECT_TRUE(report.ok) << report.violations.front();
  const gpu::cache_figures cache = t.cache();
  EXPECT_EQ(cache.hits != 0, GetParam().cache_percent != 0);
  EXPECT_EQ(cache.loads != 0, GetParam().cache_percent != 0);
  ASSERT_EQ(t.close(), status::ok);
  if (GetParam().to_power) return;
  auto pool = table::open(path());
  ASSERT_TRUE(pool) << pool.failure().message;
  EXPECT_EQ(pool->size(), wanted.size());
  for (const auto& [key, value] : wanted) ASSERT_EQ(pool->get(key), value);
  report = pool->check();
  EXPECT_TRUE(report.ok) << report.violations.front();
}

/// A batch of one key changes one slot, and takes one cell.
TEST_P(GpuRowWrites, OfOneKeyAreOne) {
  gpu::table t = open();
  const std::size_t n = slowly() ? 1000 : 5000;
  std::vector<std::string> values;
  for (std::size_t i = 0; i < n; ++i) values.push_back(std::to_string(10'000'000 + i));
  const std::vector<std::uint64_t> one(n, 5);
  for (what does : {what::insert, what::put, what::update, what::insert, what::erase, what::erase})
    ASSERT_NO_FATAL_FAILURE(write(t, does, one, values, 8));
  ASSERT_NO_FATAL_FAILURE(write(t, what::put, one, values, 8));
  expect_found(t, 10);
  EXPECT_EQ(t.size(), 1u);
  EXPECT_LT(t.info().live_bytes, 100'000u);
}

/// Where neither the pool nor the file system has room, the answers say so; nothing is lost, and
/// what is removed makes room again.
TEST_P(GpuRowWrites, WithoutRoomAreAnswered) {
  const std::size_t n = slowly() ? 1000 : 4000;
  constexpr std::size_t value_bytes = 512;
  gpu::table t = open(std::uint64_t{slowly() ? 3u : 6u} << 20);
  shared_array<char> keys(*device, n * key_bytes()), rows(*device, n * value_bytes);
  std::fill(rows.begin(), rows.end(), 'r');
  shared_answers answers(*device, n);
  std::size_t written = 0;
  for (std::uint64_t from = 0;; from += n) {
    for (std::size_t i = 0; i < n; ++i)
      std::memcpy(keys.data() + i * key_bytes(), key(from + i).data(), key_bytes());
    ASSERT_EQ(t.insert(n, keys.data(), rows.data(), value_bytes, answers.data()), status::ok);
    const auto ok =
        static_cast<std::size_t>(std::count(answers.begin(), answers.end(), status::ok));
    for (status answer : answers) ASSERT_TRUE(answer == status::ok || answer == status::no_space);
    written += ok;
    if (ok != n) break;
  }
  EXPECT_GT(written, n / 2);
  EXPECT_EQ(t.size(), written);
  check_report report = t.check();
  EXPECT_TRUE(report.ok) << report.violations.front();
  ASSERT_EQ(t.erase(n, keys.data(), answers.data()), status::ok);
  const std::size_t kept =
      static_cast<std::size_t>(std::count(answers.begin(), answers.end(), status::ok));
  ASSERT_EQ(t.insert(n, keys.data(), rows.data(), value_bytes, answers.data()), status::ok);
  EXPECT_GE(std::count(answers.begin(), answers.end(), status::ok), static_cast<int>(kept / 2));
}

std::vector<writes_case> writes_cases() {
  std::vector<writes_case> all = {
      {"u64", {}},
      {"keys_of_8", {{"key_bytes", 8}}},
      {"keys_of_24_levels4_slots4", {{"key_bytes", 24}, {"levels", 4}, {"slots", 4}}},
      {"u64_levels1_slots2_to_power", {{"levels", 1}, {"hashes", 1}, {"slots", 2}}, true},
      {"keys_of_128_to_power", {{"key_bytes", 128}}, true},
      {"u64_cached", {}, false, false, 40},
      {"keys_of_24_levels4_slots4_cached_lru_to_power",
       {{"key_bytes", 24}, {"levels", 4}, {"slots", 4}},
       true,
       false,
       60,
       gpu::cache_policy::lru}};
  for (std::size_t i = 0, count = all.size(); i < count; ++i) {
    writes_case on_gpu = all[i];
    on_gpu.name += "_gpu";
    on_gpu.on_gpu = true;
    all.push_back(on_gpu);
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(, GpuRowWrites, testing::ValuesIn(writes_cases()),
                         [](const auto& each) { return each.param.name; });

class GpuRowWritesInLockstep : public testing::Test {
 protected:
  static constexpr std::size_t n = 100;
  gpu::table open(std::string path = {}) {
    auto made = std::make_unique<lockstep_device>();
    device = made.get();
    auto opened = gpu::open_rows_on(std::move(made), path.empty() ? folder.file("pool") : path, {},
                                    {.place = gpu::table_place::pool});
    if (!opened) throw std::runtime_error(opened.failure().message);
    return std::move(*opened);
  }
  std::vector<std::uint64_t> keys_from(std::uint64_t first) {
    std::vector<std::uint64_t> made(n);
    for (std::size_t i = 0; i < n; ++i) made[i] = first + i;
    return made;
  }

  scratch_folder folder;
  lockstep_device* device = nullptr;
  std::vector<std::uint64_t> rows = std::vector<std::uint64_t>(n, 77);
  std::vector<status> answers = std::vector<status>(n, status::damaged);
};

/// Of a few operations the kernels' launches would take longer than the processor. Arrays may lie
/// anywhere.
TEST_F(GpuRowWritesInLockstep, AFewAreTheProcessors) {
  gpu::table t = open();
  std::vector<std::uint64_t> keys = keys_from(1);
  ASSERT_EQ(t.put(gpu::row_batches::least - 1, keys.data(), rows.data(), 8, answers.data()),
            status::ok);
  EXPECT_EQ(device->row_steps, 0u);
  std::vector<char> apart(n * 8 + 1);
  std::memcpy(apart.data() + 1, keys.data(), n * 8);
  ASSERT_EQ(t.put(n, apart.data() + 1, rows.data(), 8, answers.data()), status::ok);
  EXPECT_EQ(std::count(answers.begin(), answers.end(), status::ok), static_cast<int>(n));
  EXPECT_GE(device->row_steps, 4u);
  EXPECT_EQ(t.size(), n);
}

/// Nobody knows what a device that failed has done, or does: nothing more is done, and a later
/// opening finds all that was acknowledged.
TEST_F(GpuRowWritesInLockstep, BehindADeviceThatFailedThereIsNothing) {
  // the first one is for finds
  for (int before = 1; before < 4; ++before) {
    const std::string path = folder.file("pool" + std::to_string(before));
    gpu::table t = open(path);
    std::vector<std::uint64_t> keys = keys_from(1);
    ASSERT_EQ(t.put(n, keys.data(), rows.data(), 8, answers.data()), status::ok);
    std::vector<std::uint64_t> more = keys_from(1000);
    device->fails_after = before;
    EXPECT_EQ(t.put(n, more.data(), rows.data(), 8, answers.data()), status::io_error);
    EXPECT_EQ(t.put(n, more.data(), rows.data(), 8, answers.data()), status::io_error);
    EXPECT_EQ(t.put(2, more.data(), rows.data(), 8, answers.data()), status::io_error);
    EXPECT_EQ(t.find_async(n, keys.data(), nullptr, 0, answers.data()), status::io_error);
    EXPECT_EQ(t.reserve(10'000), status::io_error);
    EXPECT_EQ(t.compact(), status::io_error);
    EXPECT_EQ(t.sync(), status::io_error);
    EXPECT_EQ(t.close(), status::io_error);
    auto pool = table::open(path);
    ASSERT_TRUE(pool) << pool.failure().message;
    for (std::uint64_t key : keys)
      ASSERT_TRUE(pool->contains({reinterpret_cast<const char*>(&key), 8}));
    check_report report = pool->check();
    EXPECT_TRUE(report.ok) << report.violations.front();
  }
}

/// Memory of the device for a batch is asked for; where there is none, the processor writes.
TEST_F(GpuRowWritesInLockstep, WithoutMemoryOnTheDeviceTheProcessorWrites) {
  gpu::table t = open();
  device->max_own_bytes = 16;
  std::vector<std::uint64_t> keys = keys_from(1);
  ASSERT_EQ(t.put(n, keys.data(), rows.data(), 8, answers.data()), status::ok);
  EXPECT_EQ(device->row_steps, 0u);
  EXPECT_EQ(std::count(answers.begin(), answers.end(), status::ok), static_cast<int>(n));
  EXPECT_EQ(t.size(), n);
}

/// The device does not get memory by which the pool has grown, or the process has none to note
/// that: nothing is half written, and nothing stays locked.
TEST_F(GpuRowWritesInLockstep, WhatTheDeviceDoesNotReachIsNotWritten) {
  for (bool throws : {false, true}) {
    gpu::table t = open(folder.file(throws ? "thrown" : "refused"));
    constexpr std::size_t many = 20'000;
    std::vector<std::uint64_t> keys(many), some(many, 7);
    std::vector<status> told(many, status::damaged);
    for (std::size_t i = 0; i < many; ++i) keys[i] = i;
    ASSERT_EQ(t.put(n, keys.data(), some.data(), 8, told.data()), status::ok);
    (throws ? device->lacks_memory : device->refuses_pins) = true;
    EXPECT_EQ(t.put(many, keys.data(), some.data(), 8, told.data()),
              throws ? status::out_of_memory : status::io_error);
    const auto ok = std::count(told.begin(), told.end(), status::ok);
    EXPECT_NE(t.find_async(n, keys.data(), nullptr, 0, answers.data()), status::ok);
    EXPECT_EQ(t.size(), std::max<std::uint64_t>(static_cast<std::uint64_t>(ok), n));
    check_report report = t.check();
    EXPECT_TRUE(report.ok) << report.violations.front();
    EXPECT_EQ(t.close(), status::ok);
  }
}

}  // namespace
}  // namespace durahash::test
