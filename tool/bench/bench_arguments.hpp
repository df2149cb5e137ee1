// What `durahash bench` is told, as it stands on the command line.
#pragma once

#include <string>
#include <vector>

#include "tool/arguments.hpp"

namespace durahash::tool {

struct bench_arguments {
  std::string engine = "turbo";
  std::string device = "cpu";
  std::string device_memory = "automatic";
  std::string device_arrays = "host";
  std::string device_cache = "0";
  std::string device_cache_policy = "lfu";
  std::string medium = "memory";
  std::string durability;
  std::string path;
  std::string log_mib = "0";
  std::string lag_ms = "10";
  std::string key = "u64";
  std::string key_bytes = "16";
  std::string value_bytes = "64";
  std::vector<std::string> settings;
  std::string flush_latency_ns = "0";
  std::string block_latency_ns = "0";
  std::string read_latency_ns = "0";
  std::string address_space_gib = "1024";

  std::string workload = "insert,positive,negative,update,erase";
  std::string keys = "4M";
  std::string ops;
  std::string threads = "1";
  std::string batch;
  std::string distribution;
  std::string theta = "0.99";
  std::string seed = "1";

  std::string arrivals = "0";
  std::string series = "0";
  std::string repeat = "3";
  bool cold = false;
  bool no_latency = false;
  bool reopen = false;
  bool limits = false;
  bool instructions = false;
  std::string limits_mib = "512";
  std::string json;
  std::string plot;
};

/// The options, the workloads and examples: all that --help says.
void add_bench_options(command_line command, bench_arguments& a);

}  // namespace durahash::tool
