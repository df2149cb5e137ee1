// Batches in streams of their own. Those of these tests do nothing until somebody waits for them,
// so that a wait that is missing is seen.
#include "test/gpu/map_rig.hpp"
#include "test/gpu/rows_rig.hpp"

namespace durahash::test {
namespace {

/// Any address names a stream of the lockstep device.
int some_streams[2];
const gpu::stream first_stream = &some_streams[0], second_stream = &some_streams[1];

struct batch_of {
  explicit batch_of(std::size_t n, std::uint64_t first = 0)
      : keys(n), values(n), answers(n, status::damaged) {
    for (std::size_t i = 0; i < n; ++i) keys[i] = first + i, values[i] = (first + i) * 3;
  }
  std::vector<std::uint64_t> keys, values;
  std::vector<status> answers;
};

gpu::map open_in_lockstep(const std::string& path, const gpu::device_options& on) {
  auto device = std::make_unique<lockstep_device>();
  device->lazy = true;
  auto made = gpu::open_on(std::move(device), path, {}, on);
  if (!made) throw std::runtime_error(made.failure().message);
  return std::move(*made);
}

TEST(GpuStreams, AGrowthWaitsForTheWritesOfOthers) {
  scratch_folder folder;
  gpu::map m = open_in_lockstep(folder.file("a"), {.place = gpu::table_place::pool});
  std::uint64_t next = 0;
  std::vector<batch_of> all;
  for (int round = 0; round < 12; ++round) {
    std::uint64_t slots = m.info().slots;
    batch_of beside(slots / 8 + 1, next);
    next += beside.keys.size();
    batch_of growing(slots + 1, next);  // they may be first, and find every slot empty
    next += growing.keys.size();
    if (growing.keys.size() > 20'000) break;
    ASSERT_EQ(m.put_async(beside.keys.size(), beside.keys.data(), beside.values.data(),
                          beside.answers.data(), first_stream),
              status::ok);
    ASSERT_EQ(m.put(growing.keys.size(), growing.keys.data(), growing.values.data(),
                    growing.answers.data(), second_stream),
              status::ok);
    ASSERT_EQ(m.commit(first_stream), status::ok);
    EXPECT_GT(m.info().slots, slots) << "it did not grow";
    all.push_back(std::move(beside));
    all.push_back(std::move(growing));
  }
  ASSERT_GE(all.size(), 6u);
  std::size_t lost = 0, there = 0;
  for (batch_of& b : all) {
    std::vector<std::uint64_t> found(b.keys.size());
    std::vector<status> answers(b.keys.size());
    ASSERT_EQ(
        m.find_async(b.keys.size(), b.keys.data(), found.data(), answers.data(), first_stream),
        status::ok);
    ASSERT_EQ(m.commit(first_stream), status::ok);
    for (std::size_t i = 0; i < b.keys.size(); ++i) {
      if (b.answers[i] != status::ok) continue;  // beside a growth its places may have been taken
      ++there;
      lost += answers[i] != status::ok || found[i] != b.values[i];
    }
  }
  EXPECT_EQ(lost, 0u) << "of " << there << " that were put";
  EXPECT_EQ(m.size(), there);
  EXPECT_TRUE(m.check().ok);
}

TEST(GpuStreams, WhatIsStagedIsOfOneStream) {
  scratch_folder folder;
  gpu::map m = open_in_lockstep(folder.file("a"), {.place = gpu::table_place::host_mirror});
  batch_of one(100), other(100, 100);
  ASSERT_EQ(m.reserve(1000), status::ok);
  ASSERT_EQ(m.put_async(one.keys.size(), one.keys.data(), one.values.data(), one.answers.data(),
                        first_stream),
            status::ok);
  EXPECT_EQ(m.put_async(other.keys.size(), other.keys.data(), other.values.data(),
                        other.answers.data(), second_stream),
            status::invalid_argument);
  EXPECT_EQ(other.answers, std::vector<status>(100, status::damaged))
      << "a batch that was not taken has answers";
  ASSERT_EQ(m.commit(second_stream), status::ok);
  ASSERT_EQ(m.put_async(other.keys.size(), other.keys.data(), other.values.data(),
                        other.answers.data(), second_stream),
            status::ok);
  ASSERT_EQ(m.commit(second_stream), status::ok);
  for (const batch_of& b : {one, other}) EXPECT_EQ(b.answers, std::vector<status>(100, status::ok));
  EXPECT_EQ(m.size(), 200u);
}

TEST(GpuStreams, AFullPoolAnswersForEveryOperation) {
  scratch_folder folder;
  for (gpu::table_place place : {gpu::table_place::pool, gpu::table_place::host_mirror}) {
    std::string path = folder.file(place == gpu::table_place::pool ? "a" : "b");
    auto made = gpu::open_on(std::make_unique<lockstep_device>(), path, {.max_bytes = 1u << 20},
                             {.place = place, .max_staged = 3000});
    ASSERT_TRUE(made) << made.failure().message;
    batch_of b(100'000);
    EXPECT_EQ(made->put(b.keys.size(), b.keys.data(), b.values.data(), b.answers.data()),
              status::no_space);
    auto of = [&](status answer) {
      return static_cast<std::size_t>(std::count(b.answers.begin(), b.answers.end(), answer));
    };
    EXPECT_GT(of(status::ok), 1000u);
    EXPECT_GT(of(status::no_space), 1000u);
    EXPECT_EQ(of(status::ok) + of(status::no_space), b.keys.size());
    EXPECT_EQ(made->size(), of(status::ok));
  }
}

TEST(GpuStreams, AnExportNoticesThatRecordsMayHaveMoved) {
  scratch_folder folder;
  gpu::map m = open_in_lockstep(folder.file("a"), {.place = gpu::table_place::pool});
  batch_of b(5000);
  ASSERT_EQ(m.insert(b.keys.size(), b.keys.data(), b.values.data(), b.answers.data()), status::ok);
  std::uint64_t slots = m.info().slots;
  ASSERT_EQ(m.compact(), status::ok);
  gpu::map::export_cursor at;
  std::vector<std::uint64_t> keys(64), values(64);
  std::size_t exported = 0;
  ASSERT_EQ(m.export_batch(at, keys.size(), keys.data(), values.data(), exported), status::ok);
  ASSERT_FALSE(at.done);
  ASSERT_EQ(m.reserve(2 * slots), status::ok);
  ASSERT_EQ(m.compact(), status::ok);  // as large as it was
  EXPECT_EQ(m.export_batch(at, keys.size(), keys.data(), values.data(), exported),
            status::mismatch);
  EXPECT_EQ(exported, 0u);
  at = {};
  std::size_t all = 0;
  while (!at.done) {
    ASSERT_EQ(m.export_batch(at, keys.size(), keys.data(), values.data(), exported), status::ok);
    all += exported;
  }
  EXPECT_EQ(all, b.keys.size());
}

TEST(GpuStreams, StatsAreThoseOfTheTable) {
  scratch_folder folder;
  gpu::map m = open_in_lockstep(folder.file("a"), {.place = gpu::table_place::pool});
  batch_of b(5000);
  ASSERT_EQ(m.insert(b.keys.size(), b.keys.data(), b.values.data(), b.answers.data()), status::ok);
  double resizes = 0;
  for (const auto& [name, figure] : m.stats().figures)
    if (name == "resizes") resizes = figure;
  EXPECT_GE(resizes, 1);
  ASSERT_EQ(m.close(), status::ok);
  EXPECT_TRUE(m.stats().figures.empty());
}

/// A write waits for the finds before it, which answer what was there then: their records' cells
/// may be used again.
TEST(GpuStreams, AWriteOfRowsWaitsForFinds) {
  for (gpu::table_place place : {gpu::table_place::pool, gpu::table_place::device_mirror}) {
    scratch_folder folder;
    gpu::table t = open_rows_in_lockstep(folder.file("a"), place, true);
    std::vector<std::uint64_t> keys(500), values(2 * keys.size()), found(values.size());
    std::vector<status> done(keys.size());
    int a_stream = 0;
    for (std::uint64_t round = 0; round < 6; ++round) {
      for (std::size_t i = 0; i < keys.size(); ++i)
        keys[i] = i, values[2 * i] = values[2 * i + 1] = i << 32 | round;
      std::vector<status> answers(keys.size(), status::damaged);
      ASSERT_EQ(t.find_async(round == 0 ? 0 : keys.size(), keys.data(), found.data(), 16,
                             answers.data(), &a_stream),
                status::ok);
      ASSERT_EQ(t.put(keys.size(), keys.data(), values.data(), 16, done.data()), status::ok);
      for (std::size_t i = 0; round != 0 && i < keys.size(); ++i) {
        ASSERT_EQ(answers[i], status::ok) << "the write did not wait";
        ASSERT_EQ(found[2 * i], i << 32 | (round - 1));
        ASSERT_EQ(found[2 * i + 1], found[2 * i]);
      }
    }
  }
}

/// Threads that find and one that writes: each find answers one version of a row, whole, and none
/// older than the last that was written when it began.
TEST(GpuStreams, FindsOfRowsBesideWrites) {
  for (gpu::table_place place : {gpu::table_place::pool, gpu::table_place::device_mirror}) {
    scratch_folder folder;
    gpu::table t = open_rows_in_lockstep(folder.file("a"), place);
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
          EXPECT_EQ(
              t.find_async(n, keys.data(), found.data(), words * 8, answers.data(), &a_stream),
              status::ok);
          EXPECT_EQ(t.wait(&a_stream), status::ok);
          for (std::size_t i = 0; i < n; ++i) {
            EXPECT_EQ(answers[i], status::ok);
            EXPECT_GE(found[i * words], least);
            for (std::size_t w = 1; w < words; ++w)
              EXPECT_EQ(found[i * words + w], found[i * words]);
          }
        }
      });
    for (std::uint64_t version = 2; version < 30; ++version) write_version(version);
    over = true;
  }
}

}  // namespace
}  // namespace durahash::test
