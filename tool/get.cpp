// durahash get: one value out.
#include <memory>

#include "arguments.hpp"
#include "failure.hpp"
#include "output.hpp"
#include "pool.hpp"

namespace durahash::tool {
namespace {

struct get_arguments {
  std::string pool;
  std::string key;
  bool raw = false;
};

void get(const get_arguments& arguments) {
  table pool = open_pool(arguments.pool, open_mode::read_only);
  const record_kinds kinds = kinds_of(pool);
  const std::string key = bytes_of(kinds.key, arguments.key, "key");
  check_key_length(key);
  std::string value;
  const status answer = pool.get(key, value);
  if (answer != status::ok)
    throw failure(exit_code_of(answer),
                  "the key " + shown(kinds.key, key) + ": " + why(pool, answer));
  std::string text = kinds.value == data_kind::u64 ? text_of(kinds.value, value) : std::move(value);
  if (!arguments.raw) text += '\n';
  print(text);
}

}  // namespace

void add_get(command_line app, int& exit_code) {
  auto arguments = std::make_shared<get_arguments>();
  command_line command = app.add_subcommand("get", "Print the value of one key");
  add_pool_argument(command, arguments->pool);
  add_argument(command, "KEY", arguments->key, "the key");
  command.add_flag("--raw", arguments->raw, "print the value alone, without a line end behind it");
  command.footer(
      "Exit code 1 and a message if the key is absent.\n\n"
      "Examples:\n"
      "  durahash get users.dh alice\n"
      "  durahash get --raw photos.dh cat.jpg > cat.jpg");
  command.callback([arguments, &exit_code] {
    get(*arguments);
    exit_code = exit_done;
  });
}

}  // namespace durahash::tool
