// A loss of power at any moment of a run, on a disk of which each sector that nobody waited for is
// old or new.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>

#include "cut_run.hpp"
#include "disk/planted.hpp"

namespace durahash::test {
namespace {

class PowerCut : public testing::TestWithParam<disk_setup> {};
INSTANTIATE_TEST_SUITE_P(All, PowerCut, testing::ValuesIn(tried_disk_setups()), disk_setup_name());

/// Cuts a run at drawn moments; and, what the next opening wrote, once more. Nothing, or the first
/// complaint.
struct seen_in_runs {
  double checkpoints = 0, growths = 0;
};

/// The pool's file is whole by itself once close has answered. Nothing, or what is wrong.
std::string without_its_log(const recorded_run& closed, const std::string& path,
                            random_stream draw) {
  closed.restore(closed.last, draw);
  std::filesystem::remove(path + "-log");
  auto pool = table::open(path, closed.with.how());
  if (!pool) return pool.failure().message;
  return pool->info().clean ? closed.judge(*pool, closed.last) : "it is not clean";
}

std::string cut_up(const disk_setup& with, std::uint64_t threads, std::uint64_t versions,
                   std::uint64_t cuts, std::uint64_t seed, seen_in_runs* seen = nullptr) {
  random_stream draw(seed);
  small_first_logs grow(with.durability == durability_level::power ? 1 : 1 + draw.below(3));
  scratch_folder folder(disk_folder());
  std::string path = folder.file("pool.dh");
  if (auto pool = table::open(path, with.how()); !pool) return pool.failure().message;
  recorded_run whole(path, with, threads, versions, draw);
  if (seen != nullptr) *seen = {whole.checkpoints, whole.growths};
  for (int i = 0; i < 4; ++i)
    if (std::string wrong = without_its_log(whole, path, random_stream(draw.next()));
        !wrong.empty())
      return wrong + " (cut behind its close, and opened without its log, seed " +
             std::to_string(seed) + ")";
  for (std::uint64_t i = 0; i < cuts; ++i) {
    std::uint64_t moment =
        i == 0 ? whole.last : whole.first + draw.below(whole.last - whole.first + 1);
    std::string where = " (cut at " + std::to_string(moment) + " of " + std::to_string(whole.last) +
                        ", seed " + std::to_string(seed) + ")";
    random_stream same = draw;
    whole.restore(moment, draw);
    pool_state found;
    if (with.has_reader_beside()) {  // who only reads does without the recovery
      auto pool = table::open(path, {.mode = open_mode::read_beside});
      if (!pool) return pool.failure().message + where;
      if (auto complaint = whole.judge(*pool, moment); !complaint.empty())
        return complaint + ", as read without an opening" + where;
    }
    {
      auto pool = table::open(path, with.how());
      if (!pool) return pool.failure().message + where;
      if (auto complaint = whole.judge(*pool, moment); !complaint.empty()) return complaint + where;
      found = state_of(*pool, 0, keys_each * threads);
    }
    // A second cut, in what the next opening wrote on the keys of one thread. Those of the others
    // were on the disk when it began.
    whole.restore(moment, same);
    recorded_run next(path, with, 1, 30, draw);
    std::uint64_t again = next.first + draw.below(next.last - next.first + 1);
    next.restore(again, draw);
    auto pool = table::open(path, with.how());
    if (!pool) return pool.failure().message + where + ", and at " + std::to_string(again);
    pool_state after = state_of(*pool, keys_each, keys_each * (threads - 1));
    std::erase_if(found, [](const auto& record) { return record.first < keys_each; });
    if (after != found)
      return "records that nobody wrote to have changed" + where + ", and at " +
             std::to_string(again);
    if (check_report report = pool->check(); !report.ok)
      return report.violations.front() + where + ", and at " + std::to_string(again);
    if (pool->close() != status::ok) return "it does not close" + where;
    auto closed = table::open(path, with.how());
    if (!closed || !closed->info().clean) return "it is not clean" + where;
  }
  return {};
}

TEST_P(PowerCut, LeavesWhatWasAcknowledged) {
  bool strict = GetParam().durability == durability_level::power;
  seen_in_runs seen;
  EXPECT_EQ(cut_up(GetParam(), 1, strict ? 400 : 3000, long_run() ? 300 : 12,
                   stream_seed("PowerCut." + GetParam().name()), &seen),
            "");
  EXPECT_GT(seen.growths, 0) << "the log has not grown";
  if (!strict) {
    EXPECT_GT(seen.checkpoints, 0) << "the log has not gone round";
  }
}

TEST_P(PowerCut, LeavesWhatThreadsWereTold) {
  bool strict = GetParam().durability == durability_level::power;
  EXPECT_EQ(cut_up(GetParam(), 3, strict ? 150 : 1000, long_run() ? 300 : 8,
                   stream_seed("PowerCutThreads." + GetParam().name())),
            "");
}

/// Nothing, or what a reader was given and a later moment undoes.
/// `own_handle`: the reader is as one of another process, and follows the log.
std::string undone_reads(const disk_setup& with, std::size_t reads_tried, bool own_handle = false) {
  random_stream draw(stream_seed("PowerCutReader." + with.name()));
  scratch_folder folder(disk_folder());
  std::string path = folder.file("pool.dh");
  constexpr std::uint64_t keys = 3;
  {
    auto pool = table::open(path, with.how());
    for (std::uint64_t n = 0; n < keys; ++n)
      EXPECT_EQ(pool->put(key_of(n), value_of(with, 0)), status::ok);
  }
  struct sight {
    std::uint64_t moment, key, version;
  };
  std::vector<sight> seen;
  disk_recorder disk({path, path + "-log"});
  {
    auto pool = table::open(path, with.how());
    std::optional<table> beside;
    if (own_handle) beside.emplace(std::move(*table::open(path, {.mode = open_mode::read_beside})));
    const table& seen_by = beside ? *beside : *pool;
    std::atomic<bool> done{false};
    std::thread reader([&] {
      random_stream own(1);
      std::string value;
      while (!done) {
        std::uint64_t n = own.below(keys), version = 0;
        if (own.one_in(4)) {
          cursor at;
          bool first = true;
          seen_by.scan(at, 1, [&](std::string_view key, std::string_view found) {
            if (!std::exchange(first, false)) return;
            std::memcpy(&n, key.data(), 8), std::memcpy(&version, found.data(), 8);
          });
          if (first) continue;
        } else if (seen_by.get(key_of(n), value) == status::ok) {
          std::memcpy(&version, value.data(), 8);
        }
        if (seen.empty() || version != seen.back().version)
          seen.push_back({disk.now(), n, version});
      }
    });
    for (std::uint64_t version = 1; version <= 600; ++version)
      EXPECT_EQ(pool->put(key_of(version % keys), value_of(with, version)), status::ok);
    done = true;
    reader.join();
  }
  disk.stop();
  if (seen.empty()) return "the reader has seen nothing";
  for (std::size_t i = 0; i < reads_tried; ++i) {
    const sight& s = seen[draw.below(seen.size())];
    for (const auto& [name, bytes] :
         disk.after_cut(s.moment, disk_recorder::unwaited::all_old, draw))
      write_file(name, bytes);
    auto pool = table::open(path, with.how());
    if (!pool) return pool.failure().message;
    auto value = pool->get(key_of(s.key));
    std::uint64_t version = 0;
    if (value) std::memcpy(&version, value->data(), 8);
    if (!value || version < s.version)
      return "key " + std::to_string(s.key) + ", as read at " + std::to_string(s.moment);
  }
  return {};
}

/// What a reader was given is there after a cut at any later moment.
TEST_P(PowerCut, UndoesNothingThatAReaderWasGiven) {
  if (GetParam().durability != durability_level::power) GTEST_SKIP() << "readers do not wait there";
  EXPECT_EQ(undone_reads(GetParam(), long_run() ? 200 : 25), "");
}

/// Likewise of one in another process.
TEST_P(PowerCut, UndoesNothingThatAReaderBesideWasGiven) {
  if (!GetParam().has_reader_beside()) GTEST_SKIP() << "the engine has no reader beside a writer";
  if (GetParam().durability != durability_level::power) GTEST_SKIP() << "readers do not wait there";
  EXPECT_EQ(undone_reads(GetParam(), long_run() ? 200 : 25, true), "");
}

TEST(DiskOrders, AReaderHasToWait) {
  std::string undone;
  planted_disk_bug = "who-logs-nothing-waits-for-nothing";
  for (int tries = 0; tries < 5 && undone.empty(); ++tries)
    undone = undone_reads({engine_kind::turbo, data_kind::bytes, durability_level::power}, 200);
  planted_disk_bug = nullptr;
  EXPECT_NE(undone, "") << "nothing shows that it is needed";
}

// ------------------------------------------------------------------------------- each order needed

struct planted_order {
  const char* name;
  durability_level durability;
};

class DiskSteps : public testing::TestWithParam<planted_order> {};

/// Each is a step of the log, the checkpoint or the replay that is left out.
INSTANTIATE_TEST_SUITE_P(
    All, DiskSteps,
    testing::Values(
        planted_order{"a-group-nobody-waits-for", durability_level::power},
        planted_order{"a-group-of-two-writes-waits-for-one", durability_level::power_buffered},
        planted_order{"a-page-before-its-log", durability_level::power_buffered},
        planted_order{"a-record-before-its-pages", durability_level::power_buffered},
        planted_order{"a-mark-that-is-not-set-again", durability_level::power_buffered},
        planted_order{"replay-goes-past-a-hole", durability_level::power_buffered},
        planted_order{"a-log-that-grows-before-its-record", durability_level::power_buffered},
        planted_order{"a-file-longer-than-the-disk-knows", durability_level::power_buffered},
        planted_order{"a-checkpoint-before-its-record", durability_level::power_buffered},
        planted_order{"a-close-before-its-record", durability_level::power_buffered},
        planted_order{"a-record-in-the-place-of-the-one-before", durability_level::power_buffered},
        planted_order{"seals-are-believed", durability_level::power_buffered},
        planted_order{"a-record-before-its-header", durability_level::power},
        planted_order{"places-before-their-record", durability_level::power}),
    [](const auto& one) {
      std::string name = one.param.name;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

TEST_P(DiskSteps, IsNeeded) {
  std::uint64_t seed = stream_seed(GetParam().name);
  std::string complaint;
  planted_disk_bug = GetParam().name;
  for (int tries = 0; tries < 12 && complaint.empty(); ++tries)
    for (engine_kind engine : {engine_kind::turbo, engine_kind::level}) {
      if (!complaint.empty()) break;
      bool strict = GetParam().durability == durability_level::power;
      complaint = cut_up({engine, data_kind::bytes, GetParam().durability}, 1, strict ? 200 : 3000,
                         20, mixed(seed + static_cast<unsigned>(tries)));
    }
  planted_disk_bug = nullptr;
  EXPECT_NE(complaint, "") << "nothing shows that it is needed";
}

}  // namespace
}  // namespace durahash::test
