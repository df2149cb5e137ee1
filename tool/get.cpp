// durahash get: values out.
#include <memory>
#include <vector>

#include "arguments.hpp"
#include "failure.hpp"
#include "format.hpp"
#include "output.hpp"
#include "pool.hpp"

namespace durahash::tool {
namespace {

struct get_arguments {
  std::string pool;
  std::vector<std::string> keys;
  bool raw = false;
};

/// Appends the value of a key to `text`, or says that it is absent. Of several keys each value
/// stands behind its key, as dump prints them.
status append_value(const get_arguments& arguments, const table& pool, const record_kinds& kinds,
                    const std::string& word, std::string& text) {
  const std::string key = bytes_of(kinds.key, as_written(word), "key");
  check_key_length(key);
  std::string value;
  const status answer = pool.get(key, value);
  if (answer != status::ok) {
    const std::string sentence = "the key " + shown(kinds.key, key) + ": " + why(pool, answer);
    if (answer != status::not_found || arguments.keys.size() == 1)
      throw failure(exit_code_of(answer), sentence);
    tell("durahash get: " + sentence + "\n");
  } else if (arguments.raw) {
    text += kinds.value == data_kind::u64 ? text_of(kinds.value, value) : value;
  } else if (arguments.keys.size() == 1) {
    text += text_of(kinds.value, value) + '\n';
  } else {
    record_format(format_kind::tsv, kinds).append(text, key, value);
  }
  return answer;
}

int get(const get_arguments& arguments) {
  table pool = open_to_read(arguments.pool, false);
  const record_kinds kinds = kinds_of(pool);
  output out;
  int exit_code = exit_done;
  for (const std::string& word : arguments.keys) {
    if (append_value(arguments, pool, kinds, word, out.text()) != status::ok)
      exit_code = exit_not_found;
    out.flush_if_full();
  }
  out.flush();
  return exit_code;
}

}  // namespace

void add_get(command_line app, int& exit_code) {
  auto arguments = std::make_shared<get_arguments>();
  command_line command = app.add_subcommand("get", "Print the value of a key, or of several");
  add_pool_argument(command, arguments->pool);
  command
      .add_option("KEY", arguments->keys, "the key; of several each line is a record, as of dump")
      .required()
      .type_name("");
  command.add_flag("--raw", arguments->raw, "print the value alone, without a line end behind it");
  command.footer(
      "Exit code 1 and a message if a key is absent.\n\n"
      "Examples:\n"
      "  durahash get users.dh alice\n"
      "  durahash get users.dh alice bob carol\n"
      "  durahash get --raw photos.dh cat.jpg > cat.jpg");
  command.callback([arguments, &exit_code] { exit_code = get(*arguments); });
}

}  // namespace durahash::tool
