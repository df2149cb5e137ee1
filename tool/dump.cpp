// durahash dump: every record as text that load reads back, byte for byte.
#include <memory>

#include "arguments.hpp"
#include "failure.hpp"
#include "format.hpp"
#include "output.hpp"
#include "pool.hpp"
#include "progress.hpp"

namespace durahash::tool {
namespace {

struct dump_arguments {
  std::string pool;
  std::string format = "tsv";
  bool header = false;
};

void dump(const dump_arguments& arguments) {
  table pool = open_pool(arguments.pool, open_mode::read_only);
  const record_format format(*format_named(arguments.format), kinds_of(pool));
  progress bar("dumping", pool.size(), "records");
  output out;
  if (arguments.header) out.text() += format.header();
  std::uint64_t records = 0;
  cursor at;
  while (!at.done) {
    const status answer = pool.scan(at, 256, [&](std::string_view key, std::string_view value) {
      format.append(out.text(), key, value);
      ++records;
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
  command.footer(
      "load reads it back, byte for byte; durahash load --help describes the formats.\n\n"
      "Examples:\n"
      "  durahash dump users.dh | sort | less\n"
      "  durahash dump users.dh --format jsonl > users.jsonl");
  command.callback([arguments, &exit_code] {
    dump(*arguments);
    exit_code = exit_done;
  });
}

}  // namespace durahash::tool
