// gpu::table: rows of bytes, which a device looks up and the processor writes.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <random>
#include <thread>

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
    std::uint64_t key[key_hash::most_words];
    for (std::uint64_t& word : key) word = round % 7 == 0 ? 0 : random();
    for (unsigned words = 1; words <= key_hash::most_words; ++words)
      ASSERT_EQ(key_hash(seeds).of(key, words), bytes_hash({reinterpret_cast<const char*>(key), words * 8}, seeds)) << words << " words";
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
    shared_array<char> key_array(*device, keys.size() * key_bytes()), values(*device, keys.size() * most);
    shared_array<std::uint32_t> lengths(*device, keys.size());
    shared_answers answers(*device, keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) std::memcpy(key_array.data() + i * key_bytes(), keys[i].data(), key_bytes());
    ASSERT_EQ(t.find_async(keys.size(), key_array.data(), values.data(), most, answers.data(), nullptr, lengths.data()), status::ok);
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

/// Writes of all kinds through growths, `reserve` and `compact`; after each round the device finds what is there and nothing else; so does the processor at last.
TEST_P(GpuRows, AnswersAsTheModel) {
  std::mt19937_64 random(6);
  rows_model wanted;
  constexpr std::uint64_t numbers = 2500;
  gpu::table t = open();
  ASSERT_EQ(t.place(), GetParam().place);
  ASSERT_EQ(t.key_bytes(), key_bytes());
  expect_found(t, wanted, 100);
  for (int round = 0; round < 14; ++round) {
    std::size_t n = 1 + random() % 700, value_bytes = std::vector<std::size_t>{0, 8, 24, 128, 77, 512, 4096}[random() % 7];
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
        for (std::size_t i = 0; i < n; ++i) should[i] = wanted.emplace(key_of(i), value_of(i)).second ? status::ok : status::exists;
        break;
      case 2:
        did = t.update(n, keys.data(), values.data(), value_bytes, answers.data());
        for (std::size_t i = 0; i < n; ++i)
          if (auto at = wanted.find(key_of(i)); at != wanted.end())
            at->second = value_of(i);
          else
            should[i] = status::not_found;
        break;
      default:
        did = t.erase(n, keys.data(), answers.data());
        for (std::size_t i = 0; i < n; ++i) should[i] = wanted.erase(key_of(i)) == 1 ? status::ok : status::not_found;
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
    for (std::uint64_t number = 0; number < numbers; number += 3) {  // and the other way: what the processor did
      wanted[key(number)] = "of the processor";
      ASSERT_EQ(pool->put(key(number), "of the processor"), status::ok);
    }
  }
  gpu::table again = open();
  expect_found(again, wanted, numbers);
}

