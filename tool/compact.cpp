// durahash compact: the smallest file that holds the records.
#include <fmt/format.h>

#include <memory>

#include "arguments.hpp"
#include "failure.hpp"
#include "interruption.hpp"
#include "numbers.hpp"
#include "output.hpp"
#include "pool.hpp"

namespace durahash::tool {
namespace {

void compact(const std::string& path) {
  table pool = open_pool(path, open_mode::open_existing);
  const interruption waits_for_close;
  const pool_info before = pool.info();
  const status answer = pool.compact();
  const pool_info after = pool.info();
  close_pool(pool);
  if (answer != status::ok) throw failure(exit_code_of(answer), std::string(message(answer)));
  print(fmt::format("{}: {} -> {} ({} -> {} bytes), {}\n", path, human_bytes(before.file_bytes),
                    human_bytes(after.file_bytes), before.file_bytes, after.file_bytes,
                    counted(after.records, "record")));
}

}  // namespace

void add_compact(command_line app, int& exit_code) {
  auto pool = std::make_shared<std::string>();
  command_line command = app.add_subcommand("compact", "Make a pool as small as its records allow");
  add_pool_argument(command, *pool);
  command.footer(
      "Ctrl-C, TERM and HUP are heeded once the compaction is done and the pool closed; a second "
      "one ends it at once, as "
      "kill -9\n"
      "does: every record is there, and the next compact repeats the work.\n\n"
      "Example:\n"
      "  durahash compact users.dh");
  command.callback([pool, &exit_code] {
    compact(*pool);
    exit_code = exit_done;
  });
}

}  // namespace durahash::tool
