// A copy that takes long, of a pool with a log: writers go on, and the log goes round behind them.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "disk/log_format.hpp"
#include "disk/planted.hpp"
#include "disk_pool.hpp"

namespace durahash::test {
namespace {

double figure(table& pool, std::string_view wanted) {
  for (const auto& [name, value] : pool.stats().figures)
    if (name == wanted) return value;
  return -1;
}

class SlowBackup : public testing::TestWithParam<durability_level> {};
INSTANTIATE_TEST_SUITE_P(All, SlowBackup,
                         testing::Values(durability_level::power, durability_level::power_buffered),
                         [](const auto& one) { return std::string(name_of(one.param)); });

/// The copy goes on, page by page, until the log has gone round three times.
TEST_P(SlowBackup, HoldsBackNoLog) {
  const disk_setup with{engine_kind::turbo, data_kind::u64, GetParam(), 332 << 10};
  constexpr std::uint64_t keys = 20'000;
  scratch_folder folder(disk_folder());
  std::string path = folder.file("pool.dh"), copy = folder.file("copy.dh");
  auto pool = table::open(path, with.how());
  ASSERT_TRUE(pool) << pool.failure().message;
  std::vector<std::string> names, values;
  for (std::uint64_t n = 0; n < keys; ++n)
    names.push_back(key_of(n)), values.push_back(value_of(with, 0));
  std::vector<std::string_view> k(names.begin(), names.end()), v(values.begin(), values.end());
  std::vector<status> answers(keys);
  pool->put_many(k, v, answers);
  ASSERT_EQ(pool->sync(), status::ok);

  std::atomic<bool> over{false};
  std::thread writer([&] {
    for (std::uint64_t next = 1; !over; ++next) {
      for (std::string& value : values) value = value_of(with, next);
      for (std::size_t i = 0; i < keys; ++i) v[i] = values[i];
      for (std::size_t i = 0; i < keys && !over; i += 500) {
        pool->put_many(std::span(k).subspan(i, 500), std::span(v).subspan(i, 500),
                       std::span(answers).subspan(i, 500));
        for (std::size_t n = i; n < i + 500; ++n) EXPECT_EQ(answers[n], status::ok);
      }
    }
  });
  const double lines = figure(*pool, "log_lines"), checkpoints = figure(*pool, "checkpoints");
  const double slots = (332 << 10) / sizeof(log_entry);
  double longest_log = 0;
  auto gone_round = [&] { return (figure(*pool, "log_lines") - lines) / slots; };
  // by a thread of its own: steps are told of one thread's calls
  error answer{status::ok, {}};
  std::thread copying([&] {
    std::uint64_t pages = 0;
    at_disk_step = [&](std::string_view name) {
      if (name != "a page is looked at for a copy" || ++pages != 40) return;
      auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
      while (gone_round() < 3 && std::chrono::steady_clock::now() < until) {
        longest_log = std::max(longest_log, figure(*pool, "log_file_bytes"));
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    };
    answer = pool->backup(copy);
    at_disk_step = nullptr;
  });
  copying.join();
  over = true;
  writer.join();
  ASSERT_EQ(answer.code, status::ok) << answer.message;
  EXPECT_GE(gone_round(), 3);
  EXPECT_LE(longest_log, log_entries_offset + slots * sizeof(log_entry));
  EXPECT_GE(figure(*pool, "checkpoints") - checkpoints, 3);
  auto copied = table::open(copy, with.how());
  ASSERT_TRUE(copied) << copied.failure().message;
  EXPECT_TRUE(copied->info().clean);
  EXPECT_EQ(copied->size(), keys);
  // batches are written in turn: in one moment the first ones have a version, the one under way
  // some of it, the others the one before
  std::uint64_t changes = 0, before = 0;
  for (std::uint64_t n = 0; n < keys; ++n) {
    auto value = copied->get(key_of(n));
    ASSERT_TRUE(value);
    std::uint64_t found;
    std::memcpy(&found, value->data(), 8);
    if (n % 500 == 0) {
      changes += n > 0 && found != before;
      ASSERT_TRUE(n == 0 || found == before || found + 1 == before) << n;
      before = found;
    }
    ASSERT_TRUE(found == before || found + 1 == before || found == before + 1) << n;
  }
  EXPECT_LE(changes, 1u);
}

}  // namespace
}  // namespace durahash::test