/// Without lengths a value must have the one that is asked for; without an array for values it is only said whether keys are there.
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
    EXPECT_EQ(t.find_async(3, key_array.data(), into, bytes, answers.data(), nullptr, found_lengths), status::ok);
    EXPECT_EQ(t.wait(), status::ok);
    return std::string(found.begin(), found.end());
  };
  auto answered = [&](status first, status second, status third) { return answers[0] == first && answers[1] == second && answers[2] == third; };
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
  std::vector<rows_case> all = {{"u64", {}},
                                {"u64_mirrored", {}, gpu::table_place::device_mirror},
                                {"keys_of_8", {{"key_bytes", 8}}},
                                {"keys_of_16_levels1_slots16_mirrored_on_the_host", {{"key_bytes", 16}, {"levels", 1}, {"slots", 16}}, gpu::table_place::host_mirror},
                                {"keys_of_24_levels4_slots4", {{"key_bytes", 24}, {"levels", 4}, {"slots", 4}}},
                                {"keys_of_32_mirrored", {{"key_bytes", 32}}, gpu::table_place::device_mirror},
                                {"keys_of_64_levels4_hashes4_slots2_to_power", {{"key_bytes", 64}, {"levels", 4}, {"hashes", 4}, {"slots", 2}}, gpu::table_place::pool, true},
                                {"keys_of_128", {{"key_bytes", 128}}}};
  for (std::size_t i = 0, count = all.size(); i < count; ++i) {
    rows_case on_gpu = all[i];
    on_gpu.name += "_gpu";
    on_gpu.on_gpu = true;
    all.push_back(on_gpu);
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(, GpuRows, testing::ValuesIn(rows_cases()), [](const auto& each) { return each.param.name; });

#ifdef DURAHASH_HAS_CUDA
TEST(GpuRef, RowsInAKernelOfOnesOwn) {
  auto found = gpu::cuda_device(0);
  if (!found && must_have_a_gpu()) FAIL() << found.failure().message;
  if (!found) GTEST_SKIP() << "no GPU: " << found.failure().message;
  scratch_folder folder;
  gpu::device& d = **found;
  auto made = gpu::open_rows_on(std::move(*found), folder.file("a"), {}, {.place = gpu::table_place::device_mirror});
  ASSERT_TRUE(made) << made.failure().message;
  constexpr std::size_t n = 1000;
  shared_words keys(d, n), sums(d, n), rooms(d, 2 * n);
  shared_array<std::uint32_t> lengths(d, n);
  shared_answers answers(d, n);
  std::vector<std::uint64_t> rows(2 * n);
  for (std::size_t i = 0; i < n; ++i) keys[i] = i * i, rows[2 * i] = i, rows[2 * i + 1] = 7;
  ASSERT_EQ(made->put(n / 2, keys.data(), rows.data(), 16, answers.data()), status::ok);
  run_look_rows_up(*made, n, keys.data(), sums.data(), rooms.data(), lengths.data(), answers.data());
  ASSERT_EQ(made->wait(), status::ok);
  for (std::size_t i = 0; i < n; ++i) {
    ASSERT_EQ(answers[i], i < n / 2 ? status::ok : status::not_found);
    if (i >= n / 2) continue;
    EXPECT_EQ(sums[i], i + 7);
    EXPECT_EQ(lengths[i], 16u);
  }
}
#endif

// --------------------------------------------------------------------------------------------------- on a lockstep device

gpu::table open_in_lockstep(const std::string& path, gpu::table_place place, bool lazy = false, std::size_t most_own_bytes = ~std::size_t{0}) {
  auto device = std::make_unique<lockstep_device>();
  device->lazy = lazy;
  device->most_own_bytes = most_own_bytes;
  auto made = gpu::open_rows_on(std::move(device), path, {}, {.place = place});
  if (!made) throw std::runtime_error(made.failure().message);
  return std::move(*made);
}

/// A write waits for the finds before it, which answer what was there then: their records' cells may be used again.
TEST(GpuStreams, AWriteOfRowsWaitsForFinds) {
  for (gpu::table_place place : {gpu::table_place::pool, gpu::table_place::device_mirror}) {
    scratch_folder folder;
    gpu::table t = open_in_lockstep(folder.file("a"), place, true);
    std::vector<std::uint64_t> keys(500), values(2 * keys.size()), found(values.size());
    std::vector<status> done(keys.size());
    int a_stream = 0;
    for (std::uint64_t round = 0; round < 6; ++round) {
      for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = i, values[2 * i] = values[2 * i + 1] = i << 32 | round;
      std::vector<status> answers(keys.size(), status::damaged);
      ASSERT_EQ(t.find_async(round == 0 ? 0 : keys.size(), keys.data(), found.data(), 16, answers.data(), &a_stream), status::ok);
      ASSERT_EQ(t.put(keys.size(), keys.data(), values.data(), 16, done.data()), status::ok);
      for (std::size_t i = 0; round != 0 && i < keys.size(); ++i) {
        ASSERT_EQ(answers[i], status::ok) << "the write did not wait";
        ASSERT_EQ(found[2 * i], i << 32 | (round - 1));
        ASSERT_EQ(found[2 * i + 1], found[2 * i]);
      }
    }
  }
}

/// Threads that find and one that writes: each find answers one version of a row, whole, and none older than the last that was written when it began.
TEST(GpuStreams, FindsOfRowsBesideWrites) {
  for (gpu::table_place place : {gpu::table_place::pool, gpu::table_place::device_mirror}) {
    scratch_folder folder;
    gpu::table t = open_in_lockstep(folder.file("a"), place);
    constexpr std::size_t n = 300, words = 16;
    std::vector<std::uint64_t> keys(n);
    for (std::size_t i = 0; i < n; ++i) keys[i] = i * i;
    std::atomic<std::uint64_t> written{0};
    auto write_version = [&](std::uint64_t version) {
      std::vector<std::uint64_t> values(n * words, version);
      std::vector<status> done(n);
      EXPECT_EQ(t.put(n, keys.data(), values.data(), words * 8, done.data()), status::ok);
      written = version;
    };
    write_version(1);
    std::atomic<bool> over{false};
    std::vector<std::jthread> finders;
    for (int f = 0; f < 2; ++f)
      finders.emplace_back([&] {
        int a_stream = 0;
        while (!over) {  // without a pause: a write gets its turn all the same
          std::vector<std::uint64_t> found(n * words);
          std::vector<status> answers(n, status::damaged);
          std::uint64_t least = written;
          EXPECT_EQ(t.find_async(n, keys.data(), found.data(), words * 8, answers.data(), &a_stream), status::ok);
          EXPECT_EQ(t.wait(&a_stream), status::ok);
          for (std::size_t i = 0; i < n; ++i) {
            EXPECT_EQ(answers[i], status::ok);
            EXPECT_GE(found[i * words], least);
            for (std::size_t w = 1; w < words; ++w) EXPECT_EQ(found[i * words + w], found[i * words]);
          }
        }
      });
    for (std::uint64_t version = 2; version < 30; ++version) write_version(version);
    over = true;
  }
}

/// Of a pool that grows in several pieces of one write, all that a device may read is pinned, and nothing once it is closed. A mirror gets more blocks than it
/// is brought at once.
TEST(GpuRowsOpen, LargeWrites) {
  constexpr std::size_t n = 6000, bytes = 4096;  // 23 MiB
  for (gpu::table_place place : {gpu::table_place::pool, gpu::table_place::device_mirror}) {
    scratch_folder folder;
    auto device = std::make_unique<lockstep_device>();
    lockstep_device& d = *device;
    auto t = gpu::open_rows_on(std::move(device), folder.file("a"), {}, {.place = place});
    ASSERT_TRUE(t) << t.failure().message;
    ASSERT_EQ(t->reserve(2 * n), status::ok);
    std::vector<std::uint64_t> keys(n);
    std::vector<char> values(n * bytes), found(n * bytes);
    std::vector<status> answers(n);
    for (int version = 0; version < 3; ++version) {
      for (std::size_t i = 0; i < n; ++i) keys[i] = i, std::memset(&values[i * bytes], static_cast<int>(i + 7 * static_cast<std::size_t>(version)), bytes);
      ASSERT_EQ(t->put(n, keys.data(), values.data(), bytes, answers.data()), status::ok);
      for (status answer : answers) ASSERT_EQ(answer, status::ok);
      std::fill(found.begin(), found.end(), '-');
      std::fill(answers.begin(), answers.end(), status::damaged);
      ASSERT_EQ(t->find_async(n, keys.data(), found.data(), bytes, answers.data()), status::ok);
      ASSERT_EQ(t->wait(), status::ok);
      for (status answer : answers) ASSERT_EQ(answer, status::ok);
      ASSERT_TRUE(found == values) << "version " << version;
      std::size_t pinned = d.pinned_bytes();
      EXPECT_TRUE(place == gpu::table_place::pool ? pinned >= t->info().live_bytes : pinned == 0) << pinned;
    }
    ASSERT_EQ(t->compact(), status::ok);
    EXPECT_EQ(d.pinned_bytes(), place == gpu::table_place::pool ? t->info().file_bytes : 0);
    ASSERT_EQ(t->close(), status::ok);
    EXPECT_EQ(d.pinned_bytes(), 0u);
  }
}

TEST(GpuRowsOpen, AMirrorWhereThePoolCannotBePinned) {
  scratch_folder folder;
  auto stubborn = [] {
    auto d = std::make_unique<lockstep_device>();
    d->refuses_pins = true;
    return d;
  };
  auto refused = gpu::open_rows_on(stubborn(), folder.file("a"), {}, {.place = gpu::table_place::pool});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.failure().message, "this memory cannot be pinned");
  auto t = gpu::open_rows_on(stubborn(), folder.file("a"), {}, {});
  ASSERT_TRUE(t) << t.failure().message;
  EXPECT_EQ(t->place(), gpu::table_place::host_mirror);
}

