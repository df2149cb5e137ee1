#include "explorer/matrix.hpp"

#include "explorer/job.hpp"
#include "explorer/planted_bugs.hpp"
#include "explorer/process_pool.hpp"

namespace durahash::crash {
namespace {

/// How one candidate is looked for.
struct search {
  alteration altered;
  std::string only;  // kinds of table
  std::uint64_t schedules = 0;
  std::size_t rounds = 3;  // a survivor has survived so many
};

search search_of(const campaign& what, const std::string& name) {
  search made{alteration_named(name).value(), what.only};
  if (made.altered.planted == 0) {
    bool argued = explored(what.engine).equivalent.contains(name);
    if (argued) made.rounds = what.pace == pace::quick ? 0 : 1;
    return made;
  }
  made.only = kinds_that_show(name);
  made.schedules = 3000;
  if (what.pace != pace::quick) made.rounds = 20;
  return made;
}

findings look_for(const campaign& what, const std::string& name) {
  const search how = search_of(what, name);
  campaign own = what;
  own.pace = pace::quick;
  own.only = how.only;
  if (how.schedules != 0) own.schedules = how.schedules;
  campaign known;
  known.engine = what.engine;
  known.pace = pace::quick;
  known.only = how.only;
  known.schedules = how.schedules;
  findings all;
  auto witness = witnesses(what.engine).find(name);
  if (witness != witnesses(what.engine).end())
    if (std::optional<job> j = job_named(known, witness->second))
      all.add(explore(known, *j, &how.altered));
  if (what.witnesses) return all;
  const std::vector<job> round = jobs_of(own);
  bool own_are_known = own.seed == known.seed && own.operations == known.operations;
  // by what they cost
  for (flavour soonest :
       {flavour::one_thread, flavour::salvage, flavour::readers, flavour::threads, flavour::twice})
    for (const campaign* c : {&known, &own})
      for (std::size_t n = 0; n < how.rounds * round.size() && all.violations.empty(); ++n) {
        job j = job_of(*c, round, n);
        // Where all that was stored is kept nothing is lost by leaving something out.
        if (j.flavour != soonest || (j.stops == machine::eadr && how.altered.left_out)) continue;
        if (c == &own && own_are_known) continue;
        all.add(explore(*c, j, &how.altered));
      }
  return all;
}

}  // namespace

std::vector<matrix_line> run_matrix(
    const campaign& what, const std::vector<std::string>& candidates,
    const std::function<void(double, const std::string&)>& progress) {
  std::vector<matrix_line> made(candidates.size());
  std::size_t ended = 0;
  run_threads(
      candidates.size(), what.at_once, seconds_per_job(pace::usual),
      [&](std::size_t i) { return look_for(what, candidates[i]); },
      [&](std::size_t i, findings f) {
        made[i] = line_of(candidates[i], f, explored(what.engine));
        progress(static_cast<double>(++ended) / static_cast<double>(candidates.size()),
                 candidates[i]);
        return true;
      });
  return made;
}

matrix_line line_of(const std::string& altered, const findings& found,
                    const explored_engine& engine) {
  if (!found.violations.empty()) {
    const violation& first = found.violations.front();
    // A search that ended without a word (last_words.hpp), as by its time, has shown nothing.
    return {altered, !first.job.empty(), first.what, false, first.job};
  }
  auto argument = engine.equivalent.find(altered);
  if (argument == engine.equivalent.end()) return {altered, false, {}, false, {}};
  return {altered, false, argument->second, true, {}};
}

}  // namespace durahash::crash
