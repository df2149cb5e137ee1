// What the library says when no caller is there to be answered.
#include "durahash/diagnostics.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "base/check.hpp"

namespace durahash::test {
namespace {

std::string heard;
void hear(const char* sentence) noexcept { heard = sentence; }

TEST(Diagnostics, AListenerHearsUntilThereIsNone) {
  tell_diagnostics_to(hear);
  diagnose("%d of %s", 3, "four");
  EXPECT_EQ(heard, "3 of four");
  tell_diagnostics_to(nullptr);
  diagnose("more");
  EXPECT_EQ(heard, "3 of four");
}

TEST(Diagnostics, ASentenceIsNoLongerThanALineOfALog) {
  tell_diagnostics_to(hear);
  diagnose("%s", std::string(5000, 'x').c_str());
  tell_diagnostics_to(nullptr);
  EXPECT_EQ(heard, std::string(1023, 'x'));
}

TEST(DiagnosticsDeathTest, ABrokenInvariantIsToldBeforeTheEnd) {
  EXPECT_DEATH(
      {
        tell_diagnostics_to(
            [](const char* sentence) noexcept { std::fprintf(stderr, "heard: %s\n", sentence); });
        check(false, "the moon is round");
      },
      "heard: invariant broken: the moon is round .*diagnostics_test.cpp");
}

}  // namespace
}  // namespace durahash::test
