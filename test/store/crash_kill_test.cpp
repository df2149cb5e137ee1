// A process is killed while it writes; whatever it was told is done must be there, and what it was
// not is there entirely or not at all.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "conformance.hpp"
#include "crash_lane.hpp"
#include "patched_pool.hpp"

namespace durahash::test {
namespace {

std::vector<setup> killed_setups() {
  return setups_where([](const setup& s) {
    return s.outlives_handle() && s.durability != durability_level::none &&
           s.place != place_kind::disk && s.place != place_kind::logged;
  });
}

void sleep_microseconds(std::uint64_t microseconds) {
  std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
}

/// A pool, and what each lane's records must be after the writers that were killed so far.
class killed_pool {
 public:
  explicit killed_pool(const lane_plan& plan)
      : plan_(plan),
        folder_(plan.with.folder()),
        path_(folder_.file("pool")),
        told_path_(folder_.file("told")),
        told_(told_path_, plan.lanes * lane_progress::words + 1),
        records_(plan.lanes),
        random_(mixed(plan.seed)),
        next_(plan.lanes) {
    auto made = open_subject(plan.with, path_, plan.with.create_options());
    if (!made) throw std::runtime_error(made.failure().message);
  }

  /// Runs the lanes [first, first + count) in a process of their own and kills it. It may not have
  /// opened the pool yet.
  void run_and_kill(std::uint64_t first, std::uint64_t count) {
    auto& opened = told_[told_.size() - 1];
    opened.store(0);
    for (std::uint64_t lane = first; lane < first + count; ++lane)
      progress(lane).finished = progress(lane).started = next_[lane];
    child_arguments arguments = {path_, told_path_, std::to_string(first), std::to_string(count)};
    for (const std::string& word : to_arguments(plan_)) arguments.push_back(word);
    child_process writer("write_lanes", arguments);
    bool early = random_.one_in(4);
    while (!early && opened.load() == 0 && writer.running()) sleep_microseconds(50);
    sleep_microseconds(random_.below(random_.one_in(3) ? 1'000 : 25'000));
    ASSERT_TRUE(writer.running()) << "the writer ended by itself";
    EXPECT_EQ(writer.kill().signal, SIGKILL);
    ++kills_;
    if (plan_.beside != 0) await_orphans();
  }

  /// Opens the pool and compares every record of every lane; what was in flight is taken as it is
  /// found.
  void verify() {
    options plain;
    plain.medium = plan_.with.medium();
    auto opened = open_subject(plan_.with, path_, plain);
    ASSERT_TRUE(opened) << opened.failure().message;
    subject& pool = **opened;
    bool clean = pool.pool().info().clean;
    check_report report = pool.pool().check();
    EXPECT_TRUE(report.ok) << (report.violations.empty() ? "" : report.violations.front());
    std::size_t expected = 0;
    for (std::uint64_t lane = 0; lane < plan_.lanes; ++lane) {
      verify_lane(pool, lane);
      expected += records_[lane].size();
    }
    EXPECT_EQ(pool.pool().size(), expected);
    EXPECT_EQ(contents_of(pool).size(), expected)
        << "a full scan counts other records than the lanes have";
    EXPECT_FALSE(clean && changed_ && plan_.reopen == 0 && plan_.beside == 0)
        << "the writer was killed after acknowledged changes";
    changed_ = false;
    ASSERT_EQ(pool.pool().close(), status::ok);
  }

  std::uint64_t operations() const { return operations_; }
  std::uint64_t kills() const { return kills_; }
  random_stream& random() { return random_; }

 private:
  lane_progress progress(std::uint64_t lane) { return lane_progress::of(told_, lane); }

  /// A child that the writer had just forked keeps the lock until it runs.
  void await_orphans() {
    int file = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_GE(file, 0);
    EXPECT_EQ(::flock(file, LOCK_EX), 0);
    ::close(file);
  }

