// The last moments of a pool on a disk, in /dev/shm: whose they are, and when they are believed.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "disk/planted.hpp"
#include "disk_pool.hpp"
#include "dying_process.hpp"

namespace durahash::test {
namespace {

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

}  // namespace
}  // namespace durahash::test
