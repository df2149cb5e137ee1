// durahash check: is every byte of the pool as it should be?
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "arguments.hpp"
#include "failure.hpp"
#include "interruption.hpp"
#include "numbers.hpp"
#include "output.hpp"
#include "pool.hpp"

namespace durahash::tool {
namespace {

struct check_arguments {
  std::string pool;
  bool json = false;
  bool salvage = false;
};

std::string report_as_json(const check_report& report, const check_arguments& arguments,
                           const std::vector<std::string>& salvaged) {
  nlohmann::ordered_json json{
      {"ok", report.ok}, {"records", report.records}, {"violations", report.violations}};
  if (arguments.salvage) json["salvage"] = salvaged;
  // A sentence may quote a damaged record's bytes.
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string report_as_text(const check_report& report, const check_arguments& arguments,
                           const std::vector<std::string>& salvaged, double seconds) {
  std::string text;
  for (const std::string& sentence : salvaged) text += "salvage: " + sentence + "\n";
  for (const std::string& sentence : report.violations)
    text += coloured("violation", colour::red) + ": " + sentence + "\n";
  text += fmt::format("{}: {}, {}, checked in {}\n", arguments.pool,
                      report.ok ? coloured("ok", colour::green) : coloured("DAMAGED", colour::red),
                      counted(report.records, "record"), human_seconds(seconds));
  return text;
}

bool check(const check_arguments& arguments) {
  std::optional<interruption> waits_for_close;
  if (arguments.salvage) waits_for_close.emplace();  // a check alone only reads, and just ends
  table pool = arguments.salvage ? open_pool(arguments.pool, open_mode::open_existing, true)
                                 : open_to_read(arguments.pool);
  const auto start = std::chrono::steady_clock::now();
  const check_report report = pool.check();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const std::vector<std::string> salvaged = pool.salvage_report();
  close_pool(pool);
  print(arguments.json ? report_as_json(report, arguments, salvaged)
                       : report_as_text(report, arguments, salvaged, seconds));
  return report.ok;
}

}  // namespace

void add_check(command_line app, int& exit_code) {
  auto arguments = std::make_shared<check_arguments>();
  command_line command =
      app.add_subcommand("check", "Verify a pool: its format, every record, every byte");
  add_pool_argument(command, arguments->pool);
  command.add_flag("--json", arguments->json, "as a JSON object: ok, records, violations");
  command.add_flag(
      "--salvage", arguments->salvage,
      "open a pool that a reboot interrupted, drop what does not verify, and say what");
  command.footer(
      "Exit code 0 if all is well, 1 if something is not, 3 if the pool cannot be used or nobody "
      "takes the answer.\n"
      "With --salvage Ctrl-C, TERM and HUP are heeded once the pool is closed; a second one ends "
      "it at once.\n\n"
      "Examples:\n"
      "  durahash check users.dh\n"
      "  durahash check users.dh --salvage");
  command.callback(
      [arguments, &exit_code] { exit_code = check(*arguments) ? exit_done : exit_not_found; });
}

}  // namespace durahash::tool
