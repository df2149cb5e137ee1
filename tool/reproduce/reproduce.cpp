// durahash reproduce: which claims of the papers hold here. The lab is bench/reproduce/.
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "bench/plot.hpp"
#include "bench/reproduce/pictures.hpp"
#include "bench/reproduce/report.hpp"
#include "bench/scratch_pool.hpp"
#include "tool/arguments.hpp"
#include "tool/commands.hpp"
#include "tool/failure.hpp"
#include "tool/numbers.hpp"
#include "tool/output.hpp"
#include "tool/progress.hpp"

namespace durahash::tool {
namespace {

struct reproduce_arguments {
  std::string engine = "all";
  std::string keys;
  std::string seed = "1";
  std::string json;
  std::string against;
  std::string plot;
  std::string html;
  std::string device;
  bool quick = false;
};

constexpr const char* full_keys = "1M";
constexpr const char* quick_keys = "20k";

/// Nothing said: the first GPU, if there is one.
result<std::shared_ptr<bench::device>> device_of(const std::string& named) {
  constexpr std::string_view cuda = "cuda:";
  if (named.empty()) return bench::cuda_device(0);
  if (named == "cpu") return bench::no_device_wanted();
  if (!named.starts_with(cuda))
    throw failure(exit_usage, fmt::format("--device {} is neither cpu nor cuda:N", named));
  auto found = bench::cuda_device(
      static_cast<int>(whole_number("--device cuda:", named.substr(cuda.size()), 0, 1023)));
  if (!found) throw failure(exit_code_of(found.failure().code), found.failure().message);
  return found;
}

reproduce::request request_of(const reproduce_arguments& a) {
  reproduce::request asked;
  asked.quick = a.quick;
  const std::string keys = !a.keys.empty() ? a.keys : a.quick ? quick_keys : full_keys;
  asked.keys = whole_number("--keys", keys, 10'000, std::uint64_t{1} << 32);
  asked.seed = whole_number("--seed", a.seed, 0, ~std::uint64_t{0});
  if (a.engine == "all") asked.engines.assign(all_engines().begin(), all_engines().end());
  else asked.engines = {*engine_named(a.engine)};
  asked.on = device_of(a.device);
  return asked;
}

/// Read before the measurement: a wrong path should not cost it.
nlohmann::ordered_json earlier_report(const std::string& path) {
  std::ifstream file(path);
  if (!file)
    throw failure(exit_unusable, fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  auto read = nlohmann::ordered_json::parse(file, nullptr, false);
  if (read.is_discarded()) throw failure(exit_usage, path + " is no JSON");
  return read;
}

class json_file {
 public:
  explicit json_file(const std::string& path) : path_(path) {
    if (path.empty() || path == "-") return;
    out_.open(path);
    check();
  }
  bool takes_stdout() const { return path_ == "-"; }
  void write(const reproduce::report& all) {
    if (path_.empty()) return;
    const std::string text = reproduce::json_of(all).dump(1) + "\n";
    if (takes_stdout()) return print(text);
    out_ << text << std::flush;
    check();
  }

 private:
  void check() const {
    if (!out_)
      throw failure(exit_unusable, fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
  }

  std::string path_;
  std::ofstream out_;
};

/// Returns whether anything got worse.
bool tell_changes(const std::vector<reproduce::change>& changes, const std::string& path) {
  bool worse = false;
  for (const reproduce::change& one : changes) {
    tell(fmt::format("{}  {}: {:.4g} before, {:.4g} now {}; {}\n",
                     one.is_regression ? "worse  " : "changed", one.id, one.before, one.now,
                     one.unit, one.why));
    worse = worse || one.is_regression;
  }
  if (changes.empty()) tell(fmt::format("nothing differs from {} beyond noise\n", path));
  return worse;
}

int reproduce_command(const reproduce_arguments& arguments) try {
  const reproduce::request asked = request_of(arguments);
  nlohmann::ordered_json before;
  if (!arguments.against.empty()) {
    before = earlier_report(arguments.against);
    reproduce::report nothing;
    nothing.asked = asked;
    reproduce::compare(before, nothing);  // refuses what cannot be compared
  }
  const bool draws = !arguments.plot.empty() || !arguments.html.empty();
  if (draws) bench::check_that_plots_work();
  json_file json(arguments.json);
  progress bar("reproducing", 100, "%");
  const reproduce::report all =
      reproduce::run(asked, [&](std::string_view, std::size_t done, std::size_t rows) {
        bar.reach(100 * done / std::max<std::size_t>(rows, 1));
      });
  bar.clear();
  if (!json.takes_stdout()) print(reproduce::text_of(all));
  json.write(all);
  const bool compares = !arguments.against.empty();
  std::vector<reproduce::change> changes;
  if (compares) changes = reproduce::compare(before, all);
  if (draws) reproduce::draw(all, compares ? &changes : nullptr, arguments.plot, arguments.html);
  return compares && tell_changes(changes, arguments.against) ? exit_not_found : exit_done;
} catch (const bench::failure& why) {
  if (why.code == status::damaged) throw failure(exit_not_found, why.what());  // a wrong answer
  if (why.code == status::invalid_argument)
    throw failure(exit_usage, "--against " + arguments.against + ": " + why.what());
  throw failure(exit_code_of(why.code), why.what());
}

}  // namespace

void add_reproduce(command_line app, int& exit_code) {
  auto a = std::make_shared<reproduce_arguments>();
  command_line command = app.add_subcommand(
      "reproduce", "Measure what the four papers claim, row by row, and say what holds here");
  std::vector<std::string> engines = engine_names();
  engines.emplace_back("all");
  command.add_option("ENGINE", a->engine, listed(engines, " or ") + ": whose paper (all)")
      .check(one_of(engines).unnamed())
      .type_name("");
  command.add_option("--keys", a->keys,
                     fmt::format("records of a table, where the paper fixes no size ({}; {} with "
                                 "--quick)",
                                 full_keys, quick_keys));
  command.add_option("--seed", a->seed, "the same seed, the same counts (1)");
  command.add_option("--device", a->device,
                     "cuda:N, the GPU of rows that need one, or cpu: none (the first, if there is "
                     "one)");
  command.add_flag("--quick", a->quick, "small tables: seconds, and figures that scatter");
  command.add_option("--json", a->json, "the report as JSON, into a file or with - to stdout");
  command.add_option("--plot", a->plot,
                     "draw each figure into this folder, as PNG and SVG (needs python3 with "
                     "matplotlib)");
  command.add_option("--html", a->html,
                     "write one page with all tables and figures (needs the same)");
  command.add_option("--against", a->against,
                     "marks what got worse than in this earlier report, beyond noise");
  command.footer(
      "Exit codes: 0 done, whatever holds; 1 a figure got worse than in --against, or an answer "
      "was wrong.\n\n"
      "Examples:\n"
      "  durahash reproduce cceh --quick\n"
      "  durahash reproduce all --json report.json --plot figures --html report.html\n"
      "  durahash reproduce all --against report.json");
  command.callback([a, &exit_code] { exit_code = reproduce_command(*a); });
}

}  // namespace durahash::tool
