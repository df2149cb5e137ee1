// Copies of open pools, made while others write: each is a pool that was closed, as of one moment.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "conformance.hpp"
#include "versioned_value.hpp"

namespace durahash::test {
namespace {

class Backup : public conformance {
 protected:
  std::string copy_path() const { return copies_.file("copy.dh"); }
  result<std::unique_ptr<subject>> open_copy() {
    options how;
    how.log_bytes = 512 << 10;
    return open_subject(with(), copy_path(), how);
  }
  void expect_no_copy() {
    EXPECT_TRUE(std::filesystem::is_empty(copies_.path())) << "something is left of it";
  }

 private:
  scratch_folder copies_{with().outlives_handle() ? with().folder() : "/dev/shm"};
};

INSTANTIATE_TEST_SUITE_P(Every, Backup, testing::ValuesIn(setups_for_long_tests()), setup_name());

TEST_P(Backup, IsTheSameTableAndCleanAndItsOwn) {
  model records = fill(0, 3000);
  for (std::uint64_t n = 0; n < 3000; n += 3) {
    ASSERT_EQ(pool().erase(key(n)), status::ok);
    records.erase(key(n));
  }
  error e = pool().pool().backup(copy_path());
  ASSERT_EQ(e.code, status::ok) << e.message;
  ASSERT_EQ(pool().put(key(5000), value(1)), status::ok);
  auto copy = open_copy();
  ASSERT_TRUE(copy) << copy.failure().message;
  pool_info info = (*copy)->pool().info();
  EXPECT_TRUE(info.clean);
  EXPECT_EQ(info.engine, with().engine);
  expect_contents(**copy, records);
  ASSERT_EQ((*copy)->put(key(6000), value(1)), status::ok);
  records[key(5000)] = value(1);
  expect_contents(pool(), records);
}

/// Three writers: one raises a number; one reads it and notes it elsewhere; one adds keys, and
/// erases those that it added long ago. The copy knows of each as much as when some moment was.
struct writers {
  writers(subject& p, const setup& w) : pool(p), with(w) {
    put(0, 0), put(1, 0);
    threads.emplace_back([this] { run([this](std::uint64_t turn) { put(0, turn); }, raised); });
    threads.emplace_back(
        [this] { run([this](std::uint64_t) { put(1, version_of(pool, 0)); }, noted); });
    threads.emplace_back([this] {
      run(
          [this](std::uint64_t turn) {
            put(first_added + turn, 1);
            if (turn > kept) erase(first_added + turn - kept);
          },
          added);
    });
  }
  ~writers() {
    over = true;
    for (std::thread& t : threads) t.join();
  }

  struct progress {
    std::atomic<std::uint64_t> begun{0}, done{0};
  };
  template <class Step>
  void run(Step step, progress& of) {
    while (!over) {
      std::uint64_t turn = of.begun + 1;
      of.begun = turn;
      step(turn);
      of.done = turn;
      std::this_thread::yield();
    }
  }
  void put(std::uint64_t n, std::uint64_t version) {
    EXPECT_EQ(pool.put(nth_key(with, n), versioned_value(with, n, version)), status::ok);
  }
  void erase(std::uint64_t n) { EXPECT_EQ(pool.erase(nth_key(with, n)), status::ok); }
  std::uint64_t version_of(subject& in, std::uint64_t n) const {
    auto found = in.get(nth_key(with, n));
    auto version = found ? version_in(with, n, *found) : std::nullopt;
    EXPECT_TRUE(version) << "key " << n << " is absent, torn or another's";
    return version.value_or(0);
  }
  bool has(subject& in, std::uint64_t turn) const {
    return in.contains(nth_key(with, first_added + turn));
  }

