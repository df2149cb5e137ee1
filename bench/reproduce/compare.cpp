#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "bench/reproduce/report.hpp"
#include "bench/scratch_pool.hpp"

namespace durahash::reproduce {
namespace {

using json = nlohmann::ordered_json;

/// What two runs may differ in without a reason.
double noise_of(evidence on) {
  switch (on) {
    case evidence::counts: return 0.01;
    case evidence::sampled: return 0.1;
    case evidence::times: return 0.5;
    default: return 0;
  }
}

[[noreturn]] void refuse(const std::string& why) {
  throw bench::failure(status::invalid_argument, why);
}

void expect_the_same_questions(const json& before, const report& now) {
  if (!before.is_object() || before.value("report", "") != "durahash reproduce" ||
      before.value("version", 0) != 1 || !before.contains("rows"))
    refuse("it is no report of durahash reproduce");
  const auto keys = before.value("keys", std::uint64_t{0}),
             seed = before.value("seed", std::uint64_t{0});
  if (keys != now.asked.keys || seed != now.asked.seed ||
      before.value("quick", false) != now.asked.quick)
    refuse(fmt::format("it is of --keys {} --seed {}{}, and this run is of --keys {} --seed {}{}",
                       keys, seed, before.value("quick", false) ? " --quick" : "", now.asked.keys,
                       now.asked.seed, now.asked.quick ? " --quick" : ""));
}

}  // namespace

std::vector<change> compare(const json& before, const report& now) {
  expect_the_same_questions(before, now);
  std::map<std::string, const json*> rows;
  for (const json& one : before["rows"]) rows[one.value("id", "")] = &one;
  std::vector<change> changes;
  for (const row& one : now.rows) {
    const auto found = rows.find(std::string(one.of->id));
    if (found == rows.end()) continue;
    const json& old = *found->second;
    if (!old["value"].is_number() || one.found.is == verdict::not_measured) continue;
    change made{std::string(one.of->id),
                old["value"].get<double>(),
                as_written(one.found.value),
                one.found.unit,
                false,
                {}};
    const double size = std::max(std::abs(made.before), std::abs(made.now)),
                 differs_by = size == 0 ? 0 : std::abs(made.now - made.before) / size;
    const bool beyond_noise = differs_by > noise_of(one.of->rests_on);
    const bool held = old.value("verdict", "") == "holds", holds = one.found.is == verdict::holds;
    if (held && !holds && (beyond_noise || one.of->rests_on != evidence::times)) {
      made.is_regression = true;
      made.why = "it held, and does not now: " + one.found.reason;
    } else if (beyond_noise) {
      made.is_regression = (one.of->is_better == better::lower && made.now > made.before) ||
                           (one.of->is_better == better::higher && made.now < made.before);
      made.why = fmt::format("{:.1f} % apart, beyond the noise of {:.0f} %", 100 * differs_by,
                             100 * noise_of(one.of->rests_on));
    } else {
      continue;
    }
    changes.push_back(std::move(made));
  }
  return changes;
}

}  // namespace durahash::reproduce
