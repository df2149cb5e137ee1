// The processor's counter of instructions, where there is one.
#include "bench/instruction_counter.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace durahash::bench {
namespace {

[[gnu::noinline]] std::uint64_t work(std::uint64_t rounds) {
  volatile std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < rounds; ++i) sum = sum + i;
  return sum;
}

TEST(InstructionCounter, CountsWhatThisThreadExecutes) {
  instruction_counter counter;
  const auto before = counter.value();
  if (!before) GTEST_SKIP() << "no counter of instructions here";
  (void)work(1'000'000);
  const auto after = counter.value();
  ASSERT_TRUE(after);
  EXPECT_GT(*after - *before, 2'000'000u);  // a load, an addition, a store and a branch each
  EXPECT_LT(*after - *before, 40'000'000u);
}

TEST(InstructionCounter, IsThereForEveryThreadOrForNone) {
  instruction_counter one, other;
  EXPECT_EQ(one.value().has_value(), other.value().has_value());
}

}  // namespace
}  // namespace durahash::bench