  void verify_lane(subject& pool, std::uint64_t lane) {
    lane_records& records = records_[lane];
    auto before = [&](std::uint64_t key) {
      auto record = records.find(key);
      return record == records.end() ? std::nullopt : std::optional(record->second);
    };
    auto set = [&](std::uint64_t key, const std::optional<std::string>& value) {
      if (value) records[key] = *value;
      else records.erase(key);
    };
    for (std::uint64_t i = next_[lane]; i < progress(lane).finished; ++i, ++operations_) {
      lane_operation o = lane_operation::of(plan_, lane, i);
      for (std::uint64_t key : o.keys) {
        std::optional<std::string> now = after(plan_, o, key, before(key));
        changed_ = changed_ || now != before(key);
        set(key, now);
      }
    }
    if (progress(lane).started > progress(lane).finished) {
      lane_operation o = lane_operation::of(plan_, lane, progress(lane).finished);
      for (std::uint64_t key : o.keys) {
        std::optional<std::string> found = pool.get(nth_key(plan_.with, key));
        if (found != before(key)) {
          EXPECT_TRUE(found == after(plan_, o, key, before(key)))
              << "an operation in flight left something that is neither before nor after it";
          set(key, found);
        }
      }
    }
    next_[lane] = progress(lane).started;
    progress(lane).finished = next_[lane];
    expect_records(pool, lane);
  }

  void expect_records(subject& pool, std::uint64_t lane) {
    lane_records& records = records_[lane];
    std::uint64_t lost = 0, wrong = 0, undead = 0;
    for (std::uint64_t n = 0; n < plan_.keys_per_lane; ++n) {
      std::uint64_t key = n * plan_.lanes + lane;
      std::optional<std::string> found = pool.get(nth_key(plan_.with, key));
      auto wanted = records.find(key);
      if (wanted == records.end()) undead += found.has_value();
      else if (!found) ++lost;
      else wrong += *found != wanted->second;
    }
    EXPECT_EQ(lost, 0u) << "acknowledged records are gone";
    EXPECT_EQ(wrong, 0u) << "records hold another value than the acknowledged one";
    EXPECT_EQ(undead, 0u) << "erased records are back";
    std::string count =
        pool.get(nth_key(plan_.with, counter_key(plan_, lane))).value_or(word_bytes(0));
    EXPECT_EQ(bytes_word(count), records.contains(counter_key(plan_, lane))
                                     ? bytes_word(records[counter_key(plan_, lane)])
                                     : 0);
    EXPECT_GE(bytes_word(count), progress(lane).observed.load())
        << "a value that a reader was given is undone";
  }

