// durahash remove: a pool, and all that is beside it.
#include "durahash/remove.hpp"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "failure.hpp"
#include "output.hpp"
#include "pool.hpp"

namespace durahash::tool {

namespace {

/// What cannot be removed does not keep the others. Returns the exit code.
int remove_each(const std::vector<std::string>& pools) {
  for (const std::string& pool : pools) check_pool_name(pool);
  int worst = exit_done;
  for (const std::string& pool : pools) {
    if (const error answer = remove_pool(pool); answer.code == status::ok) {
      print(fmt::format("{}: removed\n", pool));
    } else {
      tell("durahash remove: " + answer.message + "\n");
      worst = exit_unusable;
    }
  }
  return worst;
}

}  // namespace

void add_remove(command_line app, int& exit_code) {
  auto pools = std::make_shared<std::vector<std::string>>();
  command_line command = app.add_subcommand("remove", "Remove pools");
  command.add_option("POOL", *pools, "a pool's file; several are removed one after the other")
      .required();
  command.footer(
      "A pool on a disk is more than its file: its log lies beside it, and a killed process may "
      "have left the log's\n"
      "last milliseconds in /dev/shm. All of that goes. What is no pool stays, as does a pool that "
      "a process has open:\n"
      "the others go, and the exit code is 3.\n\n"
      "Example:\n"
      "  durahash remove users.dh");
  command.callback([pools, &exit_code] { exit_code = remove_each(*pools); });
}

}  // namespace durahash::tool
