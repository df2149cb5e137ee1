// What a paper says, what is measured for it here, and whether it holds: data, and a function each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "durahash/options.hpp"

namespace durahash::reproduce {

class laboratory;

/// What a figure rests on.
enum class evidence : std::uint8_t {
  /// Exact, and the same in every run with one seed; but for a few lines in a million operations
  /// where a pool above 16 MiB is made longer ahead of need, by a thread.
  counts,
  sampled,   ///< counted while other threads work: nearly the same in every run
  times,     ///< ratios of times in one interleaved run, medians
  recorded,  ///< counted by a test of the project, and recorded with it; not in this run
  none,      ///< cannot be measured here
};

/// Which way a figure gets better; where neither, a change of it is a change and no regression.
enum class better : std::uint8_t { neither, lower, higher };

enum class verdict : std::uint8_t { holds, differs, not_measured };

std::string_view name_of(evidence) noexcept;
std::string_view name_of(verdict) noexcept;

/// What was found for one claim. The value is the one that the verdict is about.
struct finding {
  double value = 0;
  std::string unit;
  verdict is = verdict::not_measured;
  std::string reason;                                  ///< why it differs, or cannot be measured
  std::string parameters;                              ///< of the tables that were measured
  std::vector<std::pair<std::string, double>> beside;  ///< further figures, by name
  std::string note;                                    ///< what to know besides
};

/// One row of the report.
struct claim {
  std::string_view id;        ///< never changes: reports are compared by it
  engine_kind engine;         ///< whose paper it is
  std::string_view where;     ///< section, figure or table
  std::string_view says;      ///< in our words
  std::string_view measured;  ///< here
  evidence rests_on;
  better is_better;
  finding (*measure)(laboratory&);
};

/// A finding whose verdict is `holds`, or `differs` with the reason.
finding judged(double value, std::string unit, bool holds, std::string why_not,
               std::string parameters, std::vector<std::pair<std::string, double>> beside = {});
/// One that nothing here can measure.
finding not_measured(std::string reason);

/// A figure of a paper, as it comes out here.
struct picture {
  struct line {
    std::string name;
    std::vector<std::pair<double, double>> points;
  };
  std::string id;      ///< file name, without its ending
  engine_kind engine;  ///< whose paper it is
  std::string title, x, y;
  bool log_x = false, log_y = false;
  std::vector<std::string> bars = {};  ///< names of the places 0, 1, ... on the x axis; none: lines
  std::vector<line> lines = {};
};

/// The claims of one paper, in the order of its sections.
const std::vector<claim>& claims_of(engine_kind);

const std::vector<claim>& turbo_claims();
const std::vector<claim>& cceh_claims();
const std::vector<claim>& level_claims();
const std::vector<claim>& gphash_claims();

/// "TurboHash (SYSTOR'23)" and so on.
std::string_view paper_of(engine_kind) noexcept;

}  // namespace durahash::reproduce
