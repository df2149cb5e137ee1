// gpu::table: rows of bytes, which a device looks up and the processor writes.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <random>

#include "base/hash.hpp"
#include "base/key_hash.hpp"
#include "durahash/table.hpp"
#include "gpu/table.hpp"
#include "test/gpu/lockstep_device.hpp"
#include "test/gpu/map_rig.hpp"
#include "test/gpu/ref_kernel.hpp"
#include "test/store/scratch.hpp"

namespace durahash::test {
namespace {

TEST(KeyHash, IsTheHashOfBytes) {
  std::mt19937_64 random(20251122);
  for (int round = 0; round < 20'000; ++round) {
    hash_seeds seeds{random(), random() | 1};
    std::uint64_t key[key_hash::max_words];
    for (std::uint64_t& word : key) word = round % 7 == 0 ? 0 : random();
    for (unsigned words = 1; words <= key_hash::max_words; ++words)
      ASSERT_EQ(key_hash(seeds).of(key, words),
                bytes_hash({reinterpret_cast<const char*>(key), words * 8}, seeds))
          << words << " words";
  }
}

struct rows_case {
  std::string name;
  std::map<std::string, std::uint64_t> settings;  // key_bytes, or keys are u64
  gpu::table_place place = gpu::table_place::pool;
  bool to_power = false, on_gpu = false;
};

void PrintTo(const rows_case& c, std::ostream* to) { *to << c.name; }

using rows_model = std::map<std::string, std::string>;

class GpuRows : public testing::TestWithParam<rows_case> {
 protected:
  void SetUp() override {
    if (!GetParam().on_gpu) return;
    if (auto found = gpu::cuda_device(0); !found) {
      if (must_have_a_gpu()) FAIL() << found.failure().message;
      GTEST_SKIP() << "no GPU: " << found.failure().message;
    }
  }
  gpu::table open() {
    options how;
    how.medium = GetParam().to_power ? medium_kind::memory : medium_kind::file;
    how.durability = GetParam().to_power ? durability_level::power : durability_level::process;
    if (!std::filesystem::exists(path())) how.settings = GetParam().settings;
    std::unique_ptr<gpu::device> made = std::make_unique<lockstep_device>();
    if (GetParam().on_gpu) made = std::move(*gpu::cuda_device(0));
    device = made.get();
    auto opened = gpu::open_rows_on(std::move(made), path(), how, {.place = GetParam().place});
    if (!opened) throw std::runtime_error(opened.failure().message);
    return std::move(*opened);
  }
  std::string path() const { return folder_.file("pool"); }
  std::size_t key_bytes() const {
    auto set = GetParam().settings.find("key_bytes");
    return set == GetParam().settings.end() ? 8 : set->second;
  }
  /// Keys that differ in their first, their last or a middle word, or in all.
  std::string key(std::uint64_t number) const {
    std::vector<std::uint64_t> words(key_bytes() / 8, 0x6b6579);
    words[number % words.size()] = number;
    if (number % 5 == 0) std::fill(words.begin(), words.end(), number);
    return {reinterpret_cast<const char*>(words.data()), key_bytes()};
  }
  void expect_found(gpu::table& t, const rows_model& wanted, std::uint64_t numbers) {
    constexpr std::size_t most = 4096;
    std::vector<std::string> keys;
    for (std::uint64_t number = 0; number < numbers; ++number) keys.push_back(key(number));
    shared_array<char> key_array(*device, keys.size() * key_bytes()),
        values(*device, keys.size() * most);
    shared_array<std::uint32_t> lengths(*device, keys.size());
    shared_answers answers(*device, keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i)
      std::memcpy(key_array.data() + i * key_bytes(), keys[i].data(), key_bytes());
    ASSERT_EQ(t.find_async(keys.size(), key_array.data(), values.data(), most, answers.data(),
                           nullptr, lengths.data()),
              status::ok);
    ASSERT_EQ(t.wait(), status::ok);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      auto should = wanted.find(keys[i]);
      ASSERT_EQ(answers[i], should == wanted.end() ? status::not_found : status::ok) << "key " << i;
      if (should == wanted.end()) continue;
      ASSERT_EQ(std::string(values.data() + i * most, lengths[i]), should->second) << "key " << i;
    }
  }

  gpu::device* device = nullptr;