  lane_plan plan_;
  scratch_folder folder_;
  std::string path_, told_path_;
  shared_words told_;
  std::vector<lane_records> records_;
  random_stream random_;
  std::vector<std::uint64_t> next_;  // first operation of each lane that is not in records_
  std::uint64_t operations_ = 0, kills_ = 0;
  // an acknowledged operation since the last clean close changed a record
  bool changed_ = false;
};

class Kill : public testing::TestWithParam<setup> {
 protected:
  /// Rounds of one to three writers, each killed; the second and third find the pool as their
  /// forerunner left it.
  void survives(std::string_view name, lane_plan plan, std::uint64_t lanes_at_once, int rounds) {
#ifdef DURAHASH_SANITIZED
    rounds /= 2;
#endif
    if (long_run()) rounds *= 5;
    plan.with = GetParam();
    plan.seed = stream_seed(plan.with.name() + "/" + std::string(name));
    SCOPED_TRACE("again with --seed " + std::to_string(run_seed()));
    killed_pool pool(plan);
    constexpr std::uint64_t some_operations = 100;  // a busy machine takes more rounds to get there
    for (int round = 0;
         (round < rounds || (pool.operations() <= some_operations && round < 20 * rounds)) &&
         !HasFailure();
         ++round) {
      SCOPED_TRACE("round " + std::to_string(round));
      std::uint64_t generations = 1 + pool.random().below(plan.lanes / lanes_at_once);
      for (std::uint64_t g = 0; g < generations && !HasFatalFailure(); ++g)
        pool.run_and_kill(g * lanes_at_once, lanes_at_once);
      if (!HasFatalFailure()) pool.verify();
    }
    EXPECT_GT(pool.operations(), some_operations)
        << "the writers were killed before they did anything";
    RecordProperty("kills", std::to_string(pool.kills()));
  }
};
INSTANTIATE_TEST_SUITE_P(Every, Kill, testing::ValuesIn(killed_setups()), setup_name());

TEST_P(Kill, KeepsEveryAcknowledgedWriteOfFewKeys) {
  survives("few", {.lanes = 3, .keys_per_lane = 50}, 1, 12);
}

TEST_P(Kill, KeepsEveryAcknowledgedWriteWhileTheTableGrows) {
  survives("growth", {.lanes = 3, .keys_per_lane = 20'000, .batch = 4}, 1, 8);
}

TEST_P(Kill, KeepsEveryAcknowledgedBatch) {
  survives("batches", {.lanes = 3, .keys_per_lane = 500, .batch = 2}, 1, 10);
}

TEST_P(Kill, KeepsEveryAcknowledgedWriteDuringCompact) {
  survives("compact", {.lanes = 3, .keys_per_lane = 2'000, .batch = 6, .compact = 40}, 1, 10);
}

TEST_P(Kill, KeepsEveryAcknowledgedWriteOfSeveralThreads) {
  survives("threads", {.lanes = 4, .keys_per_lane = 3'000, .batch = 6, .compact = 200}, 2, 8);
}

TEST_P(Kill, KeepsEveryAcknowledgedWriteBesideForksSyncsAndCompactions) {
  survives("beside", {.lanes = 4, .keys_per_lane = 1'000, .batch = 6, .beside = 1}, 2, 6);
}

TEST_P(Kill, KeepsEveryAcknowledgedWriteAcrossOpenAndClose) {
  survives("reopen", {.lanes = 3, .keys_per_lane = 300, .batch = 6, .reopen = 30}, 1, 10);
}

TEST_P(Kill, WhileThePoolIsMadeLeavesAWholePoolOrNone) {
  scratch_folder folder(GetParam().folder());
  random_stream random(stream_seed("create"));
  int made = 0;
  for (int round = 0; round < 20; ++round) {
    std::string path = folder.file("pool" + std::to_string(round)),
                told_path = folder.file("told" + std::to_string(round));
    shared_words told(told_path, 1);
    child_process creator("create_pool", {path, told_path, GetParam().name()});
    if (round % 5 == 4)
      while (told[0] == 0 && creator.running()) sleep_microseconds(20);
    else sleep_microseconds(random.below(20'000));
    ASSERT_TRUE(creator.running());
    creator.kill();
    bool exists = std::filesystem::exists(path);
    ASSERT_TRUE(exists || told[0] == 0) << "open returned, and the pool is gone";
    if (!exists) continue;
    ++made;
    auto opened = open_subject(GetParam(), path, GetParam().create_options());
    ASSERT_TRUE(opened) << opened.failure().message;
    EXPECT_EQ((*opened)->pool().size(), 0u);
    expect_sound(**opened);
  }
  EXPECT_GT(made, 0);
}

TEST_P(Kill, DoesNotGrowTheFileWhenTheContentStays) {
  setup with = GetParam();
  scratch_folder folder(with.folder());
  std::string path = folder.file("pool"), told_path = folder.file("told");
  constexpr std::uint64_t records = 1000;
  { ASSERT_TRUE(open_subject(with, path, with.create_options())); }
  shared_words told(told_path, 1);
  random_stream random(stream_seed("rewrite"));
  std::uint64_t settled = 0;
#ifdef DURAHASH_SANITIZED
  constexpr int rounds = 15;
#else
  constexpr int rounds = 30;
#endif
  for (int round = 0; round < rounds; ++round) {
    child_process writer("rewrite_records",
                         {path, told_path, with.name(), std::to_string(records)});
    std::uint64_t until = told[0] + records + random.below(2 * records);
    while (told[0] < until && writer.running()) sleep_microseconds(100);
    ASSERT_TRUE(writer.running());
    writer.kill();
    // What a writer had pending, and space taken while recovery ran, differ from kill to kill: the
    // largest of the first ten.
    if (round < 10) settled = std::max(settled, std::filesystem::file_size(path));
  }
  // of a small pool: whether one was taken depends on what was pending
  constexpr std::uint64_t growth_step = 256 << 10;
  EXPECT_LE(std::filesystem::file_size(path), settled + settled / 2 + growth_step)
      << "space leaks with every kill";
  options plain;
  plain.medium = with.medium();
  auto opened = open_subject(with, path, plain);
  ASSERT_TRUE(opened) << opened.failure().message;
  EXPECT_EQ((*opened)->pool().size(), records);
  expect_sound(**opened);
}

TEST_P(Kill, InfoTellsAKillFromACleanClose) {
  setup with = GetParam();
  scratch_folder folder(with.folder());
  std::string path = folder.file("pool"), told_path = folder.file("told");
  options plain;
  plain.medium = with.medium();
  { ASSERT_TRUE(open_subject(with, path, with.create_options())); }
  shared_words told(told_path, 1);
  child_process writer("rewrite_records", {path, told_path, with.name(), "10"});
  while (told[0] == 0 && writer.running()) sleep_microseconds(100);
  auto while_held = open_subject(with, path, plain);
  ASSERT_FALSE(while_held) << "two processes have the pool open";
  EXPECT_EQ(while_held.failure().code, status::locked);
  EXPECT_NE(while_held.failure().message.find(path), std::string::npos)
      << while_held.failure().message;
  writer.kill();
  {
    auto opened = open_subject(with, path, plain);
    ASSERT_TRUE(opened) << opened.failure().message;
    EXPECT_FALSE((*opened)->pool().info().clean);
    EXPECT_EQ((*opened)->pool().close(), status::ok);
  }
  auto again = open_subject(with, path, plain);
  ASSERT_TRUE(again) << again.failure().message;
  EXPECT_TRUE((*again)->pool().info().clean);
}

TEST_P(Kill, WhileAnEmptyPoolIsChangedLeavesAPoolThatOpens) {
  // Nothing in it, and not closed: such a pool once stopped every process that opened it, for its
  // heap was recovered twice.
  setup with = GetParam();
  scratch_folder folder(with.folder());
  std::string path = folder.file("pool"), copy = folder.file("copy");
  auto opened = open_subject(with, path, with.create_options());
  ASSERT_TRUE(opened) << opened.failure().message;
  ASSERT_EQ((*opened)->put(nth_key(with, 1), nth_value(with, 1)), status::ok);
  ASSERT_EQ((*opened)->erase(nth_key(with, 1)), status::ok);
  ASSERT_EQ((*opened)->pool().compact(), status::ok);
  write_as_killed(copy, read_file(path));  // what a kill at this moment leaves
  options plain;
  plain.medium = with.medium();
  auto found = open_subject(with, copy, plain);
  ASSERT_TRUE(found) << found.failure().message;
  EXPECT_FALSE((*found)->pool().info().clean);
  expect_contents(**found, {});
  ASSERT_EQ((*found)->put(nth_key(with, 2), nth_value(with, 2)), status::ok);
  expect_sound(**found);
}

TEST_P(Kill, AfterSyncFindsEverythingAndSaysClean) {
  // docs: until the next write a synced pool opens like a cleanly closed one. The copy of the file
  // is what a power cut right after sync leaves.
  setup with = GetParam();
  scratch_folder folder(with.folder());
  std::string path = folder.file("pool"), copy = folder.file("copy");
  auto opened = open_subject(with, path, with.create_options());
  ASSERT_TRUE(opened) << opened.failure().message;
  subject& pool = **opened;
  model expected;
  for (std::uint64_t n = 0; n < 3000; ++n) {
    ASSERT_EQ(pool.put(nth_key(with, n), nth_value(with, n)), status::ok);
    expected[nth_key(with, n)] = nth_value(with, n);
  }
  ASSERT_EQ(pool.pool().sync(), status::ok);
  write_file(copy, read_file(path));
  options plain;
  plain.medium = with.medium();
  auto found = open_subject(with, copy, plain);
  ASSERT_TRUE(found) << found.failure().message;
  EXPECT_TRUE((*found)->pool().info().clean);
  expect_contents(**found, expected);
  expect_sound(**found);
}

}  // namespace
}  // namespace durahash::test
