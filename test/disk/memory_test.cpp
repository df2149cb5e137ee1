// What a pool on a disk takes of a process's memory.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>

#include "disk_pool.hpp"

namespace durahash::test {
namespace {

TEST(DiskMemory, HoldsThePagesThatWereWritten) {
#ifdef DURAHASH_SANITIZED
  GTEST_SKIP() << "a sanitizer's own memory is counted, too";
#endif
  const disk_setup with{engine_kind::turbo, data_kind::bytes, durability_level::power_buffered};
  scratch_folder folder(disk_folder());
  std::string path = folder.file("pool.dh");
  constexpr std::uint64_t records = 100'000;
  {
    auto pool = table::open(path, with.how());
    ASSERT_TRUE(pool);
    for (std::uint64_t n = 0; n < records; ++n)
      ASSERT_EQ(pool->put(key_of(n), value_of(with, n)), status::ok);
    ASSERT_EQ(pool->close(), status::ok);
  }
  auto pool = table::open(path, with.how());
  ASSERT_TRUE(pool);
  const std::uint64_t file = pool->info().file_bytes, at_open = own_bytes();
  ASSERT_GT(file, 16u << 20);
  std::string value;
  for (std::uint64_t n = 0; n < records; ++n) ASSERT_EQ(pool->get(key_of(n), value), status::ok);
  const std::uint64_t by_reading = own_bytes() - at_open;
  EXPECT_LT(by_reading, file / 8);
  for (std::uint64_t n = 0; n < records; ++n)
    ASSERT_EQ(pool->put(key_of(n), value_of(with, n)), status::ok);
  const std::uint64_t by_writing = own_bytes() - at_open, grown = pool->info().file_bytes;
  EXPECT_GT(by_writing, file / 4);
  EXPECT_LT(by_writing, grown + (8u << 20));
  ASSERT_EQ(pool->close(), status::ok);
}

}  // namespace
}  // namespace durahash::test
