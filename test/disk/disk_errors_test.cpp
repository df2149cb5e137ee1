// A disk that refuses, and files that do not belong together.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <thread>
#include <utility>

#include "cut_run.hpp"
#include "disk/planted.hpp"
#include "disk_pool.hpp"
#include "disk_recorder.hpp"
#include "durahash/diagnostics.hpp"

namespace durahash::test {
namespace {

class DiskErrors : public testing::TestWithParam<disk_setup> {};
INSTANTIATE_TEST_SUITE_P(All, DiskErrors, testing::ValuesIn(tried_disk_setups()),
                         disk_setup_name());

constexpr disk_setup usual{engine_kind::turbo, data_kind::bytes, durability_level::power};

/// A process that opens the pool, does that, and ends without closing it.
void in_a_process_that_dies(const std::string& path, const disk_setup& with,
                            const std::function<void(table&)>& work) {
  pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto pool = table::open(path, with.how());
    if (!pool) ::_exit(2);
    work(*pool);
    ::_exit(0);
  }
  int how = 0;
  ::waitpid(child, &how, 0);
  ASSERT_TRUE(WIFEXITED(how));
  ASSERT_EQ(WEXITSTATUS(how), 0);
}

void put_ten(table& pool, const disk_setup& with) {
  for (std::uint64_t n = 0; n < 10; ++n)
    if (pool.put(key_of(n), value_of(with, n + 1)) != status::ok) ::_exit(3);
}

TEST_P(DiskErrors, LoseNothingThatWasAcknowledged) {
  const disk_setup with = GetParam();
  constexpr std::uint64_t keys = 200;
  std::uint64_t refusals = 0;
  const bool strict = with.durability == durability_level::power;
  for (std::uint64_t nth = 1; nth < (strict ? 700 : 300); nth = nth < 12 ? nth + 2 : nth * 3) {
    SCOPED_TRACE("call " + std::to_string(nth) + " fails");
    scratch_folder folder(disk_folder());
    std::string path = folder.file("pool.dh");
    pool_state acknowledged, perhaps;
    random_stream draw(stream_seed("DiskErrors") + nth);
    {
      auto pool = table::open(path, with.how());
      ASSERT_TRUE(pool) << pool.failure().message;
      disk_fault fault(nth, EIO, draw.one_in(2));
      bool refused = false;
      for (std::uint64_t version = 1; version <= (strict ? 250u : 20'000u) && !refused; ++version) {
        std::uint64_t n = draw.below(keys);
        std::string value = value_of(with, version);
        status answer = pool->put(key_of(n), value);
        refused = answer != status::ok;
        if (!refused) acknowledged[n] = value, perhaps.erase(n);
        else perhaps[n] = value;
        if (refused) {
          EXPECT_TRUE(answer == status::io_error || answer == status::no_space);
        }
        if (answer == status::no_space) refused = false;
      }
      // Of a log that is written beside its writers few calls may have been made by now; a
      // sync behind a change makes one at least.
      for (std::uint64_t version = 30'000; !refused && disk_fault::failed() == 0; ++version) {
        std::string value = value_of(with, version);
        status answer = pool->put(key_of(0), value);
        if (answer == status::ok) acknowledged[0] = value, perhaps.erase(0);
        else perhaps[0] = value;
        refused = answer == status::io_error || pool->sync() == status::io_error;
      }
      if (refused) {
        ++refusals;
        EXPECT_EQ(pool->put(key_of(0), value_of(with, 1)), status::io_error);
        EXPECT_EQ(pool->erase(key_of(0)), status::io_error);
        EXPECT_EQ(pool->sync(), status::io_error);
        EXPECT_EQ(pool->close(), status::io_error);
      }
    }
    auto pool = table::open(path, with.how());
    ASSERT_TRUE(pool) << pool.failure().message;
    for (const auto& [n, value] : acknowledged) {
      auto found = pool->get(key_of(n));
      ASSERT_TRUE(found) << "key " << n << " is lost";
      auto other = perhaps.find(n);
      EXPECT_TRUE(*found == value || (other != perhaps.end() && *found == other->second));
    }
    EXPECT_TRUE(pool->check().ok);
    EXPECT_EQ(pool->put(key_of(0), value_of(with, 1)), status::ok);
  }
  EXPECT_GE(refusals, 3u);
}

/// A growth may fail when the log has all that was written.
TEST_P(DiskErrors, NoSyncBehindARefusalIsOk) {
  const disk_setup with = GetParam();
  if (with.durability != durability_level::power) GTEST_SKIP() << "nobody waits there but sync";
  int refusals = 0;
  for (std::uint64_t nth = 1; nth <= 12; ++nth)
    for (bool for_good : {false, true}) {
      SCOPED_TRACE("call " + std::to_string(nth) + " fails");
      scratch_folder folder(disk_folder());
      auto pool = table::open(folder.file("pool.dh"), with.how());
      ASSERT_TRUE(pool) << pool.failure().message;
      disk_fault fault(nth, EIO, for_good);
      status answer = status::ok;
      for (std::uint64_t n = 0; n < 60 && answer != status::io_error; ++n)
        answer = pool->put(key_of(n), value_of(with, n + 1));
      if (answer != status::io_error) continue;
      ++refusals;
      EXPECT_EQ(pool->sync(), status::io_error);
    }
  EXPECT_GE(refusals, 3);
}

std::atomic<int> failures_told{0};

/// Nobody may be there to be answered: the log is written in a thread of its own.
TEST(DiskFailure, IsToldOnce) {
  scratch_folder folder(disk_folder());
  static std::string told;
  tell_diagnostics_to([](const char* sentence) noexcept { ++failures_told, told = sentence; });
  {
    auto pool = table::open(folder.file("pool.dh"), usual.how());
    ASSERT_TRUE(pool) << pool.failure().message;
    ASSERT_EQ(pool->put(key_of(0), value_of(usual, 1)),
              status::ok);  // has grown: the next call is the log's
    disk_fault fault(1, EIO, true);
    EXPECT_EQ(pool->put(key_of(0), value_of(usual, 2)), status::io_error);
    EXPECT_EQ(pool->put(key_of(0), value_of(usual, 2)), status::io_error);
  }
  tell_diagnostics_to(nullptr);
  EXPECT_EQ(failures_told, 1);
  EXPECT_NE(told.find("disk has failed under " + folder.file("pool.dh") + "-log"), told.npos)
      << told;
}

/// A write that takes its place when the disk has failed for another one is not acknowledged.
status answer_beside_a_failure() {
  const disk_setup with{engine_kind::turbo, data_kind::u64, durability_level::power};
  scratch_folder folder(disk_folder());
  auto pool = table::open(folder.file("pool.dh"), with.how());
  for (std::uint64_t n = 0; n < 10; ++n)
    EXPECT_EQ(pool->put(key_of(n), value_of(with, 1)), status::ok);
  bool failed = false;
  at_disk_step = [&](std::string_view name) {
    if (name != "a place is to be taken" || std::exchange(failed, true)) return;
    std::thread other([&] {
      disk_fault fault(1, EIO, true);
      EXPECT_EQ(pool->put(key_of(7), value_of(with, 2)), status::io_error);
    });
    other.join();
  };
  status answer = pool->put(key_of(3), value_of(with, 2));
  at_disk_step = nullptr;
  EXPECT_TRUE(failed);
  return answer;
}

TEST(DiskFiles, AWriteBesideOneThatFailsIsNotAcknowledged) {
  EXPECT_EQ(answer_beside_a_failure(), status::io_error);
  planted_disk_bug = "a-failed-append-needs-nothing";
  EXPECT_EQ(answer_beside_a_failure(), status::ok) << "its place need not be waited for";
  planted_disk_bug = nullptr;
}

/// Until a salvage has come to its end, the pool opens to be salvaged alone.
TEST(DiskFiles, ASalvageThatIsCutOffIsBegunAnew) {
  scratch_folder folder(disk_folder());
  std::string path = folder.file("pool.dh");
  in_a_process_that_dies(path, usual, [](table& pool) { put_ten(pool, usual); });
  random_stream draw(stream_seed("SalvageCut"));
  disk_recorder disk({path, path + "-log"});
  options salvaging;
  salvaging.salvage = true;
  {
    auto pool = table::open(path, salvaging);
    ASSERT_TRUE(pool) << pool.failure().message;
  }
  disk.stop();
  bool seen_refused = false;
  for (std::uint64_t moment = 0; moment <= disk.now(); ++moment)
    for (int tries = 0; tries < 6; ++tries) {
      auto how = tries == 0   ? disk_recorder::unwaited::all_old
                 : tries == 1 ? disk_recorder::unwaited::all_new
                              : disk_recorder::unwaited::drawn;
      for (const auto& [name, bytes] : disk.after_cut(moment, how, draw)) write_file(name, bytes);
      auto pool = table::open(path);
      if (!pool) {
        seen_refused = true;
        EXPECT_NE(pool.failure().message.find("a salvage of it"), std::string::npos)
            << pool.failure().message;
        pool = table::open(path, salvaging);
      }
      ASSERT_TRUE(pool) << "cut at " << moment << ": " << pool.failure().message;
      EXPECT_EQ(pool->size(), 10u) << "cut at " << moment;
      EXPECT_TRUE(pool->check().ok) << "cut at " << moment;
    }
  EXPECT_TRUE(seen_refused);
}

TEST(DiskFiles, APoolIsRefusedWithoutTheLogThatItNeeds) {
  scratch_folder folder(disk_folder());
  std::string path = folder.file("pool.dh"), other = folder.file("other.dh");
  in_a_process_that_dies(path, usual, [](table& pool) { put_ten(pool, usual); });
  in_a_process_that_dies(other, usual, [](table& pool) { put_ten(pool, usual); });
  std::string log = read_file(path + "-log");
  std::filesystem::remove(path + "-log");
  auto without = table::open(path);
  ASSERT_FALSE(without);
  EXPECT_EQ(without.failure().code, status::unusable);
  EXPECT_NE(without.failure().message.find("its log"), std::string::npos)
      << without.failure().message;
  write_file(path + "-log", read_file(other + "-log"));
  auto foreign = table::open(path);
  ASSERT_FALSE(foreign);
  EXPECT_NE(foreign.failure().message.find("another pool's"), std::string::npos)
      << foreign.failure().message;
  write_file(path + "-log", log);
  auto pool = table::open(path);
  ASSERT_TRUE(pool) << pool.failure().message;
  EXPECT_EQ(pool->size(), 10u);
}

TEST(DiskFiles, AnOlderLogOfThePoolIsRefused) {
  scratch_folder folder(disk_folder());
  std::string path = folder.file("pool.dh");
  in_a_process_that_dies(path, usual, [](table& pool) { put_ten(pool, usual); });
  std::string older = read_file(path + "-log");
  for (int i = 0; i < 2; ++i)
    in_a_process_that_dies(path, usual, [](table& pool) { put_ten(pool, usual); });
  write_file(path + "-log", older);
  auto pool = table::open(path);
  ASSERT_FALSE(pool);
  EXPECT_NE(pool.failure().message.find("older"), std::string::npos) << pool.failure().message;
}

/// A power cut leaves a hole in the log, and entries behind it. The next opening goes on from the
/// hole, and ends at the end of a page, of which nothing hides what comes next. After another cut
/// those entries verify no more. Returns whether that is so.
bool entries_behind_a_hole_stay_away() {
  const disk_setup with{engine_kind::turbo, data_kind::u64, durability_level::power, 4 << 20};
  small_first_logs
      grow;  // a checkpoint, which comes on a slow disk, would write what the hole lacks
  scratch_folder folder(disk_folder());
  std::string path = folder.file("pool.dh");
  in_a_process_that_dies(path, with, [&](table& pool) {
    for (std::uint64_t n = 0; n < 3000; ++n)
      if (pool.put(key_of(n % 300), value_of(with, n)) != status::ok) ::_exit(3);
  });
  std::string log = read_file(path + "-log");
  std::fill_n(log.begin() + 4096 + 80 * 60, 512, '\0');
  write_file(path + "-log", log);
  in_a_process_that_dies(path, with, [&](table& pool) {
    if (pool.size() >= 200) ::_exit(3);
    random_stream draw(1);
    while (pool.position() % 256 != 0) {
      bool erases = draw.one_in(3);
      status s = erases ? pool.erase(key_of(1000)) : pool.put(key_of(1000), value_of(with, 1));
      if (s != status::ok && s != status::not_found) ::_exit(4);
      if (pool.position() > 3000) ::_exit(5);
    }
  });
  auto pool = table::open(path);
  if (!pool) return false;
  std::uint64_t left = 0;
  for (std::uint64_t n = 0; n < 300; ++n) left += pool->get(key_of(n)).has_value();
  return left < 200 && pool->check().ok;
}

TEST(DiskFiles, EntriesBehindAHoleNeverComeBack) {
  EXPECT_TRUE(entries_behind_a_hole_stay_away());
  planted_disk_bug = "an-opening-without-a-key";
  EXPECT_FALSE(entries_behind_a_hole_stay_away()) << "the key of an opening is not needed";
  planted_disk_bug = nullptr;
}

TEST(DiskFiles, AClosedPoolIsWholeByItself) {
  scratch_folder folder(disk_folder());
  std::string path = folder.file("pool.dh"), copy = folder.file("copy.dh");
  {
    auto pool = table::open(path, usual.how());
    ASSERT_TRUE(pool);
    put_ten(*pool, usual);
    ASSERT_EQ(pool->close(), status::ok);
  }
  std::filesystem::copy_file(path, copy);
  auto pool = table::open(copy);
  ASSERT_TRUE(pool) << pool.failure().message;
  EXPECT_TRUE(pool->info().clean);
  EXPECT_EQ(pool->size(), 10u);
  EXPECT_EQ(pool->info().medium, medium_kind::disk);
}

TEST(DiskFiles, ACopyOfAnOpenPoolIsRefused) {
  scratch_folder folder(disk_folder());
  std::string path = folder.file("pool.dh"), copy = folder.file("copy.dh");
  in_a_process_that_dies(path, usual, [](table& pool) { put_ten(pool, usual); });
  std::filesystem::copy_file(path, copy);
  std::filesystem::copy_file(path + "-log", copy + "-log");
  auto pool = table::open(copy);
  ASSERT_FALSE(pool);
  EXPECT_NE(pool.failure().message.find("copy"), std::string::npos) << pool.failure().message;
}

TEST(DiskFiles, SalvageGoesWithoutTheLog) {
  scratch_folder folder(disk_folder());
  std::string path = folder.file("pool.dh");
  {
    auto pool = table::open(path, usual.how());
    ASSERT_TRUE(pool);
    put_ten(*pool, usual);
  }
  in_a_process_that_dies(path, usual, [](table& pool) {
    if (pool.put(key_of(100), value_of(usual, 1)) != status::ok) ::_exit(3);
  });
  std::filesystem::remove(path + "-log");
  options how;
  how.salvage = true;
  auto pool = table::open(path, how);
  ASSERT_TRUE(pool) << pool.failure().message;
  EXPECT_GE(pool->size(), 10u);
  EXPECT_TRUE(pool->check().ok);
}

TEST(DiskFiles, AReaderOfAKilledPoolSeesAllAndChangesNothing) {
  for (durability_level level : {durability_level::power, durability_level::power_buffered}) {
    const disk_setup with{engine_kind::cceh, data_kind::u64, level};
    scratch_folder folder(disk_folder());
    std::string path = folder.file("pool.dh");
    in_a_process_that_dies(path, with, [&](table& pool) { put_ten(pool, with); });
    std::string pool_before = read_file(path), log_before = read_file(path + "-log");
    options how;
    how.mode = open_mode::read_only;
    {
      auto pool = table::open(path, how);
      ASSERT_TRUE(pool) << pool.failure().message;
      EXPECT_EQ(pool->size(), 10u);
      EXPECT_EQ(pool->put(key_of(1), value_of(with, 1)), status::read_only);
    }
    EXPECT_EQ(read_file(path), pool_before);
    EXPECT_EQ(read_file(path + "-log"), log_before);
    auto pool = table::open(path);
    ASSERT_TRUE(pool) << pool.failure().message;
    EXPECT_EQ(pool->size(), 10u);
  }
}

/// Nothing where there is none.
std::string ring_of(const struct stat& pool) {
  char begins[96];
  std::snprintf(begins, sizeof begins, "durahash-%u-%llx-%llx-", pool.st_uid,
                static_cast<unsigned long long>(pool.st_dev),
                static_cast<unsigned long long>(pool.st_ino));
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
    if (entry.path().filename().string().starts_with(begins)) return entry.path();
  return {};
}

/// As after a power cut: who deletes the ring of a killed process takes its last moments.
TEST(DiskFiles, AnOpeningSaysWhetherTheMemoryOfTheLastMomentsWasThere) {
  const disk_setup with{engine_kind::cceh, data_kind::u64, durability_level::power_buffered};
  scratch_folder folder(disk_folder());
  std::string path = folder.file("pool.dh");
  for (bool is_there : {true, false}) {
    in_a_process_that_dies(path, with, [&](table& pool) { put_ten(pool, with); });
    struct stat facts {};
    ASSERT_EQ(::stat(path.c_str(), &facts), 0);
    std::string ring = ring_of(facts);
    ASSERT_TRUE(std::filesystem::exists(ring));
    if (!is_there) std::filesystem::remove(ring);
    for (open_mode mode : {open_mode::read_only, open_mode::open_existing}) {
      options how;
      how.mode = mode;
      auto pool = table::open(path, how);
      ASSERT_TRUE(pool) << pool.failure().message;
      EXPECT_NE(pool->info().may_lack_last_moments, is_there);
      EXPECT_TRUE(!is_there || pool->size() == 10);
    }
    auto closed = table::open(path);
    ASSERT_TRUE(closed);
    EXPECT_FALSE(closed->info().may_lack_last_moments);
  }
}

/// Another user who has seen the ring's name, and waits until it is free: after a reboot, or when
/// its pool was closed.
TEST(DiskFiles, ARingOfAnotherUserIsNotTrustedAndBlocksNobody) {
  if (::geteuid() != 0) GTEST_SKIP() << "it takes two users";
  constexpr uid_t nobody = 65534;
  const disk_setup with{engine_kind::cceh, data_kind::u64, durability_level::power_buffered};
  enum squat { a_copy, a_copy_that_all_may_write, a_folder, a_link };
  for (squat how : {a_copy, a_copy_that_all_may_write, a_folder, a_link})
    for (bool trusted : {false, true}) {
      if (trusted && how != a_copy) continue;
      SCOPED_TRACE("squat " + std::to_string(how));
      scratch_folder folder(disk_folder());
      std::string path = folder.file("pool.dh");
      in_a_process_that_dies(path, with, [&](table& pool) { put_ten(pool, with); });
      struct stat facts {};
      ASSERT_EQ(::stat(path.c_str(), &facts), 0);
      const std::string ring = ring_of(facts), bytes = read_file(ring);
      ASSERT_EQ(::unlink(ring.c_str()), 0);
      if (how == a_folder) {
        std::filesystem::create_directory(ring);
      } else if (how == a_link) {
        write_file(folder.file("elsewhere"), bytes);
        std::filesystem::create_symlink(folder.file("elsewhere"), ring);
      } else {
        write_file(ring, bytes);
        ASSERT_EQ(::chmod(ring.c_str(), how == a_copy ? 0600 : 0666), 0);
      }
      if (how != a_copy_that_all_may_write) {
        ASSERT_EQ(::lchown(ring.c_str(), nobody, nobody), 0);
      }
      planted_disk_bug = trusted ? "a-ring-of-anybody" : nullptr;
      {
        auto pool = table::open(path, with.how());
        planted_disk_bug = nullptr;
        ASSERT_TRUE(pool) << pool.failure().message;
        EXPECT_NE(pool->info().may_lack_last_moments, trusted);
        EXPECT_TRUE(pool->check().ok);
        EXPECT_EQ(pool->put(key_of(1), value_of(with, 2)), status::ok);
        EXPECT_EQ(pool->close(), status::ok);
      }
      EXPECT_TRUE(table::open(path));
      std::filesystem::remove(ring);
    }
}

/// Of the same kind, without another user: each opening's ring has a name of its own, and none is
/// left.
TEST(DiskFiles, EachOpeningsRingHasANameOfItsOwnAndNoneIsLeft) {
  const disk_setup with{engine_kind::cceh, data_kind::u64, durability_level::power_buffered};
  scratch_folder folder(disk_folder());
  std::string path = folder.file("pool.dh");
  std::vector<std::string> names;
  for (int i = 0; i < 4; ++i) {
    in_a_process_that_dies(path, with, [&](table& pool) { put_ten(pool, with); });
    struct stat facts {};
    ASSERT_EQ(::stat(path.c_str(), &facts), 0);
    for (const std::string& before : names) EXPECT_FALSE(std::filesystem::exists(before));
    names.push_back(ring_of(facts));
    ASSERT_TRUE(std::filesystem::exists(names.back()));
  }
  EXPECT_EQ(table::open(path)->close(), status::ok);
  EXPECT_FALSE(std::filesystem::exists(names.back()));
}

TEST(DiskFiles, ANewPoolDoesNotTakeTheLogOfOneThatWasRenamedWhileOpen) {
  scratch_folder folder(disk_folder());
  std::string path = folder.file("pool.dh"), renamed = folder.file("renamed.dh");
  {
    auto pool = table::open(path, usual.how());
    ASSERT_TRUE(pool);
    put_ten(*pool, usual);
    std::filesystem::rename(path, renamed);
    auto other = table::open(path, usual.how());
    ASSERT_FALSE(other);
    EXPECT_EQ(other.failure().code, status::locked);
    EXPECT_NE(other.failure().message.find(path + "-log: it is locked"), std::string::npos)
        << other.failure().message;
    EXPECT_FALSE(std::filesystem::exists(path));
    ASSERT_EQ(pool->put(key_of(100), value_of(usual, 1)), status::ok);
    ASSERT_EQ(pool->close(), status::ok);
  }
  EXPECT_EQ(table::open(renamed)->size(), 11u);
  EXPECT_TRUE(table::open(path, usual.how()));
}

/// Another user of a pool's group may open it, after a kill, too.
TEST(DiskFiles, LogAndRingAreForWhomThePoolIsFor) {
  const disk_setup with{engine_kind::cceh, data_kind::u64, durability_level::power_buffered};
  scratch_folder folder(disk_folder());
  std::string path = folder.file("pool.dh");
  ASSERT_TRUE(table::open(path, with.how()));
  ASSERT_EQ(::chmod(path.c_str(), 0664), 0);
  auto pool = table::open(path, with.how());
  ASSERT_TRUE(pool);
  struct stat facts {
  }, log{}, ring{};
  ASSERT_EQ(::stat(path.c_str(), &facts), 0);
  ASSERT_EQ(::stat((path + "-log").c_str(), &log), 0);
  ASSERT_EQ(::stat(ring_of(facts).c_str(), &ring), 0);
  EXPECT_EQ(log.st_mode & 0777, 0664u);
  EXPECT_EQ(ring.st_mode & 0777, 0664u);
}

TEST(DiskFiles, WhatIsNoDiskIsRefused) {
  options how = usual.how();
  auto in_memory = table::open("/dev/shm/durahash-no-disk.dh", how);
  ASSERT_FALSE(in_memory);
  EXPECT_NE(in_memory.failure().message.find("tmpfs"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists("/dev/shm/durahash-no-disk.dh"));
}

TEST(DiskFiles, ThePoolSaysWhereItLives) {
  scratch_folder folder(disk_folder());
  std::string logged = folder.file("logged.dh"), plain = folder.file("plain.dh");
  ASSERT_TRUE(table::open(logged, usual.how()));
  ASSERT_TRUE(table::open(plain));
  options how;
  how.medium = medium_kind::file;
  EXPECT_FALSE(table::open(logged, how));
  how.medium = medium_kind::disk;
  EXPECT_FALSE(table::open(plain, how));
  EXPECT_EQ(table::open(logged)->info().medium, medium_kind::disk);
  EXPECT_EQ(table::open(plain)->info().medium, medium_kind::file);
  how = {};
  how.durability = durability_level::power;
  auto by_level = table::open(folder.file("by_level.dh"), how);
  ASSERT_TRUE(by_level) << by_level.failure().message;
  EXPECT_EQ(by_level->info().medium, medium_kind::disk);
}

TEST(DiskPositions, WaitForWhatWasWritten) {
  scratch_folder folder(disk_folder());
  std::string path = folder.file("pool.dh");
  const disk_setup with{engine_kind::turbo, data_kind::u64, durability_level::power_buffered};
  auto pool = table::open(path, with.how());
  ASSERT_TRUE(pool);
  std::uint64_t before = pool->position();
  ASSERT_EQ(pool->put(key_of(1), value_of(with, 1)), status::ok);
  EXPECT_GT(pool->position(), before);
  EXPECT_EQ(pool->wait_durable(pool->position()), status::ok);
  EXPECT_EQ(pool->wait_durable(~std::uint64_t{0}), status::ok) << "no further than the log goes";
  ASSERT_EQ(pool->close(), status::ok);
  EXPECT_EQ(pool->wait_durable(0), status::closed);
}

}  // namespace
}  // namespace durahash::test
