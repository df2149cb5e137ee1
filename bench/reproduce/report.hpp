// The rows of a run, as JSON, as lines for a terminal, and beside an earlier run.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/device.hpp"
#include "bench/machine.hpp"
#include "bench/reproduce/claim.hpp"

namespace durahash::reproduce {

struct request {
  std::vector<engine_kind> engines;
  std::uint64_t keys = 0;
  std::uint64_t seed = 1;
  bool quick = false;
  /// For rows that need a GPU; or why there is none.
  result<std::shared_ptr<bench::device>> on = bench::no_device_wanted();
};

struct row {
  const claim* of = nullptr;
  finding found;
  double seconds = 0;            ///< that it took
  double processor_seconds = 0;  ///< that it worked: less where other programs had the processors
};

struct report {
  request asked;
  bench::machine_facts machine;
  double load_average = 0;  ///< of the last minute, the highest that was seen between two rows
  double seconds = 0, processor_seconds = 0;
  std::vector<row> rows;
  std::vector<picture> pictures;
};

/// `tell(id, done, all)` before each row.
report run(const request&,
           const std::function<void(std::string_view, std::size_t, std::size_t)>& tell);

/// Six digits, as a report has them: more are noise, and make reports that nobody can compare by
/// eye.
double as_written(double value);

/// docs/reference/cli.md has the fields.
nlohmann::ordered_json json_of(const report&);

/// Lines of at most 100 columns.
std::string text_of(const report&);

/// A row that is not what it was.
struct change {
  std::string id;
  double before = 0, now = 0;
  std::string unit;
  bool is_regression = false;
  std::string why;  ///< a sentence
};

/// What differs from the report `before`, beyond noise: counts by more than 1 %, what was counted
/// beside other threads by more than 10 %, times by more than 50 %. It is a regression if the
/// figure got worse, or if a claim that held does not hold now. Throws bench::failure when
/// `before` is no such report, or one of other keys, another seed, or quick beside full.
std::vector<change> compare(const nlohmann::ordered_json& before, const report& now);

}  // namespace durahash::reproduce
