// `durahash bench` from outside: the contract of its JSON, the media it runs on, its counts, its
// refusals.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "bench/workload.hpp"
#include "bench_report.hpp"
#include "durahash/options.hpp"

namespace durahash::bench {
namespace {

TEST(BenchCommand, JsonHasEveryFieldOfTheContractForEveryWorkload) {
  json report = run_bench(std::string("--workload all") + tiny);
  expect_contract(report);
  std::set<std::string> names;
  for (const json& result : report["results"]) names.insert(result["workload"]);
  EXPECT_EQ(names, (std::set<std::string>{"insert", "load", "positive", "negative", "update",
                                          "erase", "insert-steady", "ycsb-a", "ycsb-b", "ycsb-c",
                                          "ycsb-d", "ycsb-f", "dlrm", "pagerank", "churn"}));
  EXPECT_EQ(report["engine"], "turbo");
  EXPECT_EQ(report["device"], "cpu");
  EXPECT_TRUE(report["device_memory"].is_null());
  EXPECT_EQ(report["medium"], "memory");
  EXPECT_EQ(report["keys"], 2000);
}

TEST(BenchCommand, WhatIsNotCountedIsNullAndNotZero) {
  json result = run_bench(std::string("--workload insert") + tiny)["results"][0];
  EXPECT_TRUE(result["flushes_per_op"].is_null());
  EXPECT_TRUE(result["media_write_blocks_per_op"].is_null());
}

TEST(BenchCommand, TracesSayHowUnevenTheirKeysAre) {
  json report = run_bench(
      "--keys 20000 --ops 74000 --repeat 1 --workload insert,ycsb-c,dlrm,pagerank --no-latency");
  EXPECT_TRUE(result_of(report, "insert")["unique_ratio"].is_null());
  EXPECT_TRUE(result_of(report, "insert")["top_1_percent_share"].is_null());
  for (const char* workload : {"ycsb-c", "dlrm", "pagerank"}) {
    json result = result_of(report, workload);
    EXPECT_GT(result["unique_ratio"], 0.01) << workload;
    EXPECT_LT(result["unique_ratio"], 0.3) << workload;  // 20,000 records in 74,000 operations
    EXPECT_GT(result["top_1_percent_share"], 0.1) << workload;
    EXPECT_LT(result["top_1_percent_share"], 0.9) << workload;
  }
  EXPECT_EQ(result_of(report, "dlrm")["distribution"], "tables");
  EXPECT_EQ(result_of(report, "pagerank")["distribution"], "rmat");
}

TEST(BenchCommand, ATraceIsTheSameForEveryEngineNumberOfThreadsAndBatch) {
  const std::string arguments =
      "--keys 5000 --ops 10000 --repeat 1 --workload dlrm,pagerank --no-latency --seed 3";
  json one = run_bench(arguments),
       reports = run_bench(arguments + " --engine all --threads 2 --batch 104 2>/dev/null");
  for (const json& report : reports.is_array() ? reports : json::array({reports}))
    for (const char* workload : {"dlrm", "pagerank"})
      for (const char* figure : {"unique_ratio", "top_1_percent_share"})
        EXPECT_EQ(result_of(report, workload)[figure], result_of(one, workload)[figure])
            << workload << " " << figure;
}

TEST(BenchCommand, TheTableForPeopleSaysWhatATraceIsMadeOf) {
  tool_answer answer = run_tool(std::string("bench --workload insert,dlrm,pagerank") + tiny);
  EXPECT_EQ(answer.exit_code, 0);
  for (const char* word : {"unique ratio", "top 1 %", "26 tables with 1,", "an assumption",
                           "scale 10, 1,024 vertices"})
    EXPECT_NE(answer.output.find(word), std::string::npos) << word << " in\n" << answer.output;
}

TEST(BenchCommand, ABatchHolds65536SamplesOfDlrm) {
  json report = run_bench(
      "--keys 2000 --ops 1703936 --batch 1703936 --repeat 1 --workload dlrm --no-latency");
  EXPECT_EQ(report["batch"], 26 * 65536);
}

TEST(BenchCommand, TracesWorkOnAsFewRecordsAsOne) {
  json report = run_bench("--keys 1 --ops 100 --repeat 1 --workload dlrm,pagerank --no-latency");
  for (const json& result : report["results"])
    EXPECT_EQ(result["top_1_percent_share"], 1) << result["workload"];
}

TEST(BenchCommand, HelpNamesEveryWorkload) {
  std::string help = run_tool("bench --help").output;
  for (const workload_traits& traits : all_workloads())
    EXPECT_NE(help.find("\n  " + std::string(traits.name) + " "), std::string::npos) << traits.name;
}

class BenchCommandShapes : public testing::TestWithParam<const char*> {};

TEST_P(BenchCommandShapes, RunsEveryWorkloadWithEveryAnswerRight) {
  expect_contract(run_bench(std::string("--workload all ") + GetParam() + tiny));
}

INSTANTIATE_TEST_SUITE_P(Shapes, BenchCommandShapes,
                         testing::Values("--batch 7", "--threads 2", "--threads 2 --batch 64",
                                         "--medium file", "--medium emulated --batch 16",
                                         "--durability power", "--key bytes",
                                         "--key bytes --key-bytes 100 --value-bytes 3 --batch 64",
                                         "--medium file --key bytes --threads 2",
                                         "--distribution uniform",
                                         "--distribution zipfian --theta 1"));

TEST(BenchCommand, EmulatedMediumCountsWhatEachOperationDoes) {
  json report = run_bench(
      "--medium emulated --keys 20000 --workload insert,positive,negative,update,erase --repeat 2");
  for (const char* workload : {"insert", "update", "erase"}) {
    json result = result_of(report, workload);
    // A durable write flushes at least the line of its commit point and fences it, and does not
    // rewrite its shard each time.
    EXPECT_GE(result["flushes_per_op"], 0.99) << workload;
    EXPECT_GE(result["fences_per_op"], 0.99) << workload;
    EXPECT_LE(result["flushes_per_op"], 10) << workload;
    EXPECT_GT(result["media_write_blocks_per_op"], 0) << workload;
  }
  for (const char* workload : {"positive", "negative"}) {
    json result = result_of(report, workload);
    EXPECT_EQ(result["fences_per_op"], 0) << workload;
    EXPECT_GT(result["media_read_blocks_per_op"], 0) << workload;
  }
}

TEST(BenchCommand, CountsLeaveOutWhatTheCountingReads) {
  // One operation: whatever it does, it does not read a table of thousands of blocks.
  json report =
      run_bench("--medium emulated --keys 50000 --ops 1 --workload positive,update --repeat 1");
  for (const json& result : report["results"])
    EXPECT_LE(result["media_read_blocks_per_op"], 16) << result["workload"];
}

TEST(BenchCommand, ABatchSharesItsFences) {
  json one = run_bench("--medium emulated --keys 20000 --workload insert-steady --repeat 1");
  json many =
      run_bench("--medium emulated --keys 20000 --workload insert-steady --repeat 1 --batch 64");
  EXPECT_LT(many["results"][0]["fences_per_op"].get<double>(),
            one["results"][0]["fences_per_op"].get<double>() / 4);
  EXPECT_EQ(one["durability"], "power") << "a report without a load is of a table, too";
  EXPECT_GT(one["load_factor"]["final"].get<double>(), 0);
}

TEST(BenchCommand, CountsOfOneThreadComeBackWithTheSeed) {
  // The hash seed is the pool's own and random, so that a rerun places its keys elsewhere: equal up
  // to the noise of placement.
  const std::string arguments =
      "--medium emulated --keys 50000 --workload positive,update,erase --repeat 1 --seed 7";
  json first = run_bench(arguments), again = run_bench(arguments);
  for (std::size_t i = 0; i < first["results"].size(); ++i)
    for (const char* count : {"flushes_per_op", "fences_per_op", "media_read_blocks_per_op",
                              "media_write_blocks_per_op"}) {
      double a = first["results"][i][count], b = again["results"][i][count];
      EXPECT_NEAR(a, b, 0.02 + 0.05 * a) << first["results"][i]["workload"] << " " << count;
    }
}

TEST(BenchCommand, ColdLoadIsReportedApart) {
  json results = run_bench(std::string("--cold --workload insert,positive") + tiny)["results"];
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[0]["memory"], "cold");
  EXPECT_EQ(results[1]["memory"], "warm");
  EXPECT_EQ(results[0]["workload"], results[1]["workload"]);
}

TEST(BenchCommand, BatchLatenciesSayWhatTheyAre) {
  EXPECT_EQ(run_bench(std::string("--workload positive") + tiny)["results"][0]["latency_of"],
            "operation");
  std::string of =
      run_bench(std::string("--workload positive --batch 64") + tiny)["results"][0]["latency_of"];
  EXPECT_NE(of.find("batch of 64"), std::string::npos) << of;
}

TEST(BenchCommand, WithoutTheLatencyRepetitionLatenciesAreNull) {
  json result = run_bench(std::string("--no-latency --workload positive") + tiny)["results"][0];
  EXPECT_TRUE(result["latency_ns"].is_null());
  EXPECT_GT(result["mops"], 0);
}

TEST(BenchCommand, LimitsAreMeasuredAndCompared) {
  json report = run_bench(
      std::string("--limits --limits-mib 1 --workload positive,update --durability power") + tiny);
  EXPECT_EQ(report["limits"]["rows"].size(), 16u);
  for (const json& result : report["results"]) EXPECT_GT(result["times_the_limit"], 0);
}

TEST(BenchCommand, AllEnginesMakeAnArrayOfReports) {
  json reports = run_bench(std::string("--engine all --workload positive 2>/dev/null") + tiny);
  for (const json& report : reports.is_array() ? reports : json::array({reports}))
    expect_contract(report);
}

TEST(BenchCommand, LoadFactorAndBytesPerKeyAreThoseOfATable) {
  json report = run_bench("--keys 100000 --workload positive --repeat 1");
  double last = report["load_factor"]["final"], peak = report["load_factor"]["peak"],
         bytes = report["bytes_per_key"];
  EXPECT_GT(last, 0.1);
  EXPECT_LE(peak, 1.0);
  EXPECT_GT(peak, 0.1);
  EXPECT_GE(bytes, 16 / peak * 0.9);  // no table keeps 16-byte records in less
  EXPECT_LT(bytes, 200);
}

TEST(BenchCommand, PoolsLeaveNothingBehind) {
  namespace fs = std::filesystem;
  std::string name =
      fs::temp_directory_path() / ("bench-pool-" + std::to_string(::getpid()) + ".dh");
  expect_contract(run_bench("--medium file --workload insert,positive --path " + name + tiny));
  EXPECT_FALSE(fs::exists(name));
}

TEST(BenchCommand, AnExistingFileIsNotTouched) {
  namespace fs = std::filesystem;
  std::string name = fs::temp_directory_path() / ("bench-precious-" + std::to_string(::getpid()));
  std::ofstream(name) << "precious";
  tool_answer answer = run_tool("bench --medium file --path " + name + tiny + " 2>&1");
  EXPECT_NE(answer.exit_code, 0);
  EXPECT_NE(answer.output.find(name), std::string::npos) << answer.output;
  std::string content;
  std::ifstream(name) >> content;
  EXPECT_EQ(content, "precious");
  fs::remove(name);
}

TEST(BenchCommand, TheTableForPeopleNamesMachineSeedAndEveryWorkload) {
  tool_answer answer = run_tool(std::string("bench --workload insert,ycsb-a --seed 77") + tiny);
  EXPECT_EQ(answer.exit_code, 0);
  for (const char* word :
       {"cores", "commit", "seed 77", "insert", "ycsb-a", "load factor", "Mops/s", "2 repetitions"})
    EXPECT_NE(answer.output.find(word), std::string::npos) << word << " in\n" << answer.output;
}

TEST(BenchCommand, NonsenseIsRefusedWithASentenceThatNamesIt) {
  struct refusal {
    const char* arguments;
    const char* named;
  };
  for (const refusal& one :
       {refusal{"--keys many", "many"},
        {"--keys 0", "--keys"},
        {"--workload sort", "sort"},
        {"--workload ycsb-e", "ycsb-e"},
        {"--threads 0", "--threads"},
        {"--batch -3", "-3"},
        {"--engine btree", "btree"},
        {"--medium tape", "tape"},
        {"--path /tmp/x", "--path"},
        {"--medium pmem", "--path"},
        {"--medium disk", "--path"},
        {"--log-mib 64", "--medium disk"},
        {"--reopen", "--medium disk"},
        {"--set shards", "shards"},
        {"--key bytes --key-bytes 4", "--key-bytes"},
        {"--distribution normal", "normal"},
        {"--theta x", "theta"},
        {"--limits --limits-mib 3", "--limits-mib"},
        {"--device gpu --engine gphash", "gpu"},
        {"--device cuda:first --engine gphash", "first"},
        {"--device cuda:0", "--engine gphash"},
        {"--device cuda:0 --engine all", "--engine gphash"},
        {"--device cuda:0 --engine gphash --key bytes --key-bytes 20", "--key-bytes 8, 16"},
        {"--device cuda:0 --engine gphash --key bytes --key-bytes 8 --device-memory host-mirror "
         "--device-cache 20",
         "--device-memory"},
        {"--device cuda:0 --engine gphash --medium emulated", "--medium"},
        {"--device cuda:0 --engine gphash --threads 2", "--threads 1"},
        {"--device cuda:0 --engine gphash --limits", "--limits"},
        {"--device-memory pool", "--device cuda:N"},
        {"--device cuda:0 --engine gphash --device-memory disk", "disk"},
        {"--repeat 0", "--repeat"}}) {
    tool_answer answer = run_tool(std::string("bench ") + one.arguments + " 2>&1");
    EXPECT_EQ(answer.exit_code, 2) << one.arguments << "\n" << answer.output;
    EXPECT_NE(answer.output.find(one.named), std::string::npos) << one.arguments << "\n"
                                                                << answer.output;
  }
}

/// On a GPU, or where there is none not at all: before a file is made.
TEST(BenchCommand, RunsOnACudaDeviceOrSaysWhyNot) {
  namespace fs = std::filesystem;
  std::string report = fs::temp_directory_path() / ("bench-device-" + std::to_string(::getpid())),
              pool = report + ".dh";
  tool_answer answer = run_tool("bench --engine gphash --device cuda:0 --medium file --path " +
                                pool + " --json " + report + tiny + " 2>&1");
  EXPECT_FALSE(fs::exists(pool));
  if (answer.exit_code == 0) {
    json told = json::parse(std::ifstream(report));
    expect_contract(told);
    EXPECT_TRUE(told["device"].get<std::string>().starts_with("cuda:0 ")) << told["device"];
    EXPECT_EQ(told["batch"], 65536);
    fs::remove(report);
  } else {
    EXPECT_EQ(answer.exit_code, 3);
    EXPECT_NE(answer.output.find("CUDA"), std::string::npos) << answer.output;
    EXPECT_FALSE(fs::exists(report));
  }
}

TEST(BenchCommand, HasNoDeviceOfANumberThatNoneHas) {
  tool_answer answer = run_tool("bench --engine gphash --device cuda:1023 2>&1");
  EXPECT_TRUE(answer.exit_code == 2 || answer.exit_code == 3) << answer.exit_code;
  EXPECT_NE(answer.output.find("CUDA"), std::string::npos) << answer.output;
}

TEST(BenchCommand, APathThatCannotBeWrittenEndsTheRunBeforeItBegins) {
  tool_answer answer = run_tool("bench --json /nonexistent/report.json --keys 1G 2>&1");
  EXPECT_EQ(answer.exit_code, 3);
  EXPECT_NE(answer.output.find("/nonexistent/report.json"), std::string::npos);
}

TEST(BenchCommand, AFullPoolIsSaidToBeFull) {
  // The pool may not grow past what the address space holds: 1 GiB is less than these records need.
  tool_answer answer = run_tool(
      "bench --address-space-gib 1 --keys 600 --key bytes --value-bytes 3M --workload insert "
      "--repeat 1 2>&1");
  EXPECT_EQ(answer.exit_code, 3) << answer.output;
  EXPECT_NE(answer.output.find("operations failed"), std::string::npos) << answer.output;
}

TEST(BenchCommand, APlotIsDrawnOrItsAbsenceExplained) {
  namespace fs = std::filesystem;
  std::string picture =
      fs::temp_directory_path() / ("bench-" + std::to_string(::getpid()) + ".png");
  tool_answer answer =
      run_tool(std::string("bench --workload insert,positive --plot ") + picture + tiny + " 2>&1");
  bool there = std::system("python3 -c 'import matplotlib' >/dev/null 2>&1") == 0;
  EXPECT_EQ(answer.exit_code, there ? 0 : 3) << answer.output;
  EXPECT_EQ(fs::exists(picture), there);
  if (there) {
    EXPECT_GT(fs::file_size(picture), 1000u);
  } else {
    EXPECT_NE(answer.output.find("matplotlib"), std::string::npos) << answer.output;
  }
  fs::remove(picture);
}

}  // namespace
}  // namespace durahash::bench