TEST(GpuRowsOpen, RefusesWhatADeviceCannotRead) {
  scratch_folder folder;
  auto refusal = [&](const char* file, options how, gpu::device_options on = {}) {
    auto made = gpu::open_rows_on(std::make_unique<lockstep_device>(), folder.file(file), how, on);
    return made ? std::string("it opened") : made.failure().message;
  };
  EXPECT_NE(refusal("a", {.engine = engine_kind::level}).find("gphash"), std::string::npos);
  EXPECT_NE(refusal("a", {.key = data_kind::bytes}).find("key_bytes"), std::string::npos);
  EXPECT_NE(refusal("a", {.key = data_kind::u64, .value = data_kind::u64}).find("gpu::map"), std::string::npos);
  EXPECT_NE(refusal("a", {}, {.cache_percent = 10}).find("cache_percent"), std::string::npos);
  EXPECT_NE(refusal("a", {.medium = medium_kind::emulated}).find("emulated"), std::string::npos);
  EXPECT_NE(refusal("a", {.mode = open_mode::read_only}).find("no such file"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder.file("a"))) << "what was refused left a file";
  EXPECT_NE(refusal((std::string(5000, 'n')).c_str(), {}).find("nnn"), std::string::npos) << "a name that no file has";
  ASSERT_TRUE(table::open(folder.file("bytes"), {.engine = engine_kind::gphash}));
  EXPECT_NE(refusal("bytes", {}).find("key_bytes"), std::string::npos);
  ASSERT_TRUE(table::open(folder.file("turbo"), {.engine = engine_kind::turbo, .key = data_kind::u64}));
  EXPECT_NE(refusal("turbo", {}).find("gphash"), std::string::npos);
  ASSERT_TRUE((map<std::uint64_t, std::uint64_t>::open(folder.file("words"), {.engine = engine_kind::gphash})));
  EXPECT_NE(refusal("words", {}).find("gpu::map"), std::string::npos);
}

