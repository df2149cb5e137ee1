#include "base/process_facts.hpp"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace durahash::test {
namespace {

TEST(ProcessFacts, OfThisProcessAreThoseOfItsNumber) {
  auto here = facts_of_this_process(),
       same = facts_of_process(static_cast<std::uint64_t>(::getpid()));
  ASSERT_TRUE(here && same);
  EXPECT_EQ(here->start_ticks, same->start_ticks);
  EXPECT_GT(here->start_ticks, 0u);
  EXPECT_GE(here->threads, 1);
  EXPECT_FALSE(here->has_closed_its_files());
}

TEST(ProcessFacts, AProgramMayHaveAnyName) {
  char before[16];
  ASSERT_EQ(::prctl(PR_GET_NAME, before), 0);
  auto usual = facts_of_this_process();
  ASSERT_EQ(::prctl(PR_SET_NAME, ") Z 1 (2) "), 0);
  auto named = facts_of_this_process();
  ::prctl(PR_SET_NAME, before);
  ASSERT_TRUE(usual && named);
  EXPECT_EQ(named->start_ticks, usual->start_ticks);
  EXPECT_FALSE(named->has_closed_its_files());
}

TEST(ProcessFacts, AChildBeganLaterThanItsParentSays) {
  const std::uint64_t here = start_ticks_of_this_process();
  EXPECT_EQ(here, facts_of_this_process()->start_ticks);
  EXPECT_EQ(here, start_ticks_of_this_process());
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // some ticks of the clock
  pid_t child = ::fork();
  if (child == 0) {
    const std::uint64_t there = start_ticks_of_this_process();
    ::_exit(there == facts_of_this_process()->start_ticks && there != here ? 0 : 1);
  }
  ASSERT_GT(child, 0);
  int ended = 0;
  ASSERT_EQ(::waitpid(child, &ended, 0), child);
  EXPECT_EQ(ended, 0) << "what the parent knew is not true of the child";
}

TEST(ProcessFacts, AnEndedChildHasClosedItsFilesAndThenIsNotThere) {
  pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ASSERT_GT(child, 0);
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  auto zombie = facts_of_process(static_cast<std::uint64_t>(child));
  ASSERT_TRUE(zombie);
  EXPECT_TRUE(zombie->has_closed_its_files());
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(facts_of_process(static_cast<std::uint64_t>(child)));
}

}  // namespace
}  // namespace durahash::test
