// durahash crash: proves the promise. The explorer is crash/; here are its arguments and its
// report.
#include <fmt/format.h>
#include <sys/sysinfo.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "explorer/campaign.hpp"
#include "tool/arguments.hpp"
#include "tool/commands.hpp"
#include "tool/failure.hpp"
#include "tool/numbers.hpp"
#include "tool/output.hpp"
#include "tool/progress.hpp"

namespace durahash::tool {
namespace {

struct crash_arguments {
  std::string engine = "turbo";
  std::string ops = "60";
  std::string threads = "2";
  std::string seed = "1";
  std::string rounds = "2";
  std::string schedules;
  std::string images = "0";
  bool deep = false;
  bool quick = false;
  std::string only;
  bool no_elisions = false;
  std::string json;
  std::string job;
  std::vector<std::string> keep;
  std::string without;
  std::string plant;
  bool mutants = false;
  bool witnesses = false;
};

std::vector<engine_kind> engines_of(const std::string& name) {
  const std::vector<engine_kind> explored = crash::engines();
  if (name == "all") return explored;
  const auto engine = engine_named(name);
  if (engine && std::find(explored.begin(), explored.end(), *engine) != explored.end())
    return {*engine};
  throw failure(exit_usage, "the engine " + name + " is not in this build's explorer");
}

crash::campaign campaign_of(const crash_arguments& a, engine_kind engine) {
  crash::campaign made;
  made.engine = engine;
  made.operations = whole_number("--ops", a.ops, 1, 500);
  made.threads = whole_number("--threads", a.threads, 1, 4);
  made.seed = whole_number("--seed", a.seed, 0, ~std::uint64_t{0});
  made.rounds = whole_number("--rounds", a.rounds, 1, 1'000'000);
  if (!a.schedules.empty())
    made.schedules = whole_number("--schedules", a.schedules, 1, 100'000'000);
  made.images = whole_number("--images", a.images, 0, std::uint64_t{1} << 40);
  made.pace = a.deep ? crash::pace::deep : a.quick ? crash::pace::quick : crash::pace::usual;
  made.only = a.only;
  made.elisions = !a.no_elisions;
  // threads that take turns leave their processors idle between two of them
  made.at_once = 2 * std::max(1u, std::thread::hardware_concurrency());
  if (!a.job.empty()) made.only_job = whole_number("--job", a.job, 0, 1'000'000);
  for (const std::string& at : a.keep)
    made.keep.push_back(whole_number("--keep", at, 0, 1'000'000));
  made.without = a.without;
  made.plant = a.plant;
  made.mutants = a.mutants;
  made.witnesses = a.witnesses;
  return made;
}

std::size_t count(const std::vector<crash::matrix_line>& matrix,
                  bool (*which)(const crash::matrix_line&)) {
  return static_cast<std::size_t>(std::count_if(matrix.begin(), matrix.end(), which));
}
bool was_caught(const crash::matrix_line& e) { return e.caught; }
bool is_argued(const crash::matrix_line& e) { return e.argued; }

/// Nothing lost, and nothing that could be left out without anybody noticing.
bool good(const crash::outcome& o) {
  return o.found.violations.empty() &&
         count(o.matrix, was_caught) + count(o.matrix, is_argued) == o.matrix.size();
}

nlohmann::ordered_json json_of(const crash::campaign& what, const crash::outcome& o) {
  const crash::findings& f = o.found;
  nlohmann::ordered_json json{{"engine", name_of(what.engine)},
                              {"programs", f.programs},
                              {"threaded", f.threaded},
                              {"exhausted", f.exhausted},
                              {"schedules", f.schedules},
                              {"traces", f.traces},
                              {"cuts", f.cuts},
                              {"whole_cuts", f.whole_cuts},
                              {"legal_images_log10", f.max_log10},
                              {"images", f.images},
                              {"unique_images", f.unique_images},
                              {"pruned", f.pruned},
                              {"recoveries", f.recoveries},
                              {"gone_on", f.gone_on},
                              {"killed", f.killed},
                              {"nested", f.nested},
                              {"facts_checked", f.facts_checked}};
  json["violations"] = nlohmann::ordered_json::array();
  for (const crash::violation& v : f.violations)
    json["violations"].push_back(
        {{"what", v.what}, {"report", v.report}, {"replay", v.replay}, {"exploration", v.job}});
  json["commit_points"] = nlohmann::ordered_json::array();
  for (const auto& [place, seen] : f.commits)
    json["commit_points"].push_back({{"place", place}, {"kept", seen.kept}, {"lost", seen.lost}});
  json[what.mutants ? "mutants" : "elisions"] = {{"planted", o.matrix.size()},
                                                 {"caught", count(o.matrix, was_caught)},
                                                 {"equivalent", count(o.matrix, is_argued)}};
  nlohmann::ordered_json& matrix = json[what.mutants ? "mutation_matrix" : "elision_matrix"];
  matrix = nlohmann::ordered_json::array();
  for (const crash::matrix_line& e : o.matrix) {
    matrix.push_back({{what.mutants ? "planted" : "left_out", e.what},
                      {"caught", e.caught},
                      {e.caught ? "violation" : "argument", e.by}});
    if (e.caught) matrix.back()["witness"] = e.witness;
  }
  json["seed"] = what.seed;
  json["seconds"] = o.seconds;
  return json;
}

std::string text_of(const std::vector<crash::matrix_line>& matrix, const std::string& kind) {
  std::string text =
      fmt::format("  {} one at a time: {}, caught {}, without effect by argument {}\n",
                  kind == "bug" ? "planted," : "left out,", counted(matrix.size(), kind),
                  count(matrix, was_caught), count(matrix, is_argued));
  for (const crash::matrix_line& e : matrix)
    text += fmt::format("    {} {}: {}\n",
                        e.caught   ? "caught  "
                        : e.argued ? "argued  "
                                   : "SURVIVED",
                        e.what, e.by.empty() ? "nobody noticed" : e.by);
  return text;
}

std::string text_of(const crash::campaign& what, const crash::outcome& o) {
  const std::string unnoticed = "\nFAILED: something can be left out, and no crash shows it.\n";
  if (what.mutants || what.witnesses)
    return fmt::format("{} · {}\n\n", name_of(what.engine), human_seconds(o.seconds)) +
           text_of(o.matrix, what.mutants ? "bug" : "flush, fence or order") +
           (good(o)        ? ""
            : what.mutants ? "\nFAILED: a planted bug was not found.\n"
                           : unnoticed);
  const crash::findings& f = o.found;
  std::string text = fmt::format(
      "{} · {} of {} operations, {} · seed {} · {}\n\n", name_of(what.engine),
      counted(f.programs, "program"), what.operations,
      f.schedules == 0 ? "one thread"
                       : fmt::format("{} of {} and {} threads", counted(f.schedules, "schedule"),
                                     what.threads, what.threads + 1),
      what.seed, human_seconds(o.seconds));
  auto line = [&](const std::string& what_it_is, const std::string& figure,
                  const std::string& more) {
    text += fmt::format("  {:<34}{:>16}   {}\n", what_it_is, figure, more);
  };
  if (f.threaded != 0)
    line("schedules", grouped(f.schedules),
         fmt::format("of {} different traces; {} of {} gone through whole", grouped(f.traces),
                     grouped(f.exhausted), counted(f.threaded, "program")));
  line("crash points", grouped(f.cuts),
       fmt::format("of {} every legal image was generated", grouped(f.whole_cuts)));
  line("images generated", grouped(f.images),
       fmt::format("of up to 10^{:.0f} legal at one point; {} after an earlier crash", f.max_log10,
                   grouped(f.nested)));
  line("unique images", grouped(f.unique_images),
       fmt::format("of which {} look the same to all that recovery reads", grouped(f.pruned)));
  line("recoveries", grouped(f.recoveries), "");
  line("gone on with, and crashed again", grouped(f.gone_on),
       fmt::format("unique images; and {} crash points where the process died first",
                   grouped(f.killed)));
  line("facts checked", grouped(f.facts_checked), "");
  line("violations", grouped(f.violations.size()), "");
  if (!f.commits.empty()) {
    text += "\n  commit points                        among what a crash kept      lost\n";
    for (const auto& [place, seen] : f.commits)
      text +=
          fmt::format("    {:<46}{:>14}{:>10}\n", place, grouped(seen.kept), grouped(seen.lost));
  }
  if (!o.matrix.empty()) text += "\n" + text_of(o.matrix, "flush, fence or order");
  for (const crash::violation& v : f.violations)
    text += fmt::format("\nVIOLATION: {}\n{}\n  again: {}\n", v.what, v.report, v.replay);
  if (f.violations.empty() && !good(o)) text += unnoticed;
  return text;
}

bool crash_command(const crash_arguments& a) {
  bool all_good = true;
  std::ofstream file;
  if (!a.json.empty() && a.json != "-") file.open(a.json);
  if (!file)  // now, and not after hours
    throw failure(exit_usage, "cannot write " + a.json + ": " + std::strerror(errno));
  nlohmann::ordered_json reports = nlohmann::ordered_json::array();
  for (engine_kind engine : engines_of(a.engine)) {
    const crash::campaign what = campaign_of(a, engine);
    if (const std::string sentence = crash::why_not(what); !sentence.empty())
      throw failure(exit_usage, sentence);
    progress bar("crashing " + std::string(name_of(engine)), 1000, "");
    crash::outcome result = crash::run(what, [&](double share, const std::string&) {
      bar.reach(static_cast<std::uint64_t>(share * 1000));
    });
    bar.clear();
    if (!what.without.empty() && result.found.left_out == 0 && result.found.violations.empty())
      throw failure(exit_usage,
                    "--without " + what.without + ": nothing that the programs did is called so");
    all_good = all_good && good(result);
    if (a.json != "-") print(text_of(what, result));
    reports.push_back(json_of(what, result));
  }
  const nlohmann::ordered_json& told = reports.size() == 1 ? reports.front() : reports;
  if (a.json == "-") print(told.dump(2) + "\n");
  if (!file.is_open()) return all_good;
  file << told.dump(2) << "\n";
  if (!file.flush())
    throw failure(exit_unusable, "cannot write " + a.json + ": " + std::strerror(errno));
  return all_good;
}

}  // namespace

void add_crash(command_line app, int& exit_code) {
  auto a = std::make_shared<crash_arguments>();
  command_line command = app.add_subcommand(
      "crash", "Crash tables in every way the hardware allows, and prove that nothing is lost");
  command.add_option("--engine", a->engine, "an engine, or all").capture_default_str();
  command.add_option("--ops", a->ops, "operations of each program").capture_default_str();
  command
      .add_option("--threads", a->threads,
                  "threads of the concurrent programs, but for one of each kind of table, which "
                  "has one more; 1: none")
      .capture_default_str();
  command.add_option("--seed", a->seed, "the same seed, the same exploration")
      .capture_default_str();
  command
      .add_option("--rounds", a->rounds,
                  "each explores every kind of table once, with programs of its own")
      .capture_default_str();
  command
      .add_option("--images", a->images,
                  "further rounds until so many unique images were seen, such as 1M")
      .capture_default_str();
  option deep =
      command.add_flag("--deep", a->deep, "more images of each crash point, more schedules");
  command.add_option("--schedules", a->schedules,
                     "at most so many of each concurrent program (default 8000; 100,000 with "
                     "--deep, 400 with --quick)");
  command.add_flag("--quick", a->quick, "fewer").excludes(deep);
  command.add_option("--only", a->only,
                     "kinds of table whose name holds this, such as bytes, eadr or threads");
  command.add_flag("--no-elisions", a->no_elisions,
                   "do not try what happens when a flush, fence or order is left out");
  command.add_option(
      "--json", a->json,
      "write the report as JSON to a file, or with - to standard output instead of the text");
  command.add_option("--job", a->job, "explore this job alone, as a report's last line says");
  command.add_option("--keep", a->keep, "of its program these operations alone").delimiter(',');
  option without =
      command.add_option("--without", a->without, "leave this out, as the elision matrix names it");
  option plant =
      command.add_option("--plant", a->plant, "explore with this bug planted").excludes(without);
  command
      .add_flag("--mutants", a->mutants,
                "instead: plant every known bug in turn, and see that each is found")
      .excludes(without)
      .excludes(plant);
  command
      .add_flag(
          "--witnesses", a->witnesses,
          "instead: leave out each flush, fence and order that has been caught before, or with "
          "--mutants plant each bug, and explore its witness alone")
      .excludes(without)
      .excludes(plant);
  command.footer(
      "Runs random programs on tables whose every store, flush and fence is recorded, crashes them "
      "after each store and fence, recovers from the\n"
      "images that the persistency model allows there, and checks what was promised. "
      "docs/explanation/persistence.md tells how, and where the evidence ends.\n\n"
      "Exit code 0 if nothing was lost and everything left out was noticed, 1 if not.\n\n"
      "Examples:\n"
      "  durahash crash\n"
      "  durahash crash --seed 7 --images 10M --deep --json report.json");
  command.callback([a, &exit_code] { exit_code = crash_command(*a) ? exit_done : exit_not_found; });
}

}  // namespace durahash::tool
