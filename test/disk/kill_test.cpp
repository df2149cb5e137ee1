// kill -9 at any moment, at both levels: what was acknowledged is there, the disk or no disk.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "disk_pool.hpp"

namespace durahash::test {
namespace {

class DiskKill : public testing::TestWithParam<disk_setup> {};
INSTANTIATE_TEST_SUITE_P(All, DiskKill, testing::ValuesIn(disk_setups()), disk_setup_name());

constexpr std::uint64_t threads = 3, keys_each = 400;

/// The version of each key that was acknowledged, in memory that outlives the writer.
struct ledger {
  std::atomic<std::uint64_t> versions[threads * keys_each];
  std::atomic<std::uint64_t> writes, opened;
};

std::uint64_t version_in(const std::string& value) {
  std::uint64_t version;
  std::memcpy(&version, value.data(), 8);
  return version;
}

/// Each thread has keys of its own, and raises their versions, until the process is killed.
[[noreturn]] void write_for_ever(const disk_setup& with, const std::string& path, ledger& known,
                                 std::uint64_t seed) {
  auto pool = table::open(path, with.how());
  if (!pool) _exit(2);
  known.opened = 1;
  std::vector<std::thread> all;
  for (std::uint64_t t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      random_stream draw(seed + t);
      for (;;) {
        std::uint64_t n = t * keys_each + draw.below(keys_each);
        std::uint64_t version = known.versions[n] + 1;
        if (pool->put(key_of(n), value_of(with, version)) != status::ok) _exit(3);
        known.versions[n] = version;
        ++known.writes;
      }
    });
  for (auto& t : all) t.join();
  _exit(4);
}

TEST_P(DiskKill, LosesNothing) {
  const disk_setup with = GetParam();
  random_stream draw(stream_seed("DiskKill." + with.name()));
  scratch_folder folder(disk_folder());
  std::string path = folder.file("pool.dh");
  void* shared =
      ::mmap(nullptr, sizeof(ledger), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto& known = *new (shared) ledger{};
  const int rounds = long_run() ? 60 : 10;  // more than a record has rows for openings
  for (int round = 0; round < rounds; ++round) {
    std::uint64_t seed = draw.next();
    known.opened = 0;
    pid_t writer = ::fork();
    ASSERT_GE(writer, 0);
    if (writer == 0) write_for_ever(with, path, known, seed);
    for (int i = 0; known.opened == 0 && i < 20'000; ++i) ::usleep(1000);
    ::usleep(static_cast<useconds_t>(draw.below(20'000)));
    ::kill(writer, SIGKILL);
    int how = 0;
    ::waitpid(writer, &how, 0);
    ASSERT_TRUE(WIFSIGNALED(how)) << "the writer ended by itself: " << WEXITSTATUS(how);
    if (round % 3 != 0) continue;  // the next writer opens what this one left
    auto pool = table::open(path, with.how());
    ASSERT_TRUE(pool) << pool.failure().message;
    std::string value;
    for (std::uint64_t n = 0; n < threads * keys_each; ++n) {
      std::uint64_t acknowledged = known.versions[n];
      status found = pool->get(key_of(n), value);
      if (acknowledged == 0 && found == status::not_found) continue;
      ASSERT_EQ(found, status::ok)
          << "round " << round << ", key " << n << " of version " << acknowledged;
      std::uint64_t version = version_in(value);
      ASSERT_EQ(value, value_of(with, version));
      ASSERT_GE(version, acknowledged) << "round " << round << ", key " << n;
      ASSERT_LE(version, acknowledged + 1) << "round " << round << ", key " << n;
      known.versions[n] = version;
    }
    check_report report = pool->check();
    ASSERT_TRUE(report.ok) << report.violations.front();
    if (round % 2 == 0) {
      ASSERT_EQ(pool->close(), status::ok);
    }
  }
  EXPECT_GT(known.writes.load(), 0u);
  ::munmap(shared, sizeof(ledger));
}

}  // namespace
}  // namespace durahash::test
