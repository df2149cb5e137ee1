// The processor's counter of instructions, where there is one.
#include "bench/instruction_counter.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>

#include "test/bench/tool_run.hpp"

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

bool with_counter() { return instruction_counter().value().has_value(); }
bool with_valgrind() { return std::system("valgrind --version >/dev/null 2>&1") == 0; }

constexpr const char* small_run = "--keys 5000 --repeat 1 --no-latency --workload positive,update ";

TEST(BenchInstructions, AreCountedByTheProcessorOrByCallgrind) {
  if (!with_counter() && !with_valgrind()) GTEST_SKIP() << "neither a counter nor valgrind here";
  const auto results = run_bench(std::string("--instructions ") + small_run)["results"];
  const double get = results[0]["instructions_per_op"], update = results[1]["instructions_per_op"];
  for (const auto& result : results)
    EXPECT_EQ(result["instructions_by"], with_counter() ? "processor" : "callgrind");
  // bench/instructions/recorded.json has 71 and 136; here answers are checked besides
  EXPECT_GT(get, 50);
  EXPECT_GT(update, get);
  EXPECT_LT(update, 400);
}

TEST(BenchInstructions, OfABatchAreThoseOfAKey) {
  if (!with_counter() && !with_valgrind()) GTEST_SKIP() << "neither a counter nor valgrind here";
  const auto results =
      run_bench(std::string("--instructions --batch 64 --key bytes ") + small_run)["results"];
  EXPECT_GT(results[0]["instructions_per_op"], 100);
  EXPECT_LT(results[0]["instructions_per_op"], 1000);
}

TEST(BenchInstructions, AreNullWhereNobodyCountsThem) {
  const auto results = run_bench(small_run)["results"];
  EXPECT_EQ(results[0]["instructions_per_op"].is_null(), !with_counter());
  EXPECT_EQ(results[0]["instructions_by"].is_null(), !with_counter());
}

TEST(BenchInstructions, SayWhatTheyNeedBeforeTheRunBegins) {
  tool_answer answer = run_tool("bench --device cuda:0 --engine gphash --instructions 2>&1");
  EXPECT_EQ(answer.exit_code, 2);
  EXPECT_NE(answer.output.find("--instructions"), std::string::npos) << answer.output;
  if (with_counter()) GTEST_SKIP() << "the processor counts: valgrind is not needed";
  // a PATH without valgrind
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", "/nonexistent", 1);
  answer = run_tool(std::string("bench --instructions ") + small_run + "2>&1");
  ::setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(answer.exit_code, 3);
  EXPECT_NE(answer.output.find("apt install valgrind"), std::string::npos) << answer.output;
}

}  // namespace
}  // namespace durahash::bench
