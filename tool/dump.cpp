// durahash dump: every record as text that load reads back, byte for byte.
#include <memory>

#include "arguments.hpp"
#include "failure.hpp"
#include "format.hpp"
#include "numbers.hpp"
#include "output.hpp"
#include "pool.hpp"
#include "progress.hpp"

namespace durahash::tool {
namespace {

struct dump_arguments {
  std::string pool;
  std::string format = "tsv";
  std::string limit_text;
  std::string prefix;
  bool header = false;
  bool keys_only = false;
};

/// A header of the names of the columns that there are.
std::string_view header_of(const record_format& format, bool keys_only) {
  const std::string_view whole = format.header();
  return keys_only && !whole.empty() ? std::string_view("key\n") : whole;
}

constexpr std::uint64_t no_limit = ~std::uint64_t{0};

void dump(const dump_arguments& arguments) {
  table pool = open_to_read(arguments.pool);
  const record_format format(*format_named(arguments.format), kinds_of(pool));
  const std::uint64_t limit = arguments.limit_text.empty()
                                  ? no_limit
                                  : whole_number("--limit", arguments.limit_text, 0, no_limit);
  if (!arguments.prefix.empty() && format.kinds().key == data_kind::u64)
    throw failure(exit_usage, "--prefix: the keys of this pool are 64-bit numbers");
  // beside a writer they would have to be counted
  progress bar("dumping", is_beside_a_writer(pool) ? 0 : pool.size(), "records");
  output out;
  if (arguments.header) out.text() += header_of(format, arguments.keys_only);
  std::uint64_t records = 0, printed = 0;
  cursor at;
  at.done = limit == 0;
  while (!at.done && printed < limit) {
    const status answer = pool.scan(at, 256, [&](std::string_view key, std::string_view value) {
      ++records;
      if (printed >= limit || !key.starts_with(arguments.prefix)) return;
      ++printed;
      if (arguments.keys_only) format.append_key(out.text(), key);
      else format.append(out.text(), key, value);
    });
    if (answer != status::ok) throw failure(exit_code_of(answer), std::string(message(answer)));
    out.flush_if_full();
    bar.reach(records);
  }
  out.flush();
}

}  // namespace

void add_dump(command_line app, int& exit_code) {
  auto arguments = std::make_shared<dump_arguments>();
  command_line command = app.add_subcommand("dump", "Print every record, in no particular order");
  add_pool_argument(command, arguments->pool);
  add_choice(command, "--format", arguments->format, {"csv", "tsv", "jsonl"},
             "csv, tsv or jsonl [tsv]");
  command.add_flag("--header", arguments->header,
                   "begin with a line of column names (csv and tsv)");
  command.add_option("--limit", arguments->limit_text, "at most N records").type_name("N");
  command.add_option("--prefix", arguments->prefix, "records alone whose key begins with TEXT")
      .type_name("TEXT");
  command.add_flag("--keys-only", arguments->keys_only, "keys without their values");
  command.footer(
      "load reads it back, byte for byte; durahash load --help describes the formats.\n\n"
      "Examples:\n"
      "  durahash dump users.dh | sort | less\n"
      "  durahash dump users.dh --format jsonl > users.jsonl\n"
      "  durahash dump users.dh --prefix session/ --keys-only > sessions.tsv\n"
      "  durahash load users.dh sessions.tsv --erase");
  command.callback([arguments, &exit_code] {
    dump(*arguments);
    exit_code = exit_done;
  });
}

}  // namespace durahash::tool
