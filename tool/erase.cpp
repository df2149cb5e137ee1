// durahash erase: one record out of the pool.
#include <memory>

#include "arguments.hpp"
#include "failure.hpp"
#include "interruption.hpp"
#include "pool.hpp"

namespace durahash::tool {
namespace {

struct erase_arguments {
  std::string pool;
  std::string key;
};

void erase(const erase_arguments& arguments) {
  table pool = open_pool(arguments.pool, open_mode::open_existing);
  const record_kinds kinds = kinds_of(pool);
  const std::string key = bytes_of(kinds.key, arguments.key, "key");
  check_key_length(key);
  const interruption waits_for_close;
  const status answer = pool.erase(key);
  if (answer != status::ok)
    throw failure(exit_code_of(answer),
                  "the key " + shown(kinds.key, key) + ": " + why(pool, answer));
  close_pool(pool);
}

}  // namespace

void add_erase(command_line app, int& exit_code) {
  auto arguments = std::make_shared<erase_arguments>();
  command_line command = app.add_subcommand("erase", "Remove one record");
  add_pool_argument(command, arguments->pool);
  add_argument(command, "KEY", arguments->key, "the key");
  command.footer(
      "Exit code 1 and a message if the key is absent. Many keys at once: durahash load "
      "--erase.\n\n"
      "Example:\n"
      "  durahash erase users.dh alice");
  command.callback([arguments, &exit_code] {
    erase(*arguments);
    exit_code = exit_done;
  });
}

}  // namespace durahash::tool
