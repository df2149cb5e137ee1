// durahash create: a new, empty pool.
#include <fmt/format.h>

#include <memory>

#include "arguments.hpp"
#include "failure.hpp"
#include "numbers.hpp"
#include "output.hpp"
#include "pool.hpp"

namespace durahash::tool {
namespace {

struct create_arguments {
  std::string pool;
  std::string engine = "turbo";
  std::string key = "bytes";
  std::string value;
  std::string durability;
  std::string capacity;
  std::vector<std::string> settings;
};

std::uint64_t capacity_of(const std::string& text) {
  const auto capacity = parse_count(text);
  if (!capacity)
    throw failure(exit_usage,
                  "--capacity " + text + " is not a number of records, such as 250000 or 10M");
  return *capacity;
}

/// "name=value" into the settings; their meaning is the engine's.
void add_setting(std::map<std::string, std::uint64_t>& settings, const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const auto value = equals == std::string::npos
                         ? std::nullopt
                         : parse_count(std::string_view(text).substr(equals + 1));
  if (name.empty() || !value)
    throw failure(exit_usage, "--set " + text + " is not of the form name=number");
  if (!settings.emplace(name, *value).second)
    throw failure(exit_usage, "--set " + name + " is given twice");
}

options options_of(const create_arguments& arguments) {
  options how;
  how.mode = open_mode::create_new;
  how.engine = engine_named(arguments.engine);
  how.key = data_kind_named(arguments.key);
  how.value = arguments.value.empty() ? how.key : data_kind_named(arguments.value);
  if (!arguments.durability.empty()) how.durability = durability_named(arguments.durability);
  if (!arguments.capacity.empty()) how.capacity = capacity_of(arguments.capacity);
  for (const std::string& setting : arguments.settings) add_setting(how.settings, setting);
  return how;
}

void create(const create_arguments& arguments) {
  check_pool_name(arguments.pool);
  auto pool = table::open(arguments.pool, options_of(arguments));
  if (!pool)
    throw failure(pool.failure().code == status::invalid_argument ? exit_usage : exit_unusable,
                  pool.failure().message);
  const pool_info facts = pool->info();
  close_pool(*pool);
  tell(fmt::format("created {}: engine {}, {} keys, {} values, durability {}, {}\n", arguments.pool,
                   name_of(facts.engine), name_of(facts.key), name_of(facts.value),
                   name_of(facts.durability), human_bytes(facts.file_bytes)));
  tell(fmt::format("survives {}\n", survives(arguments.pool, facts)));
}

}  // namespace

void add_create(command_line app, int& exit_code) {
  auto arguments = std::make_shared<create_arguments>();
  command_line command = app.add_subcommand("create", "Make a new, empty pool");
  add_pool_argument(command, arguments->pool);
  add_choice(command, "--engine", arguments->engine, engine_names(),
             "the table's structure: " + listed(engine_names(), " or ") + " [turbo]");
  add_choice(command, "--key", arguments->key, {"u64", "bytes"},
             "what keys are: u64 (64-bit numbers) or bytes [bytes]");
  add_choice(command, "--value", arguments->value, {"u64", "bytes"},
             "what values are: u64 or bytes [as the keys]");
  add_choice(
      command, "--durability", arguments->durability,
      {"process", "power", "power_buffered", "none"},
      "the crashes to survive: process (kill -9), power (power loss: on a plain disk each write "
      "waits for a log), power_buffered (power loss, but for the last 10 ms) or none "
      "[process]");
  command
      .add_option("--capacity", arguments->capacity,
                  "records expected, for example 250000 or 10M; the pool grows past it by itself")
      .type_name("N");
  command
      .add_option("--set", arguments->settings, "an engine's setting, name=number; may be repeated")
      .take_all()
      .allow_extra_args(false)
      .type_name("NAME=N");
  command.footer(
      "An existing file is never overwritten.\n\n"
      "Examples:\n"
      "  durahash create users.dh\n"
      "  durahash create ids.dh --key u64 --value u64 --capacity 10M");
  command.callback([arguments, &exit_code] {
    create(*arguments);
    exit_code = exit_done;
  });
}

}  // namespace durahash::tool