/// Read-only, from a mirror: the pool's file does not change.
TEST(GpuRowsOpen, ToReadOnly) {
  scratch_folder folder;
  {
    auto pool = table::open(folder.file("a"), {.engine = engine_kind::gphash, .key = data_kind::u64});
    ASSERT_TRUE(pool) << pool.failure().message;
    std::uint64_t key = 7;
    ASSERT_EQ(pool->put({reinterpret_cast<const char*>(&key), 8}, "a row"), status::ok);
  }
  std::string before = read_file(folder.file("a"));
  auto made = gpu::open_rows_on(std::make_unique<lockstep_device>(), folder.file("a"), {.mode = open_mode::read_only}, {.place = gpu::table_place::device_mirror});
  ASSERT_TRUE(made) << made.failure().message;
  std::vector<std::uint64_t> keys{7, 8};
  std::string values(16, '-');
  std::vector<status> answers(2);
  std::vector<std::uint32_t> lengths(2);
  ASSERT_EQ(made->find_async(2, keys.data(), values.data(), 8, answers.data(), nullptr, lengths.data()), status::ok);
  ASSERT_EQ(made->wait(), status::ok);
  EXPECT_EQ(values.substr(0, lengths[0]), "a row");
  EXPECT_EQ(answers[1], status::not_found);
  ASSERT_EQ(made->put(1, keys.data(), values.data(), 8, answers.data()), status::ok);
  EXPECT_EQ(answers[0], status::read_only);
  EXPECT_EQ(made->compact(), status::read_only);
  ASSERT_EQ(made->close(), status::ok);
  EXPECT_EQ(read_file(folder.file("a")), before);
  EXPECT_EQ(made->find_async(2, keys.data(), values.data(), 8, answers.data()), status::closed);
  EXPECT_EQ(made->size(), 0u);
  EXPECT_EQ(made->close(), status::closed);
}

