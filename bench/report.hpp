// What is shown of a benchmark: a table for people, JSON for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/limits.hpp"
#include "bench/machine.hpp"
#include "bench/outcome.hpp"
#include "bench/request.hpp"

namespace durahash::bench {

struct report {
  request asked;
  machine_facts machine;
  std::vector<engine_outcome> engines;
  std::optional<limits_report> limits;
};

/// Lines for a terminal of 120 columns.
std::string table_of(const report& all);

/// The rates of all of them, a line for each, and a column for each workload.
std::string sweep_of(const std::vector<report>& all);

/// The contract of `durahash bench --json`: one object; with several engines or several reports, an
/// array of one per engine and report. What was not measured is null, and so are unique_ratio and
/// top_1_percent_share where every record is used once.
nlohmann::ordered_json json_of(const std::vector<report>& all);

/// How many times longer an operation took than the memory alone would have; nothing without
/// limits.
std::optional<double> times_the_limit(const report& all, const engine_outcome& engine,
                                      const workload_outcome& result);

}  // namespace durahash::bench
