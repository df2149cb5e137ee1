#include "crash/campaign.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "base/check.hpp"
#include "crash/crew.hpp"
#include "crash/subject.hpp"
#include "crash/threads.hpp"

namespace durahash::crash {
namespace {

enum class flavour : std::uint8_t {
  one_thread,
  threads,
  twice,  // a short program: every image is gone on with and crashed again, and at every crash point the process dies first
};

/// One exploration, repeatable from its number alone.
struct job {
  subject_kind kind;
  maker make;
  const explored_variant* variant;
  machine stops = machine::adr;
  crash::flavour flavour = flavour::one_thread;
  std::uint64_t seed = 0;
  std::string text() const {
    constexpr const char* flavours[] = {"", "/threads", "/twice"};
    return kind.text() + (stops == machine::eadr && kind.level == durability_level::power ? "/eadr" : "") + flavours[static_cast<int>(flavour)];
  }
};

const explored_engine& explored(engine_kind engine) {
  const std::vector<explored_engine>& all = explored_engines();
  auto found = std::find_if(all.begin(), all.end(), [&](const explored_engine& e) { return e.engine == engine; });
  check(found != all.end(), "the engine is explored");
  return *found;
}

/// The jobs of one round: every kind of record, level, machine and variant of an engine.
std::vector<job> jobs_of(const campaign& what) {
  std::vector<job> all;
  const explored_engine& e = explored(what.engine);
  for (data_kind data : {data_kind::u64, data_kind::bytes}) {
    for (const explored_variant& v : e.variants) {
      if (v.only && *v.only != data) continue;
      subject_kind power{e.engine, data, durability_level::power, v.settings, v.name};
      subject_kind process{e.engine, data, durability_level::process, v.settings, v.name};
      all.push_back({power, e.make, &v});
      bool to_power = v.threads == durability_level::power;
      if (what.threads > 1) all.push_back({to_power ? power : process, e.make, &v, to_power ? machine::adr : machine::eadr, flavour::threads});
      all.push_back({power, e.make, &v, machine::adr, flavour::twice});
      all.push_back({power, e.make, &v, machine::eadr});
      all.push_back({process, e.make, &v, machine::eadr});
    }
  }
  std::erase_if(all, [&](const job& j) { return j.text().find(what.only) == std::string::npos; });
  return all;
}

job job_of(const campaign& what, const std::vector<job>& round, std::size_t number) {
  job made = round[number % round.size()];
  std::seed_seq mixed{what.seed, static_cast<std::uint64_t>(number)};
  std::uint32_t words[2];
  mixed.generate(words, words + 2);
  made.seed = std::uint64_t{words[0]} << 32 | words[1];
  return made;
}

std::optional<elision> elision_named(const std::string& text) {
  for (auto kind : {elision::what::flush, elision::what::fence, elision::what::order}) {
    std::string before = elision{kind, ""}.text();
    if (text.starts_with(before)) return elision{kind, text.substr(before.size())};
  }
  return std::nullopt;
}

std::string text_of(const threaded_program& p) {
  std::string text = "first:";
  for (const operation& o : p.first.operations) text += "  " + text_of(o) + ";";
  text += p.killed ? "  killed;" : "  closed;";
  for (std::size_t t = 0; t < p.threads.size(); ++t) {
    text += "\n  thread " + std::to_string(t) + ":";
    for (const operation& o : p.threads[t]) text += "  " + text_of(o) + ";";
  }
  return text;
}

/// How much of what is looked at.
plan plan_of(const job& j, pace speed) {
  plan how;
  how.stops = j.stops;
  bool quick = speed == pace::quick;  // something is known to be wrong: it will show
  if (speed != pace::deep) {
    how.images = {.all_up_to = 512, .options_per_line = 24, .lines_each = 24, .samples = 16};
    how.nested_every = 200, how.deeper_every = 800;
  }
  if (quick) {
    how.images = {.all_up_to = 64, .options_per_line = 10, .lines_each = 8, .samples = 6};
    how.nested_every = 2000, how.deeper_every = 8000, how.kill_every = 20, how.go_on_every = 8;
    how.most_images = 300'000;  // a level that is written within a short program: millions
  }
  constexpr key_number few = 4;
  if (j.variant->keys != 0 && j.variant->keys <= few) how.nested_every = quick ? 40 : 24, how.kill_every = 1;  // these are soon done
  if (j.stops == machine::eadr) how.kill_every = 0, how.nested_every = 12, how.deeper_every = 48;
  if (j.flavour == flavour::threads) {
    how.images = quick ? effort{.all_up_to = 16, .options_per_line = 6, .lines_each = 4, .samples = 2} : how.nested_images;
    how.nested_every = quick ? 5000 : 400, how.deeper_every = 4 * how.nested_every;
    how.kill_every = quick ? 2000 : 60;
  }
  if (j.flavour == flavour::twice) {
    how.nested_every = how.kill_every = how.nested_operations = 1;
    how.deeper_every = 2000;
    if (!quick) how.images = {.all_up_to = 128, .options_per_line = 12, .lines_each = 8, .samples = 6};
    how.nested_images = {.all_up_to = 8, .options_per_line = 4, .lines_each = 3, .samples = 1};
  }
  return how;
}

/// Half of them in order: a program of two threads with two operations each has some hundreds to a few thousand, seldom more, with two preemptions.
std::uint64_t most_schedules(const campaign& what) {
  if (what.schedules != 0) return what.schedules;
  return what.pace == pace::deep ? 100'000 : what.pace == pace::usual ? 8'000 : 400;
}

/// The program of a job of one thread.
program program_of(const campaign& what, const job& j, pace speed, std::mt19937_64& random) {
  mix how;
  if (j.variant->keys != 0) how.keys = j.variant->keys;
  // Where all that was stored is kept there is one image for each crash, and time for more operations.
  how.operations = j.stops == machine::eadr ? what.operations * 4 : what.operations;
  if (j.flavour != flavour::twice) return random_program(how, random);
  std::size_t prepares = random() % what.operations;  // from an empty table to one that has grown
  how.operations = prepares + what.operations / 2 + 1;
  program made = random_program(how, random);
  made.prepares = prepares;
  std::size_t share = speed == pace::deep ? 2 : speed == pace::usual ? 6 : 20;
  if (j.kind.words() && speed == pace::usual) share = 3;  // these store less
  std::size_t crashed = what.operations / share;
  auto end = made.operations.begin() + static_cast<std::ptrdiff_t>(prepares + crashed + 1);
  made.operations.erase(end, made.operations.end());  // the shorter one begins as the longer one does
  if (random() % 2 == 0) return made;
  auto fresh = made.keys;  // or one new key after the other: the table grows
  made.keys = static_cast<key_number>(made.keys + what.operations);  // as many for a shorter program
  for (std::size_t n = prepares; n < made.operations.size(); ++n)
    made.operations[n] = {act::insert, {static_cast<key_number>(fresh + (n - prepares))}, static_cast<std::uint32_t>(n + 1)};
  return made;
}

program only(const std::vector<std::size_t>& kept, const program& of) {
  program made{{}, of.keys};
  for (std::size_t i : kept) {
    if (i >= of.operations.size()) continue;
    made.operations.push_back(of.operations[i]);
    made.prepares += i < of.prepares;
  }
  return made;
}

findings explore(const campaign& what, const job& j, const elision* without) {
  solo alone;
  turns::install(&alone);
  std::mt19937_64 random(j.seed);
  plan how = plan_of(j, what.pace);
  how.leave_out = without;
  findings found;
  if (j.flavour == flavour::threads) {
    auto go_through = [&](const threaded_program& p, std::mt19937_64& draws) {
      explorer x(j.kind, j.make, how, draws());
      x.tell("  " + j.text() + "\n  " + text_of(p));
      explore_threads(j.kind, j.make, x, p,
                      {.preemptions = 2, .most_schedules = most_schedules(what)}, draws);
      ++x.found().programs;
      found.add(x.found());
    };
    const std::vector<threaded_program>& own = j.variant->by_hand;
    std::size_t drawn = what.pace == pace::quick ? 2 : 3, programs = own.size() + drawn + 1;
    for (std::size_t n = 0; n < programs && found.violations.empty(); ++n) {
      bool more_threads = n + 1 == programs;  // one more, and one operation each
      go_through(n < own.size() ? own[n]
                 : more_threads ? random_threads(what.threads + 1, 1, random)
                                : random_threads(what.threads, 2, random),
                 random);
    }
    std::mt19937_64 of_counted(j.seed +
                               1);  // a stream of their own: the other programs stay what they are
    std::vector<threaded_program> counted = j.variant->counted;
    counted.push_back(random_threads(what.threads, 2, of_counted));
    counted.back().killed = true;
    for (std::size_t n = 0; n < counted.size() && found.violations.empty(); ++n)
      go_through(counted[n], of_counted);
  } else {
    program p = program_of(what, j, what.keep.empty() ? what.pace : pace::deep, random);  // of those of all paces the one of deep is the longest
    if (!what.keep.empty()) p = only(what.keep, p);
    explorer x(j.kind, j.make, how, random());
    x.tell("  " + j.text());
    x.run(p);
    found = std::move(x.found());
  }
  turns::install(nullptr);
  return found;
}

/// More than any job takes: what hangs is stopped much earlier, where it hangs.
unsigned seconds_per_job(pace speed) { return speed == pace::deep ? 8 * 3600 : speed == pace::usual ? 3600 : 600; }

/// What still shows a violation with fewer operations: first without those after the crash, then without pieces of the rest.
class reduction {
 public:
  reduction(const campaign& what, const job& j, const elision* without) : what_(what), job_(j), without_(without) {
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
      for (std::size_t from = 0; from < what_.keep.size() && tries_ < most_tries;)
        if (!shows(without(from, piece))) from += piece;
    return true;
  }
  const campaign& smaller() const { return what_; }
  std::vector<violation>& violations() { return violations_; }

