// What the tests of gpu::map share: a pool on a device of host threads, or on a GPU where there is
// one, and what must be in it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <span>

#include "durahash/map.hpp"
#include "gpu/map.hpp"
#include "test/gpu/lockstep_device.hpp"
#include "test/store/scratch.hpp"

namespace durahash::test {

using model = std::map<std::uint64_t, std::uint64_t>;

/// At the level power the pool is in memory: a plain file cannot promise it.
struct shape_case {
  std::string name;
  std::map<std::string, std::uint64_t> settings;
  bool to_power = false;
  gpu::table_place place = gpu::table_place::pool;
  unsigned cache_percent = 0;
  gpu::cache_policy policy = gpu::cache_policy::lfu;
  bool on_gpu = false;
};

/// An array that host and device see.
template <class T>
class shared_array {
 public:
  shared_array(gpu::device& d, std::size_t count)
      : device_(d), all_(static_cast<T*>(d.allocate(count * sizeof(T))), count) {}
  shared_array(gpu::device& d, const std::vector<T>& from) : shared_array(d, from.size()) {
    std::copy(from.begin(), from.end(), all_.begin());
  }
  ~shared_array() { device_.free(all_.data()); }
  shared_array(const shared_array&) = delete;
  shared_array& operator=(const shared_array&) = delete;
  T* data() const { return all_.data(); }
  std::size_t size() const { return all_.size(); }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }
  T& operator[](std::size_t i) const { return all_[i]; }

 private:
  gpu::device& device_;
  std::span<T> all_;
};
using device_words = shared_array<std::uint64_t>;
using shared_answers = shared_array<status>;

/// A pool, a device of so many warps, and what must be in it.
class GpuMap : public testing::TestWithParam<shape_case> {
 protected:
  result<gpu::map> open(unsigned warps = 2, std::uint64_t max_staged = 1 << 12) {
    options how;
    how.medium = GetParam().to_power ? medium_kind::memory : medium_kind::file;
    how.durability = GetParam().to_power ? durability_level::power : durability_level::process;
    if (!std::filesystem::exists(path())) how.settings = GetParam().settings;
    std::unique_ptr<gpu::device> made = std::make_unique<lockstep_device>(warps);
    if (GetParam().on_gpu) made = std::move(*gpu::cuda_device(0));
    device = made.get();
    return gpu::open_on(std::move(made), path(), how,
                        {.place = GetParam().place,
                         .cache_percent = GetParam().cache_percent,
                         .policy = GetParam().policy,
                         .max_staged = max_staged});
  }
  void SetUp() override {
    if (!GetParam().on_gpu) return;
    if (auto found = gpu::cuda_device(0); !found) {
      if (must_have_a_gpu()) FAIL() << found.failure().message;
      GTEST_SKIP() << "no GPU: " << found.failure().message;
    }
  }
  std::string path() const { return folder_.file("pool"); }
  /// A stream that is not the default one.
  gpu::stream beside() { return GetParam().on_gpu ? device->stream_for_copies() : this; }

  void expect_on_the_cpu(const model& wanted) {
    if (GetParam().to_power) return;
    auto pool = map<std::uint64_t, std::uint64_t>::open(path());
    ASSERT_TRUE(pool) << pool.failure().message;
    EXPECT_EQ(pool->size(), wanted.size());
    check_report report = pool->check();
    EXPECT_TRUE(report.ok) << report.violations.front();
    for (auto [key, value] : wanted) ASSERT_EQ(pool->get(key), value) << "key " << key;
  }
  /// Even the smallest of tables has room for these keys, which it does not have.
  void make_room(gpu::map& m, const device_words& keys) {
    shared_answers answers(*device, keys.size());
    ASSERT_EQ(m.put(keys.size(), keys.data(), keys.data(), answers.data()), status::ok);
    ASSERT_EQ(m.erase_async(keys.size(), keys.data(), answers.data()), status::ok);
    ASSERT_EQ(m.commit(), status::ok);
  }
  void expect_found(gpu::map& m, const model& wanted) {
    std::vector<std::uint64_t> all;
    for (auto [key, value] : wanted) all.push_back(key);
    device_words keys(*device, all), values(*device, all.size());
    shared_answers answers(*device, all.size());
    // without copies, and with
    for (int round = 0; round < (GetParam().cache_percent == 0 ? 1 : 2); ++round) {
      m.find_async(keys.size(), keys.data(), values.data(), answers.data());
      ASSERT_EQ(m.commit(), status::ok);
      for (std::size_t i = 0; i < keys.size(); ++i) {
        ASSERT_EQ(answers[i], status::ok) << "key " << keys[i];
        ASSERT_EQ(values[i], wanted.at(keys[i])) << "key " << keys[i];
      }
      if (GetParam().cache_percent == 0) continue;
      ASSERT_EQ(m.load_cache(), status::ok);
      EXPECT_GT(m.cache().copies, 0u);
    }
  }

  gpu::device* device = nullptr;

 private:
  scratch_folder folder_;
};

/// Each also on a GPU.
inline std::vector<shape_case> and_on_a_gpu(std::vector<shape_case> all) {
  for (std::size_t i = 0, count = all.size(); i < count; ++i) {
    shape_case on_gpu = all[i];
    on_gpu.name += "_gpu";
    on_gpu.on_gpu = true;
    all.push_back(on_gpu);
  }
  return all;
}

inline std::vector<shape_case> cached_cases() {
  return and_on_a_gpu({{"levels2_hashes2_slots8_cached", {}, false, gpu::table_place::pool, 30},
                       {"levels4_hashes2_slots4_cached_lru_to_power",
                        {{"levels", 4}, {"hashes", 2}, {"slots", 4}},
                        true,
                        gpu::table_place::pool,
                        60,
                        gpu::cache_policy::lru},
                       {"levels1_hashes2_slots16_cached_random_mirrored_on_the_host",
                        {{"levels", 1}, {"hashes", 2}, {"slots", 16}},
                        false,
                        gpu::table_place::host_mirror,
                        90,
                        gpu::cache_policy::random}});
}

inline std::vector<shape_case> every_case() {
  std::vector<shape_case> all = and_on_a_gpu(
      {{"levels2_hashes2_slots8", {}},
       {"levels1_hashes2_slots16", {{"levels", 1}, {"hashes", 2}, {"slots", 16}}},
       {"levels4_hashes2_slots4", {{"levels", 4}, {"hashes", 2}, {"slots", 4}}},
       {"levels4_hashes4_slots2", {{"levels", 4}, {"hashes", 4}, {"slots", 2}}},
       {"levels1_hashes1_slots2", {{"levels", 1}, {"hashes", 1}, {"slots", 2}}},
       {"levels2_hashes2_slots8_to_power", {}, true},
       {"levels4_hashes2_slots4_to_power", {{"levels", 4}, {"hashes", 2}, {"slots", 4}}, true},
       {"levels2_hashes2_slots8_mirrored_on_the_host", {}, false, gpu::table_place::host_mirror},
       {"levels2_hashes2_slots8_mirrored", {}, false, gpu::table_place::device_mirror},
       {"levels4_hashes2_slots4_mirrored_to_power",
        {{"levels", 4}, {"hashes", 2}, {"slots", 4}},
        true,
        gpu::table_place::device_mirror}});
  for (const shape_case& each : cached_cases()) all.push_back(each);
  return all;
}

inline std::vector<std::uint64_t> random_words(std::size_t count, std::mt19937_64& random) {
  std::vector<std::uint64_t> words(count);
  for (std::uint64_t& word : words) word = random();
  return words;
}

}  // namespace durahash::test
