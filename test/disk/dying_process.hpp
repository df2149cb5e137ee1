// What the tests of a disk's files have in common: a pool that a process leaves open as it dies.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "disk_pool.hpp"

namespace durahash::test {

inline constexpr disk_setup usual{engine_kind::turbo, data_kind::bytes, durability_level::power};

/// A process that opens the pool, does that, and ends without closing it.
inline void in_a_process_that_dies(const std::string& path, const disk_setup& with,
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

inline void put_ten(table& pool, const disk_setup& with) {
  for (std::uint64_t n = 0; n < 10; ++n)
    if (pool.put(key_of(n), value_of(with, n + 1)) != status::ok) ::_exit(3);
}

}  // namespace durahash::test
