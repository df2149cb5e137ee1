// durahash convert: other crashes to survive.
#include <fmt/format.h>

#include <memory>

#include "arguments.hpp"
#include "durahash/convert.hpp"
#include "failure.hpp"
#include "output.hpp"
#include "pool.hpp"

namespace durahash::tool {
namespace {

struct convert_arguments {
  std::string pool, durability;
};

void convert_pool(const convert_arguments& arguments) {
  check_pool_name(arguments.pool);
  const error answer = convert(arguments.pool, *durability_named(arguments.durability));
  if (answer.code != status::ok) throw failure(exit_unusable, answer.message);
  print(fmt::format("{}: durability {}\n", arguments.pool, arguments.durability));
}

}  // namespace

void add_convert(command_line app, int& exit_code) {
  auto arguments = std::make_shared<convert_arguments>();
  command_line command =
      app.add_subcommand("convert", "Change which crashes a closed pool survives");
  add_pool_argument(command, arguments->pool);
  add_choice(command, "--durability", arguments->durability,
             {"process", "power", "power_buffered", "none"},
             "process (kill -9), power (power loss: each write waits for a log beside the pool), "
             "power_buffered (power loss, but for the last 10 ms) or none")
      .required();
  command.footer(
      "The pool has the old level or the new one, whatever happens meanwhile.\n\n"
      "Example:\n"
      "  durahash convert users.dh --durability power");
  command.callback([arguments, &exit_code] {
    convert_pool(*arguments);
    exit_code = exit_done;
  });
}

}  // namespace durahash::tool