 private:
  scratch_folder folder_;
};

/// Writes of all kinds through growths, `reserve` and `compact`; after each round the device finds
/// what is there and nothing else; so does the processor at last.
TEST_P(GpuRows, AnswersAsTheModel) {
  std::mt19937_64 random(6);
  rows_model wanted;
  constexpr std::uint64_t numbers = 2500;
  gpu::table t = open();
  ASSERT_EQ(t.place(), GetParam().place);
  ASSERT_EQ(t.key_bytes(), key_bytes());
  expect_found(t, wanted, 100);
  for (int round = 0; round < 14; ++round) {
    std::size_t n = 1 + random() % 700,
                value_bytes = std::vector<std::size_t>{0, 8, 24, 128, 77, 512, 4096}[random() % 7];
    if (value_bytes > 512) n = std::min<std::size_t>(n, 150);
    std::string keys, values;
    std::vector<status> answers(n, status::damaged), should(n, status::ok);
    for (std::size_t i = 0; i < n; ++i) {
      keys += key(random() % numbers);
      for (std::size_t b = 0; b < value_bytes; ++b) values += static_cast<char>(random());
    }
    auto key_of = [&](std::size_t i) { return keys.substr(i * key_bytes(), key_bytes()); };
    auto value_of = [&](std::size_t i) { return values.substr(i * value_bytes, value_bytes); };
    status did = status::ok;
    switch (round % 4) {
      case 0:
        did = t.put(n, keys.data(), values.data(), value_bytes, answers.data());
        for (std::size_t i = 0; i < n; ++i) wanted[key_of(i)] = value_of(i);
        break;
      case 1:
        did = t.insert(n, keys.data(), values.data(), value_bytes, answers.data());
        for (std::size_t i = 0; i < n; ++i)
          should[i] = wanted.emplace(key_of(i), value_of(i)).second ? status::ok : status::exists;
        break;
      case 2:
        did = t.update(n, keys.data(), values.data(), value_bytes, answers.data());
        for (std::size_t i = 0; i < n; ++i)
          if (auto at = wanted.find(key_of(i)); at != wanted.end()) at->second = value_of(i);
          else should[i] = status::not_found;
        break;
      default:
        did = t.erase(n, keys.data(), answers.data());
        for (std::size_t i = 0; i < n; ++i)
          should[i] = wanted.erase(key_of(i)) == 1 ? status::ok : status::not_found;
    }
    ASSERT_EQ(did, status::ok);
    ASSERT_EQ(answers, should) << "round " << round;
    did = round == 6 ? t.reserve(3 * numbers) : round == 10 ? t.compact() : status::ok;
    ASSERT_EQ(did, status::ok);
    ASSERT_NO_FATAL_FAILURE(expect_found(t, wanted, numbers)) << "round " << round;
  }
  EXPECT_EQ(t.size(), wanted.size());
  check_report report = t.check();
  EXPECT_TRUE(report.ok) << report.violations.front();
  ASSERT_EQ(t.close(), status::ok);
  if (GetParam().to_power) return;
  {
    auto pool = table::open(path());
    ASSERT_TRUE(pool) << pool.failure().message;
    EXPECT_EQ(pool->size(), wanted.size());
    for (const auto& [key, value] : wanted) ASSERT_EQ(pool->get(key), value);
    // and the other way: what the processor did
    for (std::uint64_t number = 0; number < numbers; number += 3) {
      wanted[key(number)] = "of the processor";
      ASSERT_EQ(pool->put(key(number), "of the processor"), status::ok);
    }
  }
  gpu::table again = open();
  expect_found(again, wanted, numbers);
}

/// Without lengths a value must have the one that is asked for; without an array for values it is
/// only said whether keys are there.
TEST_P(GpuRows, LengthsOfValues) {
  gpu::table t = open();
  std::string keys = key(1) + key(2) + key(3), values = "abcdefghijkl";
  std::vector<status> done(3);
  ASSERT_EQ(t.put(2, keys.data(), values.data(), 6, done.data()), status::ok);
  shared_array<char> key_array(*device, keys.size()), found(*device, 3 * 8);
  std::copy(keys.begin(), keys.end(), key_array.begin());
  shared_array<std::uint32_t> lengths(*device, 3);
  shared_answers answers(*device, 3);
  auto find = [&](char* into, std::size_t bytes, std::uint32_t* found_lengths) {
    std::fill(found.begin(), found.end(), '-');
    EXPECT_EQ(
        t.find_async(3, key_array.data(), into, bytes, answers.data(), nullptr, found_lengths),
        status::ok);
    EXPECT_EQ(t.wait(), status::ok);
    return std::string(found.begin(), found.end());
  };
  auto answered = [&](status first, status second, status third) {
    return answers[0] == first && answers[1] == second && answers[2] == third;
  };
  EXPECT_EQ(find(found.data(), 6, nullptr), "abcdefghijkl------------");
  EXPECT_TRUE(answered(status::ok, status::ok, status::not_found));
  EXPECT_EQ(find(found.data(), 8, nullptr), "abcdef--ghijkl----------");
  EXPECT_TRUE(answered(status::mismatch, status::mismatch, status::not_found));
  EXPECT_EQ(find(found.data(), 4, lengths.data()), "abcdghij----------------");
  EXPECT_TRUE(answered(status::ok, status::ok, status::not_found));
  EXPECT_EQ(lengths[0], 6u);
  EXPECT_EQ(lengths[2], 0u);
  EXPECT_EQ(find(nullptr, 0, nullptr), std::string(24, '-'));
  EXPECT_TRUE(answered(status::ok, status::ok, status::not_found));
}

std::vector<rows_case> rows_cases() {
  std::vector<rows_case> all = {
      {"u64", {}},
      {"u64_mirrored", {}, gpu::table_place::device_mirror},
      {"keys_of_8", {{"key_bytes", 8}}},
      {"keys_of_16_levels1_slots16_mirrored_on_the_host",
       {{"key_bytes", 16}, {"levels", 1}, {"slots", 16}},
       gpu::table_place::host_mirror},
      {"keys_of_24_levels4_slots4", {{"key_bytes", 24}, {"levels", 4}, {"slots", 4}}},
      {"keys_of_32_mirrored", {{"key_bytes", 32}}, gpu::table_place::device_mirror},
      {"keys_of_64_levels4_hashes4_slots2_to_power",
       {{"key_bytes", 64}, {"levels", 4}, {"hashes", 4}, {"slots", 2}},
       gpu::table_place::pool,
       true},
      {"keys_of_128", {{"key_bytes", 128}}}};
  for (std::size_t i = 0, count = all.size(); i < count; ++i) {
    rows_case on_gpu = all[i];
    on_gpu.name += "_gpu";
    on_gpu.on_gpu = true;
    all.push_back(on_gpu);
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(, GpuRows, testing::ValuesIn(rows_cases()),
                         [](const auto& each) { return each.param.name; });

#ifdef DURAHASH_HAS_CUDA
TEST(GpuRef, RowsInAKernelOfOnesOwn) {
  auto found = gpu::cuda_device(0);
  if (!found && must_have_a_gpu()) FAIL() << found.failure().message;
  if (!found) GTEST_SKIP() << "no GPU: " << found.failure().message;
  scratch_folder folder;
  gpu::device& d = **found;
  auto made = gpu::open_rows_on(std::move(*found), folder.file("a"), {},
                                {.place = gpu::table_place::device_mirror});
  ASSERT_TRUE(made) << made.failure().message;
  constexpr std::size_t n = 1000;
  device_words keys(d, n), sums(d, n), rooms(d, 2 * n);
  shared_array<std::uint32_t> lengths(d, n);
  shared_answers answers(d, n);
  std::vector<std::uint64_t> rows(2 * n);
  for (std::size_t i = 0; i < n; ++i) keys[i] = i * i, rows[2 * i] = i, rows[2 * i + 1] = 7;
  ASSERT_EQ(made->put(n / 2, keys.data(), rows.data(), 16, answers.data()), status::ok);
  run_look_rows_up(*made, n, keys.data(), sums.data(), rooms.data(), lengths.data(),
                   answers.data());
  ASSERT_EQ(made->wait(), status::ok);
  for (std::size_t i = 0; i < n; ++i) {
    ASSERT_EQ(answers[i], i < n / 2 ? status::ok : status::not_found);
    if (i >= n / 2) continue;
    EXPECT_EQ(sums[i], i + 7);
    EXPECT_EQ(lengths[i], 16u);
  }
}
#endif

}  // namespace
}  // namespace durahash::test
