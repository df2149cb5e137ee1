// remove_pool: all that a pool is goes, and nothing else.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "disk_pool.hpp"
#include "durahash/remove.hpp"

namespace durahash::test {
namespace {

/// How many rings of a pool's log lie in memory.
std::size_t rings_of(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) ADD_FAILURE() << path << " is not there";
  char begins[80];
  std::snprintf(begins, sizeof begins, "durahash-%u-%llx-%llx-", facts.st_uid,
                static_cast<unsigned long long>(facts.st_dev),
                static_cast<unsigned long long>(facts.st_ino));
  std::size_t count = 0;
  for (const auto& each : std::filesystem::directory_iterator("/dev/shm"))
    count += each.path().filename().string().starts_with(begins);
  return count;
}

/// Writes to it, and ends as by a kill.
void leave_behind(const std::string& path, const options& how) {
  const pid_t writer = ::fork();
  if (writer == 0) {
    auto pool = table::open(path, how);
    _exit(pool && pool->put(key_of(1), "12345678") == status::ok ? 0 : 1);
  }
  int code = -1;
  ::waitpid(writer, &code, 0);
  ASSERT_EQ(code, 0);
}

const disk_setup buffered{engine_kind::turbo, data_kind::bytes, durability_level::power_buffered};

TEST(RemovePool, TakesFileLogAndRing) {
  scratch_folder folder(disk_folder());
  const std::string path = folder.file("pool.dh"), other = folder.file("other.dh");
  leave_behind(path, buffered.how());
  leave_behind(other, buffered.how());
  if (rings_of(path) == 0) GTEST_SKIP() << "no tmpfs at /dev/shm";
  // more than one: of a file before with the same inode, which somebody deleted by hand
  const std::size_t of_other = rings_of(other);
  const std::string aside = folder.file("aside.dh");  // the inode stays, and tells its rings
  ASSERT_EQ(::link(path.c_str(), aside.c_str()), 0);
  const error gone = remove_pool(path);
  ASSERT_EQ(gone.code, status::ok) << gone.message;
  EXPECT_EQ(rings_of(aside), 0u);
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_FALSE(std::filesystem::exists(path + "-log"));
  // the neighbour has all that was acknowledged
  EXPECT_EQ(rings_of(other), of_other);
  auto pool = table::open(other, buffered.how());
  ASSERT_TRUE(pool) << pool.failure().message;
  EXPECT_EQ(pool->size(), 1u);
  ASSERT_EQ(pool->close(), status::ok);
  EXPECT_EQ(remove_pool(other).code, status::ok);
}

TEST(RemovePool, AnotherMayBeMadeThere) {
  scratch_folder folder(disk_folder());
  const std::string path = folder.file("pool.dh");
  leave_behind(path, buffered.how());
  ASSERT_EQ(remove_pool(path).code, status::ok);
  auto pool = table::open(path, buffered.how());
  ASSERT_TRUE(pool) << pool.failure().message;
  EXPECT_EQ(pool->size(), 0u);
}

/// As a crash within it leaves it: no process opens it as if nothing were missing.
TEST(RemovePool, WhatWasHalfRemovedIsRemoved) {
  scratch_folder folder(disk_folder());
  const std::string path = folder.file("pool.dh");
  leave_behind(path, buffered.how());
  ASSERT_EQ(::unlink((path + "-log").c_str()), 0);
  EXPECT_FALSE(table::open(path, buffered.how()));
  const error gone = remove_pool(path);
  EXPECT_EQ(gone.code, status::ok) << gone.message;
  EXPECT_FALSE(std::filesystem::exists(path));
}

/// As a crash within it leaves one that was closed cleanly: whole.
TEST(RemovePool, WhatWasClosedAndHalfRemovedIsWhole) {
  scratch_folder folder(disk_folder());
  const std::string path = folder.file("pool.dh");
  {
    auto pool = table::open(path, buffered.how());
    ASSERT_TRUE(pool) << pool.failure().message;
    ASSERT_EQ(pool->put(key_of(1), "12345678"), status::ok);
    ASSERT_EQ(pool->close(), status::ok);
  }
  ASSERT_EQ(::unlink((path + "-log").c_str()), 0);
  auto pool = table::open(path, buffered.how());
  ASSERT_TRUE(pool) << pool.failure().message;
  EXPECT_EQ(pool->size(), 1u);
}

/// Who opens a pool has it, or is refused: nobody writes to a file that has lost its name.
TEST(RemovePool, BesideOpeningsLeavesNobodyAFileWithoutAName) {
  scratch_folder folder;
  const std::string path = folder.file("pool.dh");
  std::atomic<bool> over{false};
  std::thread remover([&] {
    while (!over) remove_pool(path);
  });
  int opened = 0, nameless = 0;
  const int rounds = long_run() ? 50'000 : 5'000;
  for (int round = 0; round < rounds; ++round) {
    auto pool = table::open(path, {});
    if (!pool) continue;
    ++opened;
    nameless += ::access(path.c_str(), F_OK) != 0;
  }
  over = true;
  remover.join();
  EXPECT_GT(opened, 0);
  EXPECT_EQ(nameless, 0) << "of " << opened << " openings";
}

TEST(RemovePool, WhatIsOpenStays) {
  scratch_folder folder(disk_folder());
  for (durability_level level : {durability_level::process, durability_level::power}) {
    options how;
    how.durability = level;
    const std::string path = folder.file(std::string(name_of(level)) + ".dh");
    auto pool = table::open(path, how);
    ASSERT_TRUE(pool) << pool.failure().message;
    ASSERT_EQ(pool->put(key_of(1), "12345678"), status::ok);
    const error refused = remove_pool(path);
    EXPECT_EQ(refused.code, status::locked);
    EXPECT_NE(refused.message.find("locked"), std::string::npos) << refused.message;
    std::string value;
    EXPECT_EQ(pool->get(key_of(1), value), status::ok);
    EXPECT_EQ(pool->put(key_of(2), "12345678"), status::ok);
    ASSERT_EQ(pool->close(), status::ok);
    pool = table::open(path, how);
    ASSERT_TRUE(pool) << pool.failure().message;
    EXPECT_EQ(pool->size(), 2u);
  }
}

TEST(RemovePool, WhatIsNoPoolStays) {
  scratch_folder folder(disk_folder());
  const std::string text = folder.file("notes.txt"), link = folder.file("link.dh"),
                    pool = folder.file("pool.dh");
  std::ofstream(text) << std::string(100'000, 'x');
  std::ofstream(text + "-log") << "also mine";
  EXPECT_EQ(remove_pool(text).code, status::unusable);
  EXPECT_EQ(std::filesystem::file_size(text), 100'000u);
  EXPECT_TRUE(std::filesystem::exists(text + "-log"));
  EXPECT_EQ(remove_pool(folder.file("none.dh")).code, status::unusable);
  EXPECT_EQ(remove_pool(folder.path().string()).code, status::unusable);
  leave_behind(pool, {});
  ASSERT_EQ(::symlink(pool.c_str(), link.c_str()), 0);
  EXPECT_EQ(remove_pool(link).code, status::invalid_argument);
  EXPECT_TRUE(std::filesystem::exists(pool));
  EXPECT_EQ(remove_pool(pool).code, status::ok);
}

}  // namespace
}  // namespace durahash::test
