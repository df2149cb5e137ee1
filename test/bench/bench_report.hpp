// What the tests of `durahash bench` have in common: the contract of its JSON.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tool_run.hpp"

namespace durahash::bench {

using nlohmann::json;

inline constexpr const char* tiny = " --keys 2000 --repeat 2";

inline void expect_keys(const json& object, std::initializer_list<const char*> keys) {
  for (const char* key : keys)
    EXPECT_TRUE(object.contains(key)) << key << " is missing in " << object.dump();
}

inline void expect_contract(const json& report) {
  expect_keys(report, {"machine", "device", "engine", "medium", "keys", "threads", "batch", "seed",
                       "results", "load_factor", "bytes_per_key"});
  expect_keys(report["machine"], {"cpu", "cores", "kernel", "commit"});
  expect_keys(report["load_factor"], {"final", "peak"});
  ASSERT_FALSE(report["results"].empty());
  for (const json& result : report["results"]) {
    expect_keys(result, {"workload", "ops", "seconds", "mops", "latency_ns", "flushes_per_op",
                         "fences_per_op", "media_read_blocks_per_op", "media_write_blocks_per_op"});
    expect_keys(result["latency_ns"], {"p50", "p99", "p999", "max"});
    EXPECT_GT(result["seconds"], 0);
    EXPECT_NEAR(result["mops"], result["ops"].get<double>() / result["seconds"].get<double>() / 1e6,
                1e-6);
    const json& latency = result["latency_ns"];
    EXPECT_LE(latency["p50"], latency["p99"]);
    EXPECT_LE(latency["p99"], latency["p999"]);
    EXPECT_LE(latency["p999"], latency["max"]);
    std::uint64_t timed = 0;
    for (const json& step : result["latency_steps"]) timed += step[1].get<std::uint64_t>();
    if (report["batch"] == 1) {
      EXPECT_EQ(timed, result["ops"]) << "every operation is in a step";
    }
    EXPECT_EQ(result["latency_steps"].back()[0], latency["max"]);
  }
}

inline json result_of(const json& report, const std::string& workload) {
  for (const json& result : report["results"])
    if (result["workload"] == workload) return result;
  ADD_FAILURE() << workload << " has no result";
  return {};
}

}  // namespace durahash::bench
