// Threads in turns: every run repeats, all schedules are gone through once, waiting is seen, and
// waiting for ever is found.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <set>
#include <string>

#include "base/turns.hpp"
#include "explorer/process_pool.hpp"
#include "explorer/schedules.hpp"
#include "explorer/turn_scheduler.hpp"

namespace durahash::crash {
namespace {

using body = std::function<void(turn_scheduler&, std::string& log)>;

/// Runs under one schedule after another. Returns what each run logged.
std::vector<std::string> run_all(const std::vector<body>& threads, const schedule_plan& how,
                                 std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  schedules order(how, random);
  turn_scheduler turn;
  turns* outside = turns::current();
  turns::install(&turn);
  std::vector<std::string> logs;
  do {
    std::string log;
    std::vector<std::function<void()>> bodies;
    for (const body& b : threads) bodies.push_back([&] { b(turn, log); });
    order.begin();
    turn.run(bodies, [&](const std::vector<unsigned>& ready, bool forced) {
      return order.decide(ready, forced);
    });
    logs.push_back(std::move(log));
  } while (order.next());
  turns::install(outside);
  return logs;
}

constexpr std::uint64_t no_limit = 1 << 20;

/// So many points at which another thread may run, each followed by a step.
body steps(unsigned count) {
  return [count](turn_scheduler& turn, std::string& log) {
    for (unsigned i = 0; i < count; ++i) {
      turn.yield();
      log += static_cast<char>('a' + turn.thread());
    }
  };
}

std::uint64_t choose(std::uint64_t n, std::uint64_t k) {
  std::uint64_t made = 1;
  for (std::uint64_t i = 0; i < k; ++i) made = made * (n - i) / (i + 1);
  return k > n ? 0 : made;
}

/// Either may come first. Preemptions alternate: of k, the points of the one that came first take
/// the larger half.
std::uint64_t schedules_of_two(std::uint64_t points, unsigned preemptions) {
  std::uint64_t sum = 0;
  for (unsigned k = 0; k <= preemptions; ++k)
    sum += 2 * choose(points, k - k / 2) * choose(points, k / 2);
  return sum;
}

TEST(CrashBaton, TwoThreadsHaveAsManySchedulesAsCombinatoricsSays) {
  for (unsigned n = 1; n <= 4; ++n) {
    for (unsigned p = 0; p <= 2 * n; ++p) {
      std::vector<std::string> logs =
          run_all({steps(n), steps(n)}, {.preemptions = p, .max_schedules = no_limit});
      EXPECT_EQ(logs.size(), schedules_of_two(n, p)) << n << " points, " << p << " preemptions";
      for (const std::string& log : logs) {
        EXPECT_EQ(std::count(log.begin(), log.end(), 'a'), n);
        EXPECT_EQ(std::count(log.begin(), log.end(), 'b'), n);
      }
    }
  }
}

TEST(CrashBaton, WithEnoughPreemptionsEveryInterleavingIsAmongThem) {
  constexpr unsigned n = 4;
  std::vector<std::string> logs =
      run_all({steps(n), steps(n)}, {.preemptions = 2 * n, .max_schedules = no_limit});
  EXPECT_EQ(std::set<std::string>(logs.begin(), logs.end()).size(), choose(2 * n, n));
}

TEST(CrashBaton, FewPreemptionsGiveFewInterleavings) {
  EXPECT_EQ(run_all({steps(3), steps(2)}, {.preemptions = 0, .max_schedules = no_limit}),
            (std::vector<std::string>{"aaabb", "bbaaa"}));
  std::vector<std::string> one =
      run_all({steps(2), steps(2)}, {.preemptions = 1, .max_schedules = no_limit});
  EXPECT_EQ(one, (std::vector<std::string>{"aabb", "abba", "bbaa", "bbaa", "baab", "aabb"}));
}

TEST(CrashBaton, AnEndIsNoPreemption) {
  std::vector<std::string> logs =
      run_all({steps(1), steps(1), steps(1)}, {.preemptions = 0, .max_schedules = no_limit});
  EXPECT_EQ(logs, (std::vector<std::string>{"abc", "acb", "bac", "bca", "cab", "cba"}));
}

TEST(CrashBaton, ManySchedulesAreHalfInOrderAndHalfDrawnAndRepeatWithTheirSeed) {
  schedule_plan how{.preemptions = 3, .max_schedules = 200};
  std::vector<std::string> logs = run_all({steps(20), steps(20)}, how, 7);
  EXPECT_EQ(logs.size(), 200u);
  EXPECT_EQ(logs, run_all({steps(20), steps(20)}, how, 7));
  EXPECT_NE(logs, run_all({steps(20), steps(20)}, how, 8));
  std::set<std::string> different(logs.begin(), logs.end());
  EXPECT_GT(different.size(), 120u);
  // In order come first those whose last preemption is late: only the drawn ones switch early.
  auto early = [](const std::string& log) { return log.find(log.front() == 'a' ? 'b' : 'a') < 10; };
  EXPECT_EQ(std::count_if(logs.begin(), logs.begin() + 100, early), 0);
  EXPECT_GT(std::count_if(logs.begin() + 100, logs.end(), early), 10);
}

// ----------------------------------------------------------------------------------------- waiting

TEST(CrashBaton, ALockIsHeldByOneThreadAtATime) {
  turn_mutex lock;
  body locked = [&](turn_scheduler& turn, std::string& log) {
    turn.yield();
    std::lock_guard<turn_mutex> held(lock);
    auto name = static_cast<char>('a' + turn.thread());
    log += name;
    turn.yield();
    log += name;
  };
  std::vector<std::string> logs =
      run_all({locked, locked}, {.preemptions = 4, .max_schedules = no_limit});
  std::set<std::string> different(logs.begin(), logs.end());
  EXPECT_EQ(different, (std::set<std::string>{"aabb", "bbaa"}));
}

TEST(CrashBaton, ThreadsThatWaitForOneLockAreNotGivenTurnsInCircles) {
  turn_mutex lock;
  body locked = [&](turn_scheduler& turn, std::string& log) {
    std::lock_guard<turn_mutex> held(lock);
    turn.yield();
    log += static_cast<char>('a' + turn.thread());
  };
  // If a comes first: no preemption: abc, acb. In a's section to b, or to c: that one waits, and
  // the third one waits too or does not come yet, and then two orders of b and c: 8. In the section
  // of whoever is second: 2. And as many if another one comes first.
  std::vector<std::string> logs =
      run_all({locked, locked, locked}, {.preemptions = 1, .max_schedules = 1000});
  EXPECT_EQ(logs.size(), 36u);
  std::set<std::string> different(logs.begin(), logs.end());
  EXPECT_EQ(different, (std::set<std::string>{"abc", "acb", "bac", "bca", "cab", "cba"}));
}

/// What a child finds in which this is done.
std::vector<violation> found_in_child(const std::function<void()>& work) {
  std::vector<violation> all;
  run_threads(
      1, 1, 60, [&](std::size_t) { return work(), findings{}; },
      [&](std::size_t, findings f) { return all = std::move(f.violations), true; });
  return all;
}

TEST(CrashBaton, ACycleOfLocksIsReported) {
  turn_mutex first, second;
  auto both = [](turn_mutex& one, turn_mutex& other) -> body {
    return [&](turn_scheduler& turn, std::string&) {
      std::lock_guard<turn_mutex> outer(one);
      turn.yield();
      std::lock_guard<turn_mutex> inner(other);
      turn.yield();
    };
  };
  schedule_plan how{.preemptions = 1, .max_schedules = no_limit};
  std::vector<violation> same_order = found_in_child([&] {
    run_all({both(first, second), both(first, second)}, how);
  });
  EXPECT_TRUE(same_order.empty());
  std::vector<violation> cycle = found_in_child([&] {
    run_all({both(first, second), both(second, first)}, how);
  });
  ASSERT_EQ(cycle.size(), 1u);
  EXPECT_EQ(cycle.front().what, "every thread waits for another one, for ever");
}

TEST(CrashBaton, TheOnlyThreadWaitsForNobody) {
  std::vector<violation> found = found_in_child([&] {
    solo alone;
    turns::install(&alone);
    turn_mutex lock;
    lock.lock();
    lock.lock();
  });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.front().what, "the only thread waits for a lock, for ever");
}

}  // namespace
}  // namespace durahash::crash
