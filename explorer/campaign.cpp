#include "explorer/campaign.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "base/check.hpp"
#include "explorer/job.hpp"
#include "explorer/matrix.hpp"
#include "explorer/planted_bugs.hpp"
#include "explorer/process_pool.hpp"

namespace durahash::crash {
namespace {

/// What still shows a violation with fewer operations: first without those after the crash, then
/// without pieces of the rest.
class reduction {
 public:
  reduction(const campaign& what, const job& j, const alteration* altered)
      : what_(what), job_(j), altered_(altered) {
    what_.pace = std::min(what.pace, pace::usual);
  }

  /// Returns false when nothing smaller was found.
  bool run(const violation& first) {
    std::mt19937_64 random(job_.seed);
    std::vector<std::size_t> all(program_of(what_, job_, pace::deep, random).operations.size());
    std::iota(all.begin(), all.end(), 0);
    if (first.calls != 0 && first.calls < all.size()) all.resize(first.calls);
    if (!shows(all)) return false;
    for (std::size_t piece = all.size() / 2; piece >= 1; piece /= 2)
      for (std::size_t from = 0; from < what_.keep.size() && tries_ < max_tries;)
        if (!shows(without(from, piece))) from += piece;
    return true;
  }
  const campaign& smaller() const { return what_; }
  std::vector<violation>& violations() { return violations_; }

 private:
  static constexpr unsigned max_tries = 120;  // and not seconds: the same on every machine

  std::vector<std::size_t> without(std::size_t from, std::size_t piece) const {
    std::vector<std::size_t> fewer = what_.keep;
    auto at = fewer.begin() + static_cast<std::ptrdiff_t>(from);
    fewer.erase(at, at + static_cast<std::ptrdiff_t>(std::min(piece, fewer.size() - from)));
    return fewer;
  }
  bool shows(std::vector<std::size_t> fewer) {
    if (fewer.empty()) return false;
    ++tries_;
    campaign tried = what_;
    tried.keep = std::move(fewer);
    findings found;
    run_threads(
        1, 1, seconds_per_job(tried.pace),
        [&](std::size_t) { return explore(tried, job_, altered_); },
        [&](std::size_t, findings f) { return found = std::move(f), true; });
    if (found.violations.empty()) return false;
    what_ = std::move(tried);
    violations_ = std::move(found.violations);
    return true;
  }

  campaign what_;
  const job& job_;
  const alteration* altered_;
  std::vector<violation> violations_;
  unsigned tries_ = 0;
};

std::string replay_of(const campaign& what, std::size_t number) {
  std::string text = "durahash crash";
  auto option = [&](const std::string& name, const std::string& value) {
    text += " --" + name + " " + value;
  };
  if (what.pace != pace::usual) text += what.pace == pace::deep ? " --deep" : " --quick";
  if (!what.only.empty()) option("only", what.only);
  option("engine", std::string(durahash::name_of(what.engine)));
  option("seed", std::to_string(what.seed));
  option("ops", std::to_string(what.operations));
  option("threads", std::to_string(what.threads));
  if (what.schedules != 0) option("schedules", std::to_string(what.schedules));
  option("job", std::to_string(number));
  std::string kept;
  for (std::size_t i : what.keep) kept += (kept.empty() ? "" : ",") + std::to_string(i);
  if (!kept.empty()) option("keep", kept);
  if (!what.without.empty()) option("without", "\"" + what.without + "\"");
  if (!what.plant.empty()) option("plant", what.plant);
  return text;
}

/// Those that have a witness or an argument.
std::vector<std::string> known_elisions(engine_kind engine) {
  std::vector<std::string> all;
  auto add = [&](const std::string& name) {
    if (std::optional<alteration> a = alteration_named(name); a && a->left_out) all.push_back(name);
  };
  for (const auto& [name, witness] : witnesses(engine)) add(name);
  for (const auto& [name, argument] : explored(engine).equivalent) add(name);
  return all;
}

}  // namespace

std::string why_not(const campaign& what) {
  std::vector<job> round = jobs_of(what);
  if (round.empty()) return "--only " + what.only + ": no kind of table has that in its name";
  if (std::optional<alteration> a = alteration_named(what.plant);
      !what.plant.empty() && (!a || a->planted == 0))
    return "--plant " + what.plant + ": no bug is called so; --mutants lists them";
  if (std::optional<alteration> a = alteration_named(what.without);
      !what.without.empty() && (!a || !a->left_out))
    return "--without " + what.without +
           ": the elision matrix names such things as "
           "\"the flush of turbo.write.slot\", \"the fence of\" or \"the order of\" it";
  if (what.keep.empty()) return {};
  if (!what.only_job) return "--keep tells operations of one job's program: it needs --job";
  if (is_threaded(round[*what.only_job % round.size()].flavour))
    return "--keep: this job's programs are of several threads, and run whole";
  return {};
}

std::vector<engine_kind> engines() {
  std::vector<engine_kind> all;
  for (const explored_engine& e : explored_engines()) all.push_back(e.engine);
  return all;
}

outcome run(const campaign& what, const std::function<void(double, const std::string&)>& progress) {
  auto began = std::chrono::steady_clock::now();
  outcome result;
  std::vector<job> round = jobs_of(what);
  check(why_not(what).empty(), "a campaign that can be run");
  if (what.mutants || what.witnesses) {
    result.matrix = run_matrix(
        what, what.mutants ? bugs_of(what.engine) : known_elisions(what.engine), progress);
    result.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    return result;
  }
  std::optional<alteration> chosen =
      alteration_named(what.plant.empty() ? what.without : what.plant);
  const alteration* altered = chosen ? &*chosen : nullptr;
  auto look_closer = [&](std::size_t number, findings found) {
    job j = job_of(what, round, number);
    std::string again = replay_of(what, number);
    bool may_shrink =
        !found.violations.empty() && what.smallest && what.keep.empty() && !is_threaded(j.flavour);
    if (reduction fewer(what, j, altered); may_shrink && fewer.run(found.violations.front())) {
      found.violations = std::move(fewer.violations());
      again = replay_of(fewer.smaller(), number);
    }
    for (violation& v : found.violations) v.replay = again;
    result.found.add(found);
  };
  std::size_t first = what.only_job.value_or(0);
  std::size_t count = what.only_job ? 1 : what.rounds * round.size();
  do {
    std::size_t ended = 0;
    run_threads(
        count, what.at_once, seconds_per_job(what.pace),
        [&](std::size_t i) { return explore(what, job_of(what, round, first + i), altered); },
        [&](std::size_t i, findings found) {
          bool good = found.violations.empty();
          look_closer(first + i, std::move(found));
          double share = what.images != 0
                             ? static_cast<double>(result.found.unique_images) /
                                   static_cast<double>(what.images)
                             : static_cast<double>(++ended) / static_cast<double>(count);
          progress(std::min(1.0, share), job_of(what, round, first + i).text());
          return good;
        });
    first += count;
    count = round.size();
  } while (!what.only_job && result.found.violations.empty() &&
           result.found.unique_images < what.images);
  if (what.elisions && !what.only_job && altered == nullptr && result.found.violations.empty()) {
    std::vector<std::string> candidates;
    for (const auto& [place, times] : result.found.places) candidates.push_back(place);
    result.matrix = run_matrix(what, candidates, progress);
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return result;
}

}  // namespace durahash::crash
