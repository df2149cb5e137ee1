// durahash info: the facts of a pool.
#include <fmt/format.h>
#include <sys/stat.h>

#include <cmath>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>

#include "arguments.hpp"
#include "durahash/processes.hpp"
#include "encoding.hpp"
#include "failure.hpp"
#include "numbers.hpp"
#include "output.hpp"
#include "pool.hpp"

namespace durahash::tool {
namespace {

struct info_arguments {
  std::string pool;
  bool json = false;
  bool stats = false;
};

using figures = std::vector<std::pair<std::string, double>>;

using processes = result<std::vector<pool_process>>;

/// Its time as people write it, of their place.
std::string since(std::int64_t unix_seconds) {
  const std::time_t when = unix_seconds;
  std::tm parts{};
  char text[32];
  if (unix_seconds == 0 || ::localtime_r(&when, &parts) == nullptr ||
      std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts) == 0)
    return "an unknown time";
  return text;
}

/// A process may call itself anything.
std::string command_of(const pool_process& one) {
  std::string text;
  append_escaped(text, one.command);
  return text;
}

nlohmann::ordered_json json_of(const processes& others) {
  if (!others) return nullptr;
  auto json = nlohmann::ordered_json::array();
  for (const pool_process& one : *others)
    json.push_back({{"pid", one.id},
                    {"writes", one.writes},
                    {"started_unix_seconds", one.started_unix_seconds},
                    {"command", command_of(one)}});
  return json;
}

/// The log of a pool on a disk lies beside it.
/// Returns 0 where there is none.
std::uint64_t log_file_bytes_of(const std::string& path, const pool_info& facts) {
  struct stat log {};
  if (facts.medium != medium_kind::disk || ::stat((path + "-log").c_str(), &log) != 0) return 0;
  return static_cast<std::uint64_t>(log.st_size);
}

nlohmann::ordered_json json_of(const pool_info& facts) {
  nlohmann::ordered_json json{{"engine", name_of(facts.engine)},
                              {"key", name_of(facts.key)},
                              {"value", name_of(facts.value)},
                              {"durability", name_of(facts.durability)},
                              {"medium", name_of(facts.medium)},
                              {"records", facts.records},
                              {"slots", facts.slots},
                              {"load_factor", facts.load_factor},
                              {"file_bytes", facts.file_bytes},
                              {"live_bytes", facts.live_bytes},
                              {"free_bytes", facts.free_bytes},
                              {"format_version", facts.format_version},
                              {"clean", facts.clean},
                              {"may_lack_last_moments", facts.may_lack_last_moments}};
  if (facts.beside_a_writer) {
    json["beside_a_writer"] = true;
    json.erase("live_bytes"), json.erase("free_bytes");  // the writer alone knows
  }
  return json;
}

std::string line(std::string_view name, std::string_view value) {
  return fmt::format("{:<16}{}\n", name, value);
}

std::string bytes_line(std::string_view name, std::uint64_t bytes) {
  return line(name, bytes < 1024
                        ? human_bytes(bytes)
                        : fmt::format("{} ({} bytes)", human_bytes(bytes), grouped(bytes)));
}

std::string text_of(const processes& others) {
  if (!others) return line("open in", "nobody knows: " + others.failure().message);
  if (others->empty()) return {};
  std::string text = line("open in", fmt::format("{} other process{}", grouped(others->size()),
                                                 others->size() == 1 ? "" : "es"));
  for (const pool_process& one : *others)
    text += line(one.writes ? "  writer" : "  reader",
                 fmt::format("{} ({}), which began {}", one.id, command_of(one),
                             since(one.started_unix_seconds)));
  return text;
}

std::string text_of(const std::string& path, const pool_info& facts) {
  std::string text = line("engine", name_of(facts.engine));
  text += line("keys", name_of(facts.key)) + line("values", name_of(facts.value));
  text += line("durability", name_of(facts.durability)) + line("medium", name_of(facts.medium));
  text += line("survives", survives(path, facts));
  text += line("records", grouped(facts.records)) + line("slots", grouped(facts.slots));
  text += line("load factor", fmt::format("{:.2f}", facts.load_factor));
  text += bytes_line("file", facts.file_bytes);
  if (!facts.beside_a_writer)
    text += bytes_line("  live", facts.live_bytes) + bytes_line("  free", facts.free_bytes);
  if (const std::uint64_t log = log_file_bytes_of(path, facts); log != 0)
    text += bytes_line("log file", log);
  text += line("format version", std::to_string(facts.format_version));
  if (facts.beside_a_writer) return text + line("open", "a process has it to write to");
  text += line("last closed", facts.clean ? coloured("cleanly", colour::green)
                                          : coloured("not cleanly", colour::yellow) +
                                                ": the process that had it open died");
  if (facts.may_lack_last_moments)
    text += line("may lack",
                 "what was acknowledged in the moments before: the memory that outlives "
                 "a process, in /dev/shm, is gone, as after a power cut");
  return text;
}

/// A count is an integer in JSON, too.
bool is_count(double figure) {
  constexpr double exact = 9007199254740992;  // 2^53
  return figure >= 0 && figure < exact && figure == std::floor(figure);
}

void info(const info_arguments& arguments) {
  const table pool = open_to_read(arguments.pool);
  const pool_info facts = pool.info();
  const processes others = processes_with(arguments.pool);
  const figures engine_figures = arguments.stats ? pool.stats().figures : figures();
  if (arguments.json) {
    auto json = json_of(facts);
    json["processes"] = json_of(others);
    json["log_file_bytes"] = log_file_bytes_of(arguments.pool, facts);
    for (const auto& [name, figure] : engine_figures) {
      if (is_count(figure)) json["stats"][name] = static_cast<std::uint64_t>(figure);
      else json["stats"][name] = figure;
    }
    print(json.dump(2) + "\n");
    return;
  }
  std::string text = text_of(arguments.pool, facts) + text_of(others);
  for (const auto& [name, figure] : engine_figures)
    text += fmt::format("{:<32}{:.6g}\n", name, figure);
  print(text);
}

}  // namespace

void add_info(command_line app, int& exit_code) {
  auto arguments = std::make_shared<info_arguments>();
  command_line command = app.add_subcommand("info", "Print what a pool is and how full it is");
  add_pool_argument(command, arguments->pool);
  command.add_flag("--json", arguments->json, "as a JSON object");
  command.add_flag("--stats", arguments->stats, "the engine's figures too; reads the whole table");
  command.footer(
      "Example:\n"
      "  durahash info users.dh\n"
      "  durahash info users.dh --json | jq .records");
  command.callback([arguments, &exit_code] {
    info(*arguments);
    exit_code = exit_done;
  });
}

}  // namespace durahash::tool