 private:
  static constexpr unsigned most_tries = 120;  // and not seconds: the same on every machine

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
    run_crew(1, 1, seconds_per_job(tried.pace), [&](std::size_t) { return explore(tried, job_, without_); },
             [&](std::size_t, findings f) { return found = std::move(f), true; });
    if (found.violations.empty()) return false;
    what_ = std::move(tried);
    violations_ = std::move(found.violations);
    return true;
  }

  campaign what_;
  const job& job_;
  const elision* without_;
  std::vector<violation> violations_;
  unsigned tries_ = 0;
};

std::string replay_of(const campaign& what, std::size_t number) {
  std::string text = "durahash crash";
  auto option = [&](const std::string& name, const std::string& value) { text += " --" + name + " " + value; };
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
  return text;
}

/// Leaves out one verb at one place at a time. The programs of one seed are tried first, whatever the
/// campaign's own: among them is one for each verb that shows the need of it.
void run_matrix(const campaign& what, const std::vector<job>& round, outcome& result,
                const std::function<void(double, const std::string&)>& progress) {
  std::vector<std::string> candidates;
  for (const auto& [place, times] : result.found.places) candidates.push_back(place);
  result.matrix.resize(candidates.size());
  constexpr std::size_t rounds = 3;  // a survivor has survived so many
  campaign quick = what;
  quick.pace = pace::quick;
  campaign known = quick;
  known.seed = 1;
  std::size_t ended = 0;
  run_crew(candidates.size(), what.at_once, seconds_per_job(pace::usual),
           [&](std::size_t i) {
             std::optional<elision> left_out = elision_named(candidates[i]);
             findings all;
             // Where there is an argument, one round tries to refute it.
             std::size_t tried = explored(what.engine).equivalent.contains(candidates[i]) ? 1 : rounds;
             for (const campaign* c : {&known, &quick})
               for (std::size_t n = 0; n < tried * round.size() && all.violations.empty(); ++n) {
                 job j = job_of(*c, round, n);
                 if (j.stops == machine::eadr) continue;  // nothing is lost there
                 if (c == &known || known.seed != quick.seed) all.add(explore(*c, j, &*left_out));
               }
             return all;
           },
           [&](std::size_t i, findings f) {
             result.matrix[i] = line_of(candidates[i], f, explored(what.engine));
             progress(static_cast<double>(++ended) / static_cast<double>(candidates.size()), "leaving out " + candidates[i]);
             return true;
           });
}

}  // namespace

