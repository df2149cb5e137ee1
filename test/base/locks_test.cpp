// What threads wait for: the spin lock, the mutex of turns, a flag.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "base/spin_lock.hpp"
#include "base/turns.hpp"

namespace durahash::test {
namespace {

/// Threads add to a counter that nothing but the lock guards.
template <class Lock>
std::uint64_t count_under(Lock& lock) {
  constexpr int threads = 4, additions = 20'000;
  std::uint64_t sum = 0;
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&] {
      for (int i = 0; i < additions; ++i) {
        std::scoped_lock held(lock);
        sum = sum + 1;
      }
    });
  for (std::thread& t : all) t.join();
  return sum - std::uint64_t{threads} * additions;
}

TEST(SpinLock, KeepsOthersOut) {
  spin_lock lock;
  EXPECT_EQ(count_under(lock), 0u) << "two threads were in the section at once";
}

TEST(SpinLock, IsTakenOnce) {
  spin_lock lock;
  EXPECT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
  static_assert(sizeof(spin_lock) == 1, "an engine has one for each stripe");
}

TEST(TurnMutex, KeepsOthersOut) {
  turn_mutex lock;
  EXPECT_EQ(count_under(lock), 0u);
}

/// A scheduler that runs the lock's holder whenever somebody passes.
struct one_holder : turns {
  turn_mutex* held = nullptr;
  int passed = 0;
  void pass() override {
    ++passed;
    held->unlock();
  }
};

TEST(TurnMutex, PassesItsTurnWhileAnotherHoldsIt) {
  turn_mutex lock;
  one_holder scheduler;
  scheduler.held = &lock;
  lock.lock();
  turns::install(&scheduler);
  lock.lock();
  turns::install(nullptr);
  EXPECT_EQ(scheduler.passed, 1);
  lock.unlock();
}

TEST(AwaitChange, ReturnsWhenTheFlagChanges) {
  std::atomic<bool> flag{false};
  std::thread other([&] {
    flag.store(true, std::memory_order_release);
    flag.notify_all();
  });
  await_change(flag, false);
  EXPECT_TRUE(flag.load());
  await_change(flag, false);  // at once
  other.join();
}

}  // namespace
}  // namespace durahash::test
