// `durahash bench` over time: lists of runs, arrivals, windows.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "bench_report.hpp"

namespace durahash::bench {
namespace {

TEST(BenchCommand, ListsAreOneRunForEachCombination) {
  const json all = run_bench(
      "--engine turbo,cceh --keys 1k,2k --threads 1,2 --batch 1,16 --repeat 1 --no-latency "
      "--workload insert,positive");
  std::set<std::string> seen;
  for (const json& one : all) {
    seen.insert(one["engine"].get<std::string>() + " " + one["keys"].dump() + " " +
                one["threads"].dump() + " " + one["batch"].dump());
    EXPECT_EQ(one["results"][0]["ops"], one["keys"]);
  }
  EXPECT_EQ(all.size(), 16u);
  EXPECT_EQ(seen.size(), 16u);
  tool_answer text =
      run_tool("bench --engine turbo,cceh --keys 1k,2k --repeat 1 --no-latency --workload insert");
  const auto table = text.output.find("bytes/record");
  ASSERT_NE(table, std::string::npos) << text.output;
  EXPECT_EQ(
      std::count(text.output.begin() + static_cast<std::ptrdiff_t>(table), text.output.end(), '\n'),
      5)
      << text.output;
  EXPECT_EQ(run_tool("bench --engine turbo,btree 2>&1").exit_code, 2);
  EXPECT_EQ(run_tool("bench --keys 1k,x 2>&1").exit_code, 2);
}

/// Ten million a second are more than any memory serves one by one with its clock: a queue forms,
/// and the last to arrive waits for nearly all others.
TEST(BenchCommand, ALatencyCountsFromTheArrival) {
  auto longest = [](const std::string& arrivals) {
    const json result =
        run_bench("--keys 50k --repeat 1 --workload insert" + arrivals)["results"][0];
    return std::pair(result["latency_ns"]["p50"].get<double>(),
                     result["latency_ns"]["max"].get<double>());
  };
  const auto [p50, most] = longest(" --arrivals 1G");
  EXPECT_GT(p50, most / 20) << "a queue that grows is half as long in the middle";
  EXPECT_GT(most, 50'000 * 10.0) << "50,000 operations of 10 ns at the least";
  const auto [rare_p50, rare_most] = longest(" --arrivals 50k");
  EXPECT_LT(rare_p50, p50);
  EXPECT_EQ(run_tool("bench --keys 1k --arrivals 5 --batch 8 2>&1").exit_code, 2);
  EXPECT_EQ(run_tool("bench --keys 1k --arrivals 5 --no-latency 2>&1").exit_code, 2);
}

TEST(BenchCommand, WindowsHoldEveryOperation) {
  const json all = run_bench(
      "--keys 100k --repeat 1 --threads 2 --workload insert,churn --series 5 --arrivals 1M");
  EXPECT_EQ(all["window_ms"], 5);
  for (const json& result : all["results"]) {
    std::uint64_t ops = 0;
    double longest = 0;
    for (const json& window : result["series"]) {
      ops += window["ops"].get<std::uint64_t>();
      longest = std::max(longest, window["longest_ns"].get<double>());
    }
    EXPECT_EQ(ops, result["ops"]);
    EXPECT_NEAR(longest, result["latency_ns"]["max"], 1);
    EXPECT_GT(result["series"].size(), 4u) << "at a million a second 100,000 take 100 ms";
  }
  EXPECT_TRUE(
      run_bench("--keys 1k --repeat 1 --workload insert")["results"][0]["series"].is_null());
}

}  // namespace
}  // namespace durahash::bench
