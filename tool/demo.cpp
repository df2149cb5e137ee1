// durahash demo: an index of a real file tree, killed while it grows, and nothing lost.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <random>

#include "arguments.hpp"
#include "demo_campaign.hpp"
#include "demo_lookups.hpp"
#include "demo_pool.hpp"
#include "demo_power.hpp"
#include "failure.hpp"
#include "numbers.hpp"
#include "output.hpp"
#include "pool.hpp"

namespace durahash::tool {
namespace {

using clock = std::chrono::steady_clock;

struct demo_arguments {
  std::string folder = "/usr";
  std::string pool;
  std::string seconds_text = "30";
  double seconds = 30;
  std::string seed;
  bool sabotage = false;
  std::string worker;  // the hidden child mode
};

constexpr std::size_t files_max = 200'000;

/// The folder, at most two levels down, whose files are nearest to a quarter of all.
std::string quarter_of(const std::string& folder, const std::vector<const file_entry*>& files) {
  std::unordered_map<std::string_view, std::size_t> counts;
  for (const file_entry* file : files) {
    std::size_t end = folder.size();
    for (int level = 0; level < 2; ++level) {
      end = file->path.find('/', end + 1);
      if (end == std::string::npos) break;
      ++counts[std::string_view(file->path).substr(0, end + 1)];
    }
  }
  std::string_view best;
  std::size_t best_distance = files.size();
  for (const auto& [path, count] : counts) {
    const std::size_t distance =
        count * 4 > files.size() ? count * 4 - files.size() : files.size() - count * 4;
    if (distance < best_distance || (distance == best_distance && path < best)) {
      best = path;
      best_distance = distance;
    }
  }
  return std::string(best);
}

/// The story, step by step. Each step prints what it did and throws `failure` if anything is not as
/// it must be.
class demo {
 public:
  demo(const demo_arguments& arguments, std::uint64_t seed, file_list list)
      : arguments_(arguments),
        random_(seed),
        list_(std::move(list)),
        pool_(arguments.pool, list_.files.size()),
        ledger_(list_.files),
        campaign_(pool_.path(), ledger_, random_) {}

  void run() {
    try {
      index();
      look_up();
      refresh();
      erase();
      if (arguments_.sabotage) sabotage();
      compact();
      conclude();
      show_power_cuts(list_.files, arguments_.seconds * 0.2, random_);
    } catch (const failure&) {
      pool_.keep();
      print(fmt::format("\nFAILED. The pool is kept for a look: {}\n", pool_.path()));
      throw;
    }
  }

  const file_list& list() const { return list_; }
  const std::string& pool_path() const { return pool_.path(); }

 private:
  void index() {
    std::vector<const file_entry*> all;
    for (const file_entry& file : list_.files) all.push_back(&file);
    print("\nIndex every file: path -> size, time, XXH3 of its first 256 KiB\n");
    campaign_.run(work_kind::index, all, 12, arguments_.seconds * 0.45);
  }

  void look_up() {
    const table pool = open_pool(pool_.path(), open_mode::open_existing);
    lookup_race race(pool, ledger_, random_, std::min(1.0, arguments_.seconds * 0.05));
    print("\nLook up, one thread, every answer compared\n");
    lookups_per_second_ = race.present();
    print(fmt::format("  present files           {:>8}/s\n", human_rate(lookups_per_second_)));
    print(fmt::format("  absent files            {:>8}/s\n", human_rate(race.absent())));
  }

  void refresh() {
    print("\nUpdate every record: look at the file again, note the second pass\n");
    campaign_.run(work_kind::refresh, ledger_.present(), 5, arguments_.seconds * 0.2);
  }

  void erase() {
    std::vector<const file_entry*> victims = ledger_.present();
    const std::string part = quarter_of(arguments_.folder, victims);
    std::erase_if(victims, [&](const file_entry* file) { return !file->path.starts_with(part); });
    print(fmt::format("\nErase everything under {}\n", part));
    campaign_.run(work_kind::erase, victims, 3, arguments_.seconds * 0.1);
  }

  void sabotage() {
    table pool = open_pool(pool_.path(), open_mode::open_existing);
    const std::string victim = ledger_.present().front()->path;
    if (const status answer = pool.erase(victim); answer != status::ok)
      throw failure(exit_code_of(answer), "sabotage: " + std::string(message(answer)));
    print(fmt::format("\nSabotage    the record of {} is erased behind the demo's back\n", victim));
    close_pool(pool);
  }

  void compact() {
    table pool = open_pool(pool_.path(), open_mode::open_existing);
    const std::uint64_t before = pool.info().file_bytes;
    const auto start = clock::now();
    if (const status answer = pool.compact(); answer != status::ok)
      throw failure(exit_code_of(answer), "compact: " + std::string(message(answer)));
    print(fmt::format("\nCompact     {} -> {} in {}\n", human_bytes(before),
                      human_bytes(pool.info().file_bytes), human_seconds(seconds_since(start))));
    close_pool(pool);
  }

  void conclude() {
    table pool = open_pool(pool_.path(), open_mode::open_existing);
    const auto start = clock::now();
    const check_report report = pool.check();
    print(fmt::format("Check       {}, {} verified in {}\n", report.ok ? "ok" : "DAMAGED",
                      counted(report.records, "record"), human_seconds(seconds_since(start))));
    for (const std::string& violation : report.violations)
      print("  violation: " + violation + "\n");
    if (!report.ok) throw failure(exit_not_found, "the check of the pool failed");
    const verdict last = ledger_.verify(pool, 0);
    campaign_.settle(last);
    print_summary(pool.info(), last);
    close_pool(pool);
  }

