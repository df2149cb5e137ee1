// What hangs, aborts or faults does so in a child process, and is a finding; findings travel
// between processes whole.
#include "explorer/process_pool.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "explorer/exploring.hpp"
#include "explorer/last_words.hpp"

namespace durahash::crash {
namespace {

TEST(CrashCrew, FindingsTravelBetweenProcessesWhole) {
  findings one;
  std::uint64_t next = 1;
  auto numbers = [](findings& f) {
    return std::vector<std::uint64_t*>{
        &f.programs,   &f.threaded, &f.exhausted,     &f.schedules, &f.traces,     &f.cuts,
        &f.whole_cuts, &f.images,   &f.unique_images, &f.pruned,    &f.recoveries, &f.gone_on,
        &f.killed,     &f.nested,   &f.facts_checked, &f.left_out};
  };
  for (std::uint64_t* n : numbers(one)) *n = next++;
  one.max_log10 = 2.5;
  one.commits["a commit"] = {3, 4};
  one.places["a place"] = 5;
  one.violations.push_back(
      {"what", std::string("a report\0with a zero", 19), "replay", "a job", 7});
  findings other = findings::unpacked(one.packed());
  for (std::size_t i = 0; i < numbers(one).size(); ++i)
    EXPECT_EQ(*numbers(other)[i], *numbers(one)[i]) << i;
  EXPECT_EQ(other.max_log10, 2.5);
  EXPECT_EQ(other.commits.at("a commit").lost, 4u);
  EXPECT_EQ(other.places.at("a place"), 5u);
  ASSERT_EQ(other.violations.size(), 1u);
  EXPECT_EQ(other.violations.front().report, one.violations.front().report);
  EXPECT_EQ(other.violations.front().replay, "replay");
  EXPECT_EQ(other.violations.front().job, "a job");
  EXPECT_EQ(other.violations.front().calls, 7u);

  findings sum = one;
  sum.add(other);
  for (std::size_t i = 0; i < numbers(one).size(); ++i)
    EXPECT_EQ(*numbers(sum)[i], 2 * *numbers(one)[i]) << i;
  EXPECT_EQ(sum.commits.at("a commit").kept, 6u);
  EXPECT_EQ(sum.places.at("a place"), 10u);
  EXPECT_EQ(sum.violations.size(), 2u);
  // a child that died while it spoke
  findings cut = findings::unpacked(one.packed().substr(0, 40));
  EXPECT_TRUE(cut.violations.empty());
}

findings of_cuts(std::uint64_t cuts) {
  findings made;
  made.cuts = cuts;
  return made;
}

std::vector<findings> of_children(std::size_t count, unsigned at_once, unsigned seconds,
                                  const std::function<findings(std::size_t)>& work) {
  std::vector<findings> all(count);
  run_threads(count, at_once, seconds, work,
              [&](std::size_t i, findings f) { return all[i] = std::move(f), true; });
  return all;
}

struct recovers_for_ever : wrapped {
  recovers_for_ever(std::unique_ptr<subject> inner, made_in where)
      : wrapped(std::move(inner), where) {
    while (where.makes == 5) where.listener.reading(where.memory.base(), 8);
  }
};
struct aborts_in_recovery : wrapped {
  aborts_in_recovery(std::unique_ptr<subject> inner, made_in where)
      : wrapped(std::move(inner), where) {
    if (where.makes == 5) std::abort();
  }
};
struct faults_in_recovery : wrapped {
  faults_in_recovery(std::unique_ptr<subject> inner, made_in where)
      : wrapped(std::move(inner), where) {
    if (where.makes == 5) ::raise(SIGSEGV);
  }
};

template <class W>
void expect_last_words(const std::string& what) {
  std::vector<findings> found = of_children(1, 1, 300, [](std::size_t) { return explore_a<W>(); });
  ASSERT_EQ(found.front().violations.size(), 1u) << what;
  EXPECT_EQ(found.front().violations.front().what, what);
  EXPECT_NE(found.front().violations.front().report.find("the crash: after event"),
            std::string::npos)
      << "and where";
  EXPECT_GT(found.front().cuts, 0u) << "with what was found before";
}

TEST(CrashExplorer, ARecoveryThatDoesNotEndIsAViolation) {
  expect_last_words<recovers_for_ever>("recovery, or the first operations after it, do not end");
}
TEST(CrashExplorer, ARecoveryThatAbortsIsAViolation) {
  expect_last_words<aborts_in_recovery>("an invariant broke, and stopped the process");
}
TEST(CrashExplorer, ARecoveryThatFaultsIsAViolation) {
  expect_last_words<faults_in_recovery>(
      "an access outside the pool, or another fault, stopped the process");
}

TEST(CrashCrew, EveryWorkIsDoneOnceAndItsFindingsComeBack) {
  std::vector<findings> all = of_children(7, 3, 60, [](std::size_t i) {
    findings f;
    f.cuts = i + 1;
    // more than a pipe holds
    f.violations.push_back({"of " + std::to_string(i), std::string(200'000, 'x'), ""});
    return f;
  });
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].cuts, i + 1);
    ASSERT_EQ(all[i].violations.size(), 1u);
    EXPECT_EQ(all[i].violations.front().what, "of " + std::to_string(i));
    EXPECT_EQ(all[i].violations.front().report.size(), 200'000u);
  }
}

TEST(CrashCrew, NoMoreIsStartedOnceToldSo) {
  std::size_t ended = 0;
  run_threads(
      10, 1, 60, [](std::size_t) { return findings{}; },
      [&](std::size_t i, findings) { return ++ended, i < 2; });
  EXPECT_EQ(ended, 3u);
}

TEST(CrashCrew, AChildThatSaysNothingIsAViolation) {
  std::vector<findings> all = of_children(3, 3, 1, [](std::size_t i) {
    if (i == 0)
      while (true) ::pause();
    if (i == 1) ::_exit(0);
    last_words_context([] { return findings{}.packed(); }, 1);
    if (i == 2) last_words("a planted end");
    return findings{};
  });
  EXPECT_EQ(first_of(all[0]), "nothing was heard of this exploration for too long: a hang");
  EXPECT_EQ(first_of(all[1]), "the exploring process died without a word");
  EXPECT_EQ(first_of(all[2]), "a planted end");
}

TEST(CrashCrew, AChildThatGetsLittleOfTheProcessorsIsAwaited) {
  std::vector<findings> all = of_children(1, 1, 2, [](std::size_t) {
    constexpr std::clock_t work = CLOCKS_PER_SEC / 2;
    while (std::clock() < work) {}
    ::sleep(3);
    return of_cuts(12);
  });
  EXPECT_EQ(all[0].cuts, 12u);
  EXPECT_TRUE(all[0].violations.empty());
}

TEST(CrashCrew, AnExaminationThatTakesTooLongIsAHang) {
  std::vector<findings> all = of_children(1, 1, 60, [](std::size_t) {
    findings before = of_cuts(12);
    last_words_context([&] { return before.packed(); }, 1);
    while (true) ::pause();
    return findings{};
  });
  EXPECT_EQ(first_of(all[0]), "recovery hangs");
  EXPECT_EQ(all[0].cuts, 12u);
}

std::chrono::nanoseconds processor_time() {
  timespec taken{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &taken);
  return std::chrono::seconds(taken.tv_sec) + std::chrono::nanoseconds(taken.tv_nsec);
}

/// As one that others keep from the processor: of its second of processor time it takes three
/// quarters, in more than a second of the clock.
TEST(CrashCrew, AnExaminationThatGetsOnSlowlyIsNoHang) {
  std::vector<findings> all = of_children(1, 1, 60, [](std::size_t) {
    findings before;
    last_words_context([&] { return before.packed(); }, 1);
    const auto began = processor_time();
    while (processor_time() - began < std::chrono::milliseconds(750)) {
      const auto now = processor_time();
      while (processor_time() - now < std::chrono::milliseconds(10)) {}
      ::usleep(15'000);
    }
    last_words_context(nullptr, 0);
    return of_cuts(12);
  });
  EXPECT_EQ(all[0].cuts, 12u);
  EXPECT_TRUE(all[0].violations.empty());
}

/// Nor is one that somebody stops, as a shell does, and lets go on later.
TEST(CrashCrew, AnExaminationThatIsStoppedIsNoHang) {
  std::vector<findings> all = of_children(1, 1, 60, [](std::size_t) {
    findings before;
    last_words_context([&] { return before.packed(); }, 2);
    const pid_t stopped = ::getpid();
    if (::fork() == 0) {
      ::sleep(3);
      ::kill(stopped, SIGCONT);
      ::_exit(0);
    }
    ::raise(SIGSTOP);
    ::usleep(300'000);  // the pending second is heard here
    last_words_context(nullptr, 0);
    return of_cuts(12);
  });
  EXPECT_EQ(all[0].cuts, 12u);
  EXPECT_TRUE(all[0].violations.empty());
}

TEST(CrashCrew, ASignalThatComesBehindTheEndIsOfNothing) {
  std::vector<findings> all = of_children(1, 1, 60, [](std::size_t) {
    findings before;
    last_words_context([&] { return before.packed(); }, 1);
    last_words_context(nullptr, 0);
    ::raise(SIGALRM);
    return of_cuts(12);
  });
  EXPECT_EQ(all[0].cuts, 12u);
  EXPECT_TRUE(all[0].violations.empty());
}

TEST(CrashCrew, AnExaminationThatWorksForEverIsAHang) {
  std::vector<findings> all = of_children(1, 1, 60, [](std::size_t) {
    findings before = of_cuts(12);
    last_words_context([&] { return before.packed(); }, 1);
    while (processor_time() >= std::chrono::nanoseconds(0)) {}
    return findings{};
  });
  EXPECT_EQ(first_of(all[0]), "recovery hangs");
}

}  // namespace
}  // namespace durahash::crash
