// Programs of several threads: which schedules count as one, and when a program has been gone
// through whole.
#include "explorer/threads.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/turns.hpp"
#include "explorer/wrapped.hpp"

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
                               {.preemptions = 2, .max_schedules = 100'000});
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
  findings whole = explore_two(threads, {.preemptions = 2, .max_schedules = 100'000});
  EXPECT_EQ(whole.threaded, 1u);
  EXPECT_EQ(whole.exhausted, 1u);
  EXPECT_LT(whole.traces, whole.schedules);
  findings part = explore_two(threads, {.preemptions = 2, .max_schedules = 40});
  EXPECT_EQ(part.threaded, 1u);
  EXPECT_EQ(part.exhausted, 0u);
  EXPECT_LT(part.schedules, whole.schedules);
  EXPECT_LT(part.traces, whole.traces);
}

TEST(CrashThreads, WhatIsDoneToTheWholeTableStandsBesideWritersAndACloseBesideNone) {
  auto is_of_all = [](const operation& o) { return !takes_keys(o.what); };
  std::set<act> drawn;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    std::mt19937_64 random(seed);
    threaded_program closing = beside_threads(2, true, random);
    ASSERT_EQ(closing.threads.size(), 1u);
    EXPECT_EQ(closing.threads.front().back().what, act::reopen);
    threaded_program p = beside_threads(3, false, random);
    ASSERT_EQ(p.threads.size(), 3u);
    std::size_t of_all = 0;
    for (const std::vector<operation>& thread : p.threads) {
      bool all = std::all_of(thread.begin(), thread.end(), is_of_all);
      EXPECT_TRUE(all || std::none_of(thread.begin(), thread.end(), is_of_all));
      of_all += all;
      for (const operation& o : thread)
        if (all) drawn.insert(o.what);
    }
    EXPECT_EQ(of_all, 1u);
  }
  EXPECT_EQ(drawn, (std::set{act::sync, act::reserve, act::scan, act::compact}));
}

TEST(CrashThreads, ACloseIsLookedAtBesideTheCountAndThePoolOpensAfterIt) {
  solo alone;
  turns::install(&alone);
  subject_kind kind = usual_kind();
  unsigned opened = 0;
  maker make = [&, inner = wrapping<wrapped>()](const subject_kind& k, region& r, tracer& t,
                                                bool create, std::string& why_not) mutable {
    ++opened;
    return inner(k, r, t, create, why_not);
  };
  plan few;
  few.images = {.all_up_to = 4, .options_per_line = 2, .lines_each = 1, .samples = 1};
  few.nested_every = 1000, few.kill_every = 0;
  threaded_program p{{{{act::put, {0}, 1}, {act::put, {1}, 2}}, 2},
                     {{{act::erase, {0}, 0}, {act::reopen, {}, 0}}},
                     true};
  auto explored = [&](bool killed) {
    p.killed = killed;
    explorer x(kind, make, few, 1);
    std::mt19937_64 random(1);
    explore_threads(kind, make, x, p, {.preemptions = 1, .max_schedules = 100}, random);
    return std::move(x.found());
  };
  findings counted = explored(true);
  EXPECT_TRUE(counted.violations.empty());
  EXPECT_GT(counted.schedules, 5u) << "the count takes its turns beside erase and close";
  EXPECT_GT(opened, 2 * counted.schedules) << "each schedule opens it, and again after its close";
  findings clean = explored(false);
  EXPECT_TRUE(clean.violations.empty());
  EXPECT_EQ(clean.schedules, 1u) << "nothing goes on beside it";
  turns::install(nullptr);
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
