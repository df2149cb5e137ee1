// Programs of several threads: which schedules count as one, and when a program has been gone
// through whole.
#include "crash/threads.hpp"

#include <gtest/gtest.h>

#include "base/turns.hpp"
#include "crash/wrapped.hpp"

namespace durahash::crash {
namespace {

findings explore_two(const std::vector<std::vector<operation>>& threads, const schedule_plan& how) {
  solo alone;
  turns::install(&alone);
  subject_kind kind = usual_kind();
  maker make = wrapping<wrapped>();
  plan few;
  few.images = {.all_up_to = 16, .options_per_line = 6, .lines_each = 4, .samples = 2};
  few.nested_every = 1000, few.kill_every = 0;
  explorer x(kind, make, few, 1);
  std::mt19937_64 random(1);
  explore_threads(kind, make, x, {{{{act::put, {0}, 1}}, 2}, threads}, how, random);
  turns::install(nullptr);
  return std::move(x.found());
}

const std::vector<operation> get_twice = {{act::get, {0}, 0}, {act::get, {0}, 0}};

TEST(CrashThreads, SchedulesThatTellReadsApartAloneAreExploredOnce) {
  findings found = explore_two({{{act::get, {0}, 0}}, {{act::get, {0}, 0}}},
                               {.preemptions = 2, .most_schedules = 100'000});
  EXPECT_TRUE(found.violations.empty());
  EXPECT_GT(found.schedules, 20u) << "each of a get's reads is a turn that may pass";
  EXPECT_LE(found.traces, 6u) << "the orders of two beginnings and two ends";
  EXPECT_GE(found.traces, 4u);
  EXPECT_LT(found.cuts, 3 * found.traces)
      << "and of runs that begin in the same way, the beginning too";
}

TEST(CrashThreads, AProgramIsGoneThroughWholeOrIsNotCountedAsSuch) {
  std::vector<std::vector<operation>> threads = {get_twice,
                                                 {{act::put, {1}, 2}, {act::erase, {0}, 3}}};
  findings whole = explore_two(threads, {.preemptions = 2, .most_schedules = 100'000});
  EXPECT_EQ(whole.threaded, 1u);
  EXPECT_EQ(whole.exhausted, 1u);
  EXPECT_LT(whole.traces, whole.schedules);
  findings part = explore_two(threads, {.preemptions = 2, .most_schedules = 40});
  EXPECT_EQ(part.threaded, 1u);
  EXPECT_EQ(part.exhausted, 0u);
  EXPECT_LT(part.schedules, whole.schedules);
  EXPECT_LT(part.traces, whole.traces);
}

TEST(CrashThreads, TracesAreTheSameWhereAllThatIsRecordedIs) {
  recording one;
  call& seek = one.calls.emplace_back();
  seek.what.what = act::get;
  seek.what.keys.push_back(0);
  seek.parts.push_back(key_call{act::get, 0});
  one.events = {{.kind = event::what::begin},
                {.kind = event::what::store, .size = 8, .offset = 64, .value = 1}};
  one.events.push_back(
      {.kind = event::what::piece, .size = 8, .group = 7, .offset = 72, .value = 2});
  one.events.push_back(
      {.kind = event::what::piece, .size = 8, .group = 7, .offset = 80, .value = 2});
  one.events.push_back({.kind = event::what::end});
  auto changed = [&](auto&& change) {
    recording other = one;
    change(other);
    return hash_of(other) != hash_of(one);
  };
  EXPECT_FALSE(changed([](recording& r) { r.events[2].group = r.events[3].group = 9; }))
      << "numbers of groups have no meaning";
  EXPECT_TRUE(changed([](recording& r) { r.events[3].group = 8; }))
      << "but which pieces are together has";
  EXPECT_TRUE(changed([](recording& r) { r.events[1].group = 1; }))
      << "a store that is not ordered behind others";
  EXPECT_TRUE(changed([](recording& r) { r.events[1].thread = 1; }));
  EXPECT_TRUE(changed([](recording& r) { r.events[1].offset = 0; }));
  EXPECT_TRUE(changed([](recording& r) { r.events[1].value = 2; }));
  EXPECT_TRUE(changed([](recording& r) { r.events[1].size = 4; }));
  EXPECT_TRUE(changed([](recording& r) { r.events[1].where = 1; }));
  EXPECT_TRUE(changed([](recording& r) { r.events[1].kind = event::what::exchange; }));
  EXPECT_TRUE(changed([](recording& r) { std::swap(r.events[0], r.events[1]); }));
  EXPECT_TRUE(changed([](recording& r) { r.events.pop_back(); }));
  EXPECT_TRUE(changed([](recording& r) { r.calls[0].parts[0].ok = true; }));
  EXPECT_TRUE(changed([](recording& r) { r.calls[0].parts[0].read = 0; }));
}

}  // namespace
}  // namespace durahash::crash