  void print_summary(const pool_info& facts, const verdict& last) const {
    std::string text = "\nSummary\n";
    const auto line = [&](std::string_view name, const std::string& value) {
      text += fmt::format("  {:<22}{}\n", name, value);
    };
    line("records", grouped(facts.records));
    line("kills survived", fmt::format("{}, {} of them while the pool was being opened",
                                       campaign_.kills(), campaign_.kills_at_open()));
    line("acknowledged", fmt::format("{} files, all compared after every kill: 0 lost, 0 wrong",
                                     grouped(last.acknowledged)));
    std::vector<double> reopened = campaign_.reopen_seconds();
    std::sort(reopened.begin(), reopened.end());
    if (!reopened.empty())
      line("reopen after a kill", fmt::format("{} median, {} at most, first answer included",
                                              human_seconds(reopened[reopened.size() / 2]),
                                              human_seconds(reopened.back())));
    line("lookups", human_rate(lookups_per_second_) + "/s");
    line("file", fmt::format("{}, {:.0f} bytes per record", human_bytes(facts.file_bytes),
                             static_cast<double>(facts.file_bytes) /
                                 static_cast<double>(std::max<std::uint64_t>(1, facts.records))));
    print(text);
  }

  const demo_arguments& arguments_;
  std::mt19937_64 random_;
  file_list list_;
  demo_pool pool_;
  ledger ledger_;
  campaign campaign_;
  double lookups_per_second_ = 0;
};

void tell_the_story(const demo_arguments& arguments, std::uint64_t seed) {
  const auto start = clock::now();
  if (!std::filesystem::is_directory(arguments.folder))
    throw failure(exit_usage, arguments.folder + " is not a directory");
  file_list list = list_files(arguments.folder, files_max, arguments.seconds * 0.1);
  if (list.files.empty()) throw failure(exit_usage, "no files under " + arguments.folder);
  const double listed = seconds_since(start);
  demo story(arguments, seed, std::move(list));
  print(
      fmt::format("durahash demo: an index that is killed while it grows\n\n"
                  "A process writes records and says which are durable, until SIGKILL ends it at a "
                  "random moment. The pool is\n"
                  "opened again, every record that was acknowledged is compared, and the next "
                  "process goes on from there.\n\n"
                  "  files   {}{} under {}, found in {}\n  pool    {}\n  seed    {}\n",
                  grouped(story.list().files.size()), story.list().complete ? "" : " (of more)",
                  arguments.folder, human_seconds(listed), story.pool_path(), seed));
  story.run();
  if (!arguments.pool.empty())
    print(fmt::format(
        "\nThe pool stays. Look inside:\n  durahash info {0}\n  durahash dump {0} | less\n",
        arguments.pool));
  print(fmt::format("\nNothing that was acknowledged was lost. {}.\n",
                    human_seconds(seconds_since(start))));
}

void run_demo(demo_arguments& arguments) {
  if (!arguments.worker.empty()) return run_worker(arguments.pool, *work_named(arguments.worker));
  arguments.seconds = decimal_number("--seconds", arguments.seconds_text, 1, 3600);
  const std::uint64_t seed = arguments.seed.empty()
                                 ? std::random_device{}()
                                 : whole_number("--seed", arguments.seed, 0, ~std::uint64_t{0});
  tell_the_story(arguments, seed);
}

}  // namespace

void add_demo(command_line app, int& exit_code) {
  auto arguments = std::make_shared<demo_arguments>();
  command_line command = app.add_subcommand(
      "demo", "Index a real file tree, kill the indexer again and again, lose nothing");
  command.add_option("--dir", arguments->folder, "the tree to index [/usr]").type_name("PATH");
  command.add_option("--pool", arguments->pool, "a new pool, kept afterwards [a temporary one]")
      .type_name("PATH");
  command
      .add_option("--seconds", arguments->seconds_text,
                  "about how long it may take at most, 1 to 3600 [30]")
      .type_name("S");
  command.add_option("--seed", arguments->seed, "repeats the same choice of moments [random]")
      .type_name("N");
  command.add_flag("--sabotage", arguments->sabotage,
                   "lose a record on purpose, to see that the demo fails then");
  command.add_option("--worker", arguments->worker)
      .check(one_of({"index", "refresh", "erase"}))
      .group("");
  command.footer(
      "A process indexes the tree into a pool and says which records are durable. It is killed "
      "with SIGKILL at random "
      "moments;\n"
      "after each kill the pool is opened, every acknowledged record is compared, and a new "
      "process goes on from "
      "there.\n"
      "Then lookups, an update of all records, an erasure of a part, compaction and a check. Then "
      "a second index, on a\n"
      "disk below /var/tmp, of which the power is cut: a preloaded library forgets what nobody had "
      "waited for. Exit code 1\n"
      "if anything is lost that was promised.\n\n"
      "Examples:\n"
      "  durahash demo\n"
      "  durahash demo --dir /usr/share --pool files.dh --seed 7");
  command.callback([arguments, &exit_code] {
    run_demo(*arguments);
    exit_code = exit_done;
  });
}

}  // namespace durahash::tool
