// Files of a pool on a disk: which belong together, and what one is worth without the other.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "cut_run.hpp"
#include "disk/planted.hpp"
#include "disk_pool.hpp"
#include "disk_recorder.hpp"
#include "dying_process.hpp"

namespace durahash::test {
namespace {

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

}  // namespace
}  // namespace durahash::test
