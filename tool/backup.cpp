// durahash backup: a copy of a pool, as a pool of its own.
#include <fmt/format.h>

#include <memory>

#include "arguments.hpp"
#include "failure.hpp"
#include "numbers.hpp"
#include "output.hpp"
#include "pool.hpp"

namespace durahash::tool {
namespace {

struct backup_arguments {
  std::string pool, file;
};

void back_up(const backup_arguments& arguments) {
  check_pool_name(arguments.file);
  table pool = open_to_read(arguments.pool);
  const bool beside = is_beside_a_writer(pool);
  const error answer = pool.backup(arguments.file);
  if (answer.code != status::ok) throw failure(exit_unusable, answer.message);
  const pool_info copied = open_pool(arguments.file, open_mode::read_only).info();
  print(fmt::format("{}: {}, {}, durability {}\n", arguments.file,
                    counted(copied.records, "record"), human_bytes(copied.file_bytes),
                    name_of(copied.durability)));
  if (beside) print("a process was writing: each record is as it was at some moment of the copy\n");
}

}  // namespace

void add_backup(command_line app, int& exit_code) {
  auto arguments = std::make_shared<backup_arguments>();
  command_line command = app.add_subcommand("backup", "Copy a pool to a new file");
  add_pool_argument(command, arguments->pool);
  command.add_option("FILE", arguments->file, "the copy: a new file").required();
  command.footer(
      "The copy is a pool that was closed cleanly; it appears when it is whole. The pool that is "
      "copied stays as it is,\n"
      "also one that a kill left open. Beside a process that writes, the copy has all that was "
      "acknowledged before it began\n"
      "and stays, each record as it was at some moment meanwhile. That process itself can copy one "
      "moment: table::backup.\n\n"
      "Example:\n"
      "  durahash backup users.dh users-monday.dh");
  command.callback([arguments, &exit_code] {
    back_up(*arguments);
    exit_code = exit_done;
  });
}

}  // namespace durahash::tool
