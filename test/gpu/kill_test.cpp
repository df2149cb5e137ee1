// SIGKILL while a device writes, within kernels too: the pool is opened on the CPU, and all that
// was committed is there. On threads in lockstep, and on a GPU where there is one.
#include <gtest/gtest.h>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>

#include "durahash/map.hpp"
#include "durahash/table.hpp"
#include "gpu/map.hpp"
#include "gpu/table.hpp"
#include "test/gpu/lockstep_device.hpp"
#include "test/store/child.hpp"
#include "test/store/scratch.hpp"

namespace durahash::test {
namespace {

constexpr std::size_t batch_size = 256;
constexpr std::uint64_t keys_in_turn = 8192;

/// Batch n writes these keys, over and over the same ones; the value tells which batch it was.
std::uint64_t key_of(std::uint64_t batch, std::size_t i) {
  return (batch * batch_size + i) % keys_in_turn * 0x9e3779b97f4a7c15u;
}
std::uint64_t value_of(std::uint64_t batch) { return batch + 1; }

std::unique_ptr<gpu::device> device_named(const std::string& name) {
  if (name != "gpu") return std::make_unique<lockstep_device>(2);
  auto found = gpu::cuda_device(0);
  return found ? std::move(*found) : nullptr;
}

/// What is killed: writes batch after batch, and says how many a commit has returned for.
int write_until_killed(const child_arguments& arguments) {
  auto d = device_named(arguments[1]);
  shared_words committed(arguments[3], 1);
  auto* keys = static_cast<std::uint64_t*>(d->allocate(batch_size * 8, gpu::memory_kind::shared));
  auto* values = static_cast<std::uint64_t*>(d->allocate(batch_size * 8, gpu::memory_kind::shared));
  auto* answers = static_cast<status*>(d->allocate(batch_size, gpu::memory_kind::shared));
  auto opened = gpu::open_on(std::move(d), arguments[0], {},
                             {.place = static_cast<gpu::table_place>(std::stoi(arguments[2]))});
  if (!opened) return 3;
  for (std::uint64_t batch = 0;; ++batch) {
    for (std::size_t i = 0; i < batch_size; ++i)
      keys[i] = key_of(batch, i), values[i] = value_of(batch);
    if (opened->put(batch_size, keys, values, answers) != status::ok) return 4;
    committed[0] = batch + 1;
  }
}
const child_role writes_until_killed("write_on_a_device", write_until_killed);

// The same of rows: their bytes tell the batch, and the check reads their checksums.
constexpr std::size_t row_words = 16;

int write_rows_until_killed(const child_arguments& arguments) {
  auto d = device_named(arguments[1]);
  shared_words committed(arguments[3], 1);
  auto shared = [&](std::size_t bytes) { return d->allocate(bytes, gpu::memory_kind::shared); };
  auto* keys = static_cast<std::uint64_t*>(shared(batch_size * 8));
  auto* rows = static_cast<std::uint64_t*>(shared(batch_size * row_words * 8));
  auto* answers = static_cast<status*>(shared(batch_size));
  auto opened =
      gpu::open_rows_on(std::move(d), arguments[0], {},
                        {.place = static_cast<gpu::table_place>(std::stoi(arguments[2]))});
  if (!opened) return 3;
  for (std::uint64_t batch = 0;; ++batch) {
    for (std::size_t i = 0; i < batch_size; ++i) keys[i] = key_of(batch, i);
    std::fill_n(rows, batch_size * row_words, value_of(batch));
    if (opened->put(batch_size, keys, rows, row_words * 8, answers) != status::ok) return 4;
    committed[0] = batch + 1;
  }
}
const child_role writes_rows_until_killed("write_rows_on_a_device", write_rows_until_killed);

struct kill_case {
  std::string on;
  gpu::table_place place;
  std::string name;
};
const kill_case every_kill[] = {{"lockstep", gpu::table_place::pool, "pool"},
                                {"lockstep", gpu::table_place::host_mirror, "host_mirror"},
                                {"lockstep", gpu::table_place::device_mirror, "device_mirror"},
                                {"gpu", gpu::table_place::pool, "pool_gpu"},
                                {"gpu", gpu::table_place::host_mirror, "host_mirror_gpu"},
                                {"gpu", gpu::table_place::device_mirror, "device_mirror_gpu"}};
class GpuKill : public testing::TestWithParam<kill_case> {};
INSTANTIATE_TEST_SUITE_P(Every, GpuKill, testing::ValuesIn(every_kill),
                         [](const auto& each) { return each.param.name; });

/// Kills writers of that role again and again. `Opened` is what reads their pools; find(pool, key)
/// a key's value, or nothing.
template <class Opened, class Find>
void kill_writers(const kill_case& how, const std::string& role, Find&& find) {
  const auto& [on, place, name] = how;
  if (on == "gpu")
    if (auto found = gpu::cuda_device(0); !found) {
      if (must_have_a_gpu()) FAIL() << found.failure().message;
      GTEST_SKIP() << "no GPU: " << found.failure().message;
    }
  scratch_folder folder;
  std::mt19937_64 random(std::random_device{}());
  std::uint64_t committed_in_all = 0;
  int kills = on == "gpu" && interpreted() ? 3 : 12;
  for (int kill = 0; kill < kills; ++kill) {
    std::string path = folder.file("pool" + std::to_string(kill));
    shared_words told(folder.file("told" + std::to_string(kill)), 1);
    child_process victim(role, {path, on, std::to_string(static_cast<int>(place)),
                                folder.file("told" + std::to_string(kill))});
    std::uint64_t least = random() % 60;
    while (told[0] < least && victim.running()) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
    child_end end = victim.kill();
    ASSERT_EQ(end.signal, SIGKILL) << "it ended by itself, with " << end.exit_code;
    std::uint64_t committed = told[0];
    committed_in_all += committed;
    if (committed == 0) continue;  // perhaps there is no pool yet

    auto pool = Opened::open(path);
    ASSERT_TRUE(pool) << pool.failure().message;
    check_report report = pool->check();
    ASSERT_TRUE(report.ok) << report.violations.front();
    constexpr std::uint64_t in_a_turn = keys_in_turn / batch_size;
    for (std::uint64_t slot = 0; slot < in_a_turn; ++slot)
      for (std::size_t i = 0; i < batch_size; ++i) {
        // The last committed batch of these keys, or the one under way if it writes them.
        std::uint64_t last =
            slot < committed ? slot + (committed - 1 - slot) / in_a_turn * in_a_turn + 1 : 0;
        std::optional<std::uint64_t> found = find(*pool, key_of(slot, i));
        bool may_be_next = committed % in_a_turn == slot && found == value_of(committed);
        if (last == 0)
          EXPECT_TRUE(!found || may_be_next)
              << "kill " << kill << ": a key of batch " << slot
              << ", which was never written, has the value " << *found;
        else
          ASSERT_TRUE(found == last || may_be_next)
              << "kill " << kill << ": after " << committed << " batches a key of batch " << last
              << " has " << found.value_or(0);
      }
  }
  EXPECT_GT(committed_in_all, 0u);
}

TEST_P(GpuKill, WhatWasCommittedIsThere) {
  kill_writers<map<std::uint64_t, std::uint64_t>>(
      GetParam(), "write_on_a_device", [](auto& pool, std::uint64_t key) { return pool.get(key); });
}

TEST_P(GpuKill, RowsThatWereCommittedAreThere) {
  if (GetParam().place != gpu::table_place::pool) GTEST_SKIP() << "the processor writes those";
  kill_writers<table>(GetParam(), "write_rows_on_a_device",
                      [](auto& pool, std::uint64_t key) -> std::optional<std::uint64_t> {
                        auto row = pool.get({reinterpret_cast<const char*>(&key), sizeof key});
                        if (!row) return std::nullopt;
                        std::uint64_t first = 0;
                        EXPECT_EQ(row->size(), row_words * 8);
                        std::memcpy(&first, row->data(), sizeof first);
                        for (std::size_t at = 0; at < row->size(); at += 8)
                          EXPECT_EQ(std::memcmp(row->data() + at, &first, 8), 0) << "a torn row";
                        return first;
                      });
}

}  // namespace
}  // namespace durahash::test