/// A copy that does not fit any more: the pool has all that was written, in pieces, and finds say that they cannot go on.
TEST(GpuRowsOpen, ADeviceWithoutMemoryForTheCopy) {
  scratch_folder folder;
  EXPECT_THROW(open_in_lockstep(folder.file("a"), gpu::table_place::device_mirror, false, 100), std::runtime_error);
  gpu::table t = open_in_lockstep(folder.file("a"), gpu::table_place::device_mirror, false, 600'000);
  constexpr std::size_t n = 9000, bytes = 4096;  // three pieces
  std::vector<std::uint64_t> keys(n);
  for (std::size_t i = 0; i < n; ++i) keys[i] = i;
  std::vector<char> values(n * bytes, 'v');
  std::vector<status> answers(n, status::damaged);
  EXPECT_EQ(t.put(n, keys.data(), values.data(), bytes, answers.data()), status::no_space);
  for (status answer : answers) ASSERT_EQ(answer, status::ok);
  EXPECT_EQ(t.find_async(1, keys.data(), values.data(), bytes, answers.data()), status::io_error);
  std::string why;
  EXPECT_EQ(t.wait(nullptr, &why), status::io_error);
  EXPECT_NE(why.find("no memory on the device"), std::string::npos) << why;
  EXPECT_EQ(t.size(), n);
  EXPECT_TRUE(t.check().ok);
  EXPECT_EQ(t.erase(n - 1, keys.data(), answers.data()), status::ok) << "the pool goes on";
  EXPECT_EQ(t.size(), 1u);
  ASSERT_EQ(t.close(), status::ok);
}

TEST(GpuRowsOpen, ACopyThatCannotFollowAReserve) {
  scratch_folder folder;
  gpu::table t = open_in_lockstep(folder.file("a"), gpu::table_place::device_mirror, false, 600'000);
  EXPECT_EQ(t.reserve(100'000), status::no_space);
  std::string why;
  EXPECT_EQ(t.wait(nullptr, &why), status::io_error);
  EXPECT_NE(why.find("no memory on the device"), std::string::npos) << why;
  EXPECT_GE(t.info().slots, 100'000u);
}

TEST(GpuRowsOpen, ArgumentsThatAreNone) {
  scratch_folder folder;
  gpu::table t = open_in_lockstep(folder.file("a"), gpu::table_place::pool);
  std::uint64_t key = 1;
  status answer{};
  EXPECT_EQ(t.put(1, nullptr, &key, 8, &answer), status::invalid_argument);
  EXPECT_EQ(t.put(1, &key, nullptr, 8, &answer), status::invalid_argument);
  EXPECT_EQ(t.put(1, &key, &key, 8, nullptr), status::invalid_argument);
  EXPECT_EQ(t.put(1, &key, &key, ~std::size_t{7}, &answer), status::invalid_argument);
  EXPECT_EQ(t.erase(1, nullptr, &answer), status::invalid_argument);
  EXPECT_EQ(t.erase(0, nullptr, nullptr), status::ok);
  EXPECT_EQ(t.put(1, &key, nullptr, 0, &answer), status::ok) << "an empty row";
  EXPECT_EQ(answer, status::ok);
  EXPECT_EQ(t.wait(), status::ok);
  EXPECT_EQ(t.size(), 1u);
}

TEST(GpuRowsOpen, ADeviceThatFails) {
  scratch_folder folder;
  auto device = std::make_unique<lockstep_device>();
  lockstep_device& d = *device;
  auto t = gpu::open_rows_on(std::move(device), folder.file("a"), {}, {});
  ASSERT_TRUE(t) << t.failure().message;
  std::vector<std::uint64_t> keys{1, 2}, values{3, 4};
  std::vector<status> answers(2);
  ASSERT_EQ(t->put(2, keys.data(), values.data(), 8, answers.data()), status::ok);
  d.refuses_launches = true;
  EXPECT_EQ(t->find_async(2, keys.data(), values.data(), 8, answers.data()), status::io_error);
  d.refuses_launches = false;
  ASSERT_EQ(t->find_async(2, keys.data(), values.data(), 8, answers.data()), status::ok);
  d.fails = true;
  ASSERT_EQ(t->put(2, keys.data(), values.data(), 8, answers.data()), status::ok) << "the processor's";
  for (int again = 0; again < 2; ++again) {
    std::string why;
    EXPECT_EQ(t->wait(nullptr, &why), status::io_error);
    EXPECT_EQ(why, "the device failed");
  }
  EXPECT_EQ(t->find_async(2, keys.data(), values.data(), 8, answers.data()), status::io_error);
  EXPECT_EQ(t->size(), 2u);
  ASSERT_EQ(t->close(), status::ok);
  auto pool = table::open(folder.file("a"), {.mode = open_mode::read_only});
  ASSERT_TRUE(pool) << pool.failure().message;
  EXPECT_TRUE(pool->info().clean) << "the device cannot have harmed the pool";
}

/// No byte of a pool leads a device outside of it.
TEST(GpuRowsOpen, RecordsThatAreNone) {
  scratch_folder folder;
  gpu::table t = open_in_lockstep(folder.file("a"), gpu::table_place::pool);
  std::uint64_t key = 7;
  status answer = status::damaged;
  ASSERT_EQ(t.put(1, &key, "0123456789abcdef", 16, &answer), status::ok);
  gpu::lent_rows home = gpu::lent_rows::none();
  t.view(home);
  std::vector<std::uint64_t> bytes(home.end / 8);
  std::memcpy(bytes.data(), home.base, home.end);
  gpu::lent_rows rows = home.copied_to(reinterpret_cast<std::byte*>(bytes.data()));
  process_medium m;
  gpu::lockstep_turns turns;
  gpu::lockstep_side<process_medium> side(m, turns);
  auto find = [&] {
    char value[16];
    std::uint32_t length = 0;
    return gpu::row_search(side, rows).find(&key, reinterpret_cast<std::byte*>(value), sizeof value, length);
  };
  ASSERT_EQ(find(), status::ok);
  std::uint64_t hash = rows.hash_of(&key);
  pm<std::uint64_t>* word = nullptr;
  for (unsigned lane = 0; lane < rows.table.lanes(); ++lane)
    if (load(m, rows.state_of(hash, lane)) == hash) word = &rows.value_of(hash, lane);
  ASSERT_NE(word, nullptr);
  std::uint64_t offset = load(m, *word);
  bytes[rows.end / 8 - 2] = 8 | std::uint64_t{16} << 32;  // a header that ends where the pool does
  for (std::uint64_t wrong : {std::uint64_t{0}, rows.heap_offset - 16, offset + 8, rows.end - 16, rows.end - 8, rows.end, ~std::uint64_t{15}}) {
    store(m, *word, wrong);
    EXPECT_EQ(find(), status::damaged) << wrong;
  }
  store(m, *word, offset);
  std::uint64_t& lengths = bytes[offset / 8];
  for (std::uint64_t wrong : {~std::uint64_t{0}, std::uint64_t{8} | std::uint64_t{0xffffffff} << 32, std::uint64_t{0xffffffff} | std::uint64_t{16} << 32}) {
    std::uint64_t right = std::exchange(lengths, wrong);
    EXPECT_EQ(find(), status::damaged) << wrong;
    lengths = right;
  }
  lengths = 9 | std::uint64_t{15} << 32;  // another key's
  EXPECT_EQ(find(), status::not_found);
  lengths = 8 | std::uint64_t{16} << 32;
  ASSERT_EQ(find(), status::ok);
  bytes[offset / 8 + 2] ^= 1;  // likewise
  EXPECT_EQ(find(), status::not_found);
}

/// Keys are compared, and not their hashes alone.
TEST(GpuRowsOpen, KeysOfOneHash) {
  scratch_folder folder;
  auto t = gpu::open_rows_on(std::make_unique<lockstep_device>(), folder.file("a"), {.settings = {{"key_bytes", 32}}}, {});
  ASSERT_TRUE(t) << t.failure().message;
  std::uint64_t key[4] = {1, 2, 3, 4}, other[4] = {1, 2, 3, 5};
  status answer = status::damaged;
  ASSERT_EQ(t->put(1, key, "0123456789abcdef", 16, &answer), status::ok);
  gpu::lent_rows home = gpu::lent_rows::none();
  t->view(home);
  std::vector<std::uint64_t> bytes(home.end / 8);
  std::memcpy(bytes.data(), home.base, home.end);
  gpu::lent_rows rows = home.copied_to(reinterpret_cast<std::byte*>(bytes.data()));
  process_medium m;
  gpu::lockstep_turns turns;
  gpu::lockstep_side<process_medium> side(m, turns);
  std::uint64_t hash = rows.hash_of(other), value = 0;
  for (unsigned lane = 0; lane < rows.table.lanes(); ++lane)  // as if both had one hash: the key that is there, where the other one would be
    if (load(m, rows.state_of(rows.hash_of(key), lane)) == rows.hash_of(key)) value = load(m, rows.value_of(rows.hash_of(key), lane));
  auto lie = [&](unsigned lane, const std::uint64_t* of) {
    store(m, rows.state_of(hash, lane), hash);
    store(m, rows.value_of(hash, lane), value);
    for (unsigned n = 0; n < 4; ++n) store(m, rows.key_of(hash, lane)[n], of[n]);
  };
  auto find = [&] {
    char into[16];
    std::uint32_t length = 0;
    return gpu::row_search(side, rows).find(other, reinterpret_cast<std::byte*>(into), sizeof into, length);
  };
  lie(3, key);
  EXPECT_EQ(find(), status::not_found);
  lie(12, other);
  EXPECT_EQ(find(), status::ok);
}

}  // namespace
}  // namespace durahash::test
