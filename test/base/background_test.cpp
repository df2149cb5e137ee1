// Work that nobody waits for: what runs, in which order, and what stop() promises.
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <fstream>
#include <latch>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "base/background.hpp"
#include "base/own_thread.hpp"
#include "base/process_mark.hpp"
#include "base/zeroed_array.hpp"

namespace durahash::test {
namespace {

TEST(Background, JobsOfOneOwnerRunInOrderOneAtATime) {
  background owner;
  std::vector<int> ran;  // by one thread, if the promise holds
  std::latch all(100);
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(owner.submit([&, i](const background&) {
      ran.push_back(i);
      all.count_down();
    }));
  all.wait();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(ran[static_cast<std::size_t>(i)], i);
}

TEST(Background, StopWaitsForTheRunningJobAndDropsTheRest) {
  background owner;
  std::latch begun(1);
  std::atomic<bool> ended{false}, dropped_ran{false};
  ASSERT_TRUE(owner.submit([&](const background& self) {
    begun.count_down();
    while (!self.stopping()) std::this_thread::yield();
    ended = true;
  }));
  ASSERT_TRUE(owner.submit([&](const background&) { dropped_ran = true; }));
  begun.wait();
  owner.stop();
  EXPECT_TRUE(ended) << "stop() came back before the job did";
  EXPECT_FALSE(dropped_ran);
  EXPECT_FALSE(owner.submit([](const background&) {})) << "it takes no more";
}

TEST(Background, AnOwnerThatNeverSubmittedStopsAtOnce) {
  background owner;
  owner.stop();
  owner.stop();
  EXPECT_TRUE(owner.stopping());
}

TEST(Background, ManyOwnersShareOneThread) {
  std::vector<std::unique_ptr<background>> owners;
  std::atomic<int> ran{0};
  std::atomic<bool> same{true};
  std::thread::id worker{};
  std::latch all(200);
  for (int i = 0; i < 200; ++i) {
    owners.push_back(std::make_unique<background>());
    ASSERT_TRUE(owners.back()->submit([&](const background&) {
      if (ran++ == 0) worker = std::this_thread::get_id();
      else if (worker != std::this_thread::get_id()) same = false;
      all.count_down();
    }));
  }
  all.wait();
  EXPECT_EQ(ran, 200);
  EXPECT_TRUE(same);
}

TEST(OwnThread, TakesNoSignalsAndLeavesTheCallersMaskAlone) {
  sigset_t before, after, within;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  own_thread thread;
  ASSERT_TRUE(thread.start([&] { pthread_sigmask(SIG_SETMASK, nullptr, &within); }));
  thread.join();
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (int signal : {SIGINT, SIGTERM, SIGUSR1, SIGCHLD}) {
    EXPECT_EQ(sigismember(&within, signal), 1) << signal;
    EXPECT_EQ(sigismember(&after, signal), sigismember(&before, signal)) << signal;
  }
}

thread_local char of_the_program[400 << 10];

TEST(OwnThread, HasItsStackBesideTheProgramsThreadLocals) {
  own_thread thread;
  std::ptrdiff_t same = 0;
  ASSERT_TRUE(thread.start([&] {
    char stack[300 << 10];
    std::memset(of_the_program, 7, sizeof of_the_program);
    std::memset(stack, 7, sizeof stack);
    same = std::count(std::begin(stack), std::end(stack), of_the_program[same]);
  }));
  thread.join();
  EXPECT_EQ(same, 300 << 10);
}

#ifndef DURAHASH_SANITIZED
std::uint64_t addresses_of_this_process() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// glibc sets 64 MB of addresses aside for each thread that asks its allocator for anything.
TEST(OwnThread, TakesFewAddressesOfTheProgram) {
  constexpr int count = 16;
  own_thread threads[count];
  std::latch all_run(count), looked_at(1);
  const std::uint64_t before = addresses_of_this_process();
  for (own_thread& thread : threads)
    ASSERT_TRUE(thread.start([&] {
      all_run.count_down();
      looked_at.wait();
    }));
  all_run.wait();
  const std::uint64_t taken = addresses_of_this_process() - before;
  looked_at.count_down();
  for (own_thread& thread : threads) thread.join();
  EXPECT_LE(taken, std::uint64_t{count} << 21);
}
#endif

TEST(ProcessMark, IsZeroInAChild) {
  const volatile unsigned char* mark = this_process_mark();
  ASSERT_NE(*mark, 0);
  EXPECT_EQ(this_process_mark(), mark) << "one mark for one process";
  const pid_t child = ::fork();
  if (child == 0) {
    const bool old_is_zero = *mark == 0;
    const bool own_is_not = *this_process_mark() != 0;
    ::_exit(old_is_zero && own_is_not ? 0 : 1);
  }
  int how = 0;
  ASSERT_EQ(::waitpid(child, &how, 0), child);
  EXPECT_TRUE(WIFEXITED(how) && WEXITSTATUS(how) == 0);
  EXPECT_NE(*mark, 0) << "the parent is who it was";
}

TEST(ZeroedArray, BeginsAsZeros) {
  for (std::size_t count : {1, 100, 8192, 8193, 1 << 16})
    for (int again = 0; again < 2; ++again) {  // the heap gives what was written before
      zeroed_array<std::uint64_t> words(count);
      for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(std::exchange(words[i], 7), 0u);
      zeroed_array<std::uint64_t> moved;
      moved = std::move(words);
      EXPECT_EQ(moved[count - 1], 7u);
    }
}

/// It shows: what was written is gone.
TEST(ZeroedArray, AMappedOneGivesItsMemoryBackHoweverShortItIs) {
  for (std::size_t count : {10, 1 << 16}) {
    auto words = zeroed_array<std::uint64_t>::mapped(count);
    words[5] = 7;
    words.give_back();
    EXPECT_EQ(words[5], 0u);
  }
  EXPECT_THROW(zeroed_array<std::uint64_t>(std::size_t{1} << 58), std::bad_alloc);
}

}  // namespace
}  // namespace durahash::test
