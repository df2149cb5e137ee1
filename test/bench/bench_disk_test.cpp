// `durahash bench` on a disk, and pools that it kills and opens again.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "bench_report.hpp"
#include "durahash/options.hpp"

namespace durahash::bench {
namespace {

/// Pools that lie on a disk, in a folder of their own, which must be empty afterwards.
json run_on_disk(const std::string& arguments) {
  namespace fs = std::filesystem;
  fs::path folder = fs::temp_directory_path() / ("bench-disk-" + std::to_string(::getpid()));
  fs::create_directory(folder);
  json report =
      run_bench("--medium disk --path " + (folder / "pool.dh").string() + " " + arguments + tiny);
  EXPECT_TRUE(fs::is_empty(folder));
  fs::remove_all(folder);
  return report;
}

TEST(BenchCommand, OnADiskItTellsWhatAnOperationWrites) {
  for (const char* level : {"power", "power_buffered"}) {
    json report = run_on_disk(
        "--workload insert,positive,update --batch 64 --log-mib 1 "
        "--lag-ms 5 --durability " +
        std::string(level));
    expect_contract(report);
    EXPECT_EQ(report["durability"], level);
    json insert = result_of(report, "insert")["disk"], get = result_of(report, "positive")["disk"];
    EXPECT_GE(insert["log_lines_per_op"], 1);
    EXPECT_EQ(get["log_lines_per_op"], 0);
    if (level == std::string("power")) {
      EXPECT_GE(insert["log_bytes_per_op"], 80 * insert["log_lines_per_op"].get<double>());
      EXPECT_NEAR(insert["ops_per_log_group"], 64, 8);
    }
    expect_keys(insert, {"checkpoint_bytes_per_op", "checkpoints", "log_stalls",
                         "latency_ns_beside_checkpoints", "latency_ns_apart"});
    EXPECT_TRUE(report["reopening"].is_null());
  }
}

TEST(BenchCommand, AKilledPoolOnADiskIsOpenedAgain) {
  for (const char* more : {"", " --durability power_buffered --key bytes"}) {
    json reopening = run_on_disk("--workload insert --reopen" + std::string(more))["reopening"];
    EXPECT_GT(reopening["lines_replayed"], 2000);
    EXPECT_GT(reopening["seconds_after_kill"], 0);
    EXPECT_GT(reopening["lines_per_second"], 0);
  }
}

TEST(BenchCommand, AKilledPoolOnAPlainFileIsOpenedAgain) {
  const std::string name =
      std::filesystem::temp_directory_path() / ("bench-killed-" + std::to_string(::getpid()));
  for (engine_kind each : all_engines()) {
    const std::string engine(name_of(each));
    json reopening = run_bench("--medium file --workload insert --reopen --path " + name +
                               " --engine " + engine + tiny)["reopening"];
    EXPECT_EQ(reopening["lines_replayed"], 0) << engine;
    EXPECT_GT(reopening["seconds_after_kill"], 0) << engine;
    EXPECT_GT(reopening["seconds_after_close"], 0) << engine;
    EXPECT_FALSE(std::filesystem::exists(name)) << engine;
  }
}

TEST(BenchCommand, WhatIsNotOnADiskHasNoFiguresOfOne) {
  json report = run_bench(std::string("--workload insert") + tiny);
  EXPECT_TRUE(report["results"][0]["disk"].is_null());
  EXPECT_TRUE(report["reopening"].is_null());
}

}  // namespace
}  // namespace durahash::bench
