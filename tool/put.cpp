// durahash put: one record in.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "arguments.hpp"
#include "failure.hpp"
#include "interruption.hpp"
#include "pool.hpp"

namespace durahash::tool {
namespace {

struct put_arguments {
  std::string pool;
  std::string key;
  std::string value;
  bool if_absent = false;
  bool if_present = false;
};

std::string read_standard_input() {
  std::string bytes;
  char chunk[64 * 1024];
  for (;;) {
    const ssize_t got = ::read(STDIN_FILENO, chunk, sizeof chunk);
    if (got == 0) return bytes;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      throw failure(exit_usage, std::string("cannot read standard input: ") + std::strerror(errno));
    bytes.append(chunk, static_cast<std::size_t>(got));
    if (bytes.size() > max_value_bytes)
      throw failure(exit_usage, "standard input is longer than a value may be");
  }
}

/// The value's bytes: the argument, or standard input for "-", where a number may have a line end
/// behind it.
std::string value_of(const put_arguments& arguments, data_kind kind) {
  if (arguments.value != "-") return bytes_of(kind, arguments.value, "value");
  std::string text = read_standard_input();
  if (kind == data_kind::u64)
    while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  return bytes_of(kind, text, "value");
}

status write(table& pool, const put_arguments& arguments, const std::string& key,
             const std::string& value) {
  if (arguments.if_absent) return pool.insert(key, value);
  if (arguments.if_present) return pool.update(key, value);
  return pool.put(key, value);
}

void put(const put_arguments& arguments) {
  if (arguments.if_absent && arguments.if_present)
    throw failure(exit_usage, "--if-absent and --if-present exclude each other");
  table pool = open_pool(arguments.pool, open_mode::open_existing);
  const record_kinds kinds = kinds_of(pool);
  const std::string key = bytes_of(kinds.key, arguments.key, "key");
  check_key_length(key);
  const std::string value = value_of(arguments, kinds.value);
  const interruption waits_for_close;
  const status answer = write(pool, arguments, key, value);
  if (answer != status::ok)
    throw failure(exit_code_of(answer),
                  "the key " + shown(kinds.key, key) + ": " + why(pool, answer));
  close_pool(pool);
}

}  // namespace

void add_put(command_line app, int& exit_code) {
  auto arguments = std::make_shared<put_arguments>();
  command_line command =
      app.add_subcommand("put", "Write one record; a record with this key is replaced");
  add_pool_argument(command, arguments->pool);
  add_argument(command, "KEY", arguments->key, "the key");
  add_argument(command, "VALUE", arguments->value,
               "the value; - reads it from standard input, byte for byte");
  command.add_flag("--if-absent", arguments->if_absent,
                   "only if the key is absent; exit 1 if it is there");
  command.add_flag("--if-present", arguments->if_present,
                   "only if the key is there; exit 1 if it is absent");
  command.footer(
      "Where a pool's keys or values are u64 they are written in decimal, or in hexadecimal after "
      "0x.\n"
      "Write -- before a key or value that begins with a dash.\n\n"
      "Examples:\n"
      "  durahash put users.dh alice 42\n"
      "  durahash put photos.dh cat.jpg - < cat.jpg\n"
      "  durahash put ids.dh 0xfeed 1");
  command.callback([arguments, &exit_code] {
    put(*arguments);
    exit_code = exit_done;
  });
}

}  // namespace durahash::tool