  static constexpr std::uint64_t first_added = 100, kept = 700;
  subject& pool;
  const setup& with;
  std::atomic<bool> over{false};
  progress raised, noted, added;
  std::vector<std::thread> threads;
};

TEST_P(Backup, IsOfOneMomentWhileOthersWrite) {
  writers others(pool(), with());
  for (int i = 0; i < (long_run() ? 25 : 3); ++i) {
    SCOPED_TRACE("copy " + std::to_string(i));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::uint64_t raised = others.raised.done, added = others.added.done;
    error e = pool().pool().backup(copy_path());
    ASSERT_EQ(e.code, status::ok) << e.message;
    std::uint64_t raised_most = others.raised.begun, added_most = others.added.begun;
    auto copy = open_copy();
    ASSERT_TRUE(copy) << copy.failure().message;
    EXPECT_TRUE((*copy)->pool().info().clean);
    std::uint64_t number = others.version_of(**copy, 0);
    EXPECT_GE(number, raised);
    EXPECT_LE(number, raised_most);
    EXPECT_LE(others.version_of(**copy, 1), number) << "a note of what came later";
    std::uint64_t last = added_most;
    while (last > 0 && !others.has(**copy, last)) --last;
    EXPECT_GE(last, added);
    constexpr std::uint64_t kept = writers::kept;
    std::uint64_t turn = last > kept ? last - kept + 1 : 1;
    for (; turn <= last; ++turn) ASSERT_TRUE(others.has(**copy, turn)) << turn << " of " << last;
    std::uint64_t present = std::min(last, kept);
    bool still_there = last > kept && others.has(**copy, last - kept);  // between put and erase
    EXPECT_EQ((*copy)->pool().size(), 2 + present + still_there);
    expect_sound(**copy);
    copy->reset();
    std::filesystem::remove(copy_path());
    std::filesystem::remove(copy_path() + "-log");
  }
}

TEST_P(Backup, OverwritesNothing) {
  fill(0, 10);
  write_file(copy_path(), "precious");
  error e = pool().pool().backup(copy_path());
  EXPECT_EQ(e.code, status::exists) << e.message;
  EXPECT_NE(e.message.find(copy_path()), std::string::npos) << e.message;
  EXPECT_EQ(read_file(copy_path()), "precious");
  if (with().outlives_handle()) {
    EXPECT_EQ(pool().pool().backup(path()).code, status::exists);
  }
  EXPECT_EQ(pool().pool().backup("").code, status::invalid_argument);
  EXPECT_EQ(pool().pool().backup(std::string("a\0b", 3)).code, status::invalid_argument);
  EXPECT_NE(pool().pool().backup("/no/such/folder/copy.dh").code, status::ok);
  EXPECT_EQ(pool().pool().size(), 10u);
}

TEST_P(Backup, OfAClosedHandleIsRefused) {
  ASSERT_EQ(pool().pool().close(), status::ok);
  EXPECT_EQ(pool().pool().backup(copy_path()).code, status::closed);
  expect_no_copy();
}

/// Also of a pool that is only read, and of one that was copied before.
TEST_P(Backup, OfABackup) {
  model records = fill(0, 200);
  ASSERT_EQ(pool().pool().backup(copy_path()).code, status::ok);
  options how;
  how.mode = open_mode::read_only;
  auto copy = open_subject(with(), copy_path(), how);
  ASSERT_TRUE(copy) << copy.failure().message;
  std::string second = copy_path() + "-2";
  error e = (*copy)->pool().backup(second);
  ASSERT_EQ(e.code, status::ok) << e.message;
  auto again = open_subject(with(), second, how);
  ASSERT_TRUE(again) << again.failure().message;
  expect_contents(**again, records);
}

TEST_P(Backup, KilledLeavesNothing) {
  if (!with().outlives_handle()) GTEST_SKIP() << "nothing to open in a child";
  fill(0, 2000);
  ASSERT_EQ(pool().pool().close(), status::ok);
  random_stream draw(stream_seed("Backup.Killed"));
  bool copied = false, killed = false;
  for (int i = 0; i < 12; ++i) {
    int go[2];
    ASSERT_EQ(::pipe(go), 0);
    pid_t child = ::fork();
    if (child == 0) {
      auto mine = try_open(how());
      [[maybe_unused]] auto told = ::write(go[1], "!", 1);
      ::_exit(mine && (*mine)->pool().backup(copy_path()).code == status::ok ? 0 : 1);
    }
    char one;
    ASSERT_EQ(::read(go[0], &one, 1), 1);
    std::this_thread::sleep_for(std::chrono::microseconds(draw.below(4000)));
    ::kill(child, SIGKILL);
    int ended = 0;
    ::waitpid(child, &ended, 0);
    ::close(go[0]), ::close(go[1]);
    copied = copied || WIFEXITED(ended), killed = killed || WIFSIGNALED(ended);
    if (std::filesystem::exists(copy_path())) {
      auto copy = open_copy();
      ASSERT_TRUE(copy) << copy.failure().message;
      EXPECT_EQ((*copy)->pool().size(), 2000u);
      copy->reset();
      std::filesystem::remove(copy_path());
      std::filesystem::remove(copy_path() + "-log");
    }
    expect_no_copy();
  }
  EXPECT_TRUE(copied || killed);
}

}  // namespace
}  // namespace durahash::test