elided line_of(const std::string& left_out, const findings& found, const explored_engine& engine) {
  if (!found.violations.empty()) return {left_out, true, found.violations.front().what, false};
  auto argument = engine.equivalent.find(left_out);
  if (argument == engine.equivalent.end()) return {left_out, false, {}, false};
  return {left_out, false, argument->second, true};
}

std::string why_not(const campaign& what) {
  std::vector<job> round = jobs_of(what);
  if (round.empty()) return "--only " + what.only + ": no kind of table has that in its name";
  if (!what.without.empty() && !elision_named(what.without))
    return "--without " + what.without + ": the elision matrix names such things as "
           "\"the flush of FILE:LINE VERB\", \"the fence of\" or \"the order of\" it";
  if (what.keep.empty()) return {};
  if (!what.only_job) return "--keep tells operations of one job's program: it needs --job";
  if (round[*what.only_job % round.size()].flavour == flavour::threads) return "--keep: this job's programs are of several threads, and run whole";
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
  std::optional<elision> left_out = what.without.empty() ? std::nullopt : elision_named(what.without);
  const elision* without = left_out ? &*left_out : nullptr;
  auto look_closer = [&](std::size_t number, findings found) {
    job j = job_of(what, round, number);
    std::string again = replay_of(what, number);
    bool may_shrink = !found.violations.empty() && what.smallest && what.keep.empty() && j.flavour != flavour::threads;
    if (reduction fewer(what, j, without); may_shrink && fewer.run(found.violations.front())) {
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
    run_crew(count, what.at_once, seconds_per_job(what.pace),
             [&](std::size_t i) { return explore(what, job_of(what, round, first + i), without); },
             [&](std::size_t i, findings found) {
               bool good = found.violations.empty();
               look_closer(first + i, std::move(found));
               double share = what.images != 0 ? static_cast<double>(result.found.unique_images) / static_cast<double>(what.images)
                                               : static_cast<double>(++ended) / static_cast<double>(count);
               progress(std::min(1.0, share), job_of(what, round, first + i).text());
               return good;
             });
    first += count;
    count = round.size();
  } while (!what.only_job && result.found.violations.empty() && result.found.unique_images < what.images);
  if (what.elisions && !what.only_job && what.without.empty() && result.found.violations.empty()) run_matrix(what, round, result, progress);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return result;
}

}  // namespace durahash::crash
