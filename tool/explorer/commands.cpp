// durahash-crash: the one command of the explorer's program, which `durahash crash` starts.
#include "tool/commands.hpp"

namespace durahash::tool {

void add_commands(command_line app, int& exit_code) { add_crash(app, exit_code); }

std::optional<int> before_parsing(std::vector<char*>& words) {
  return put_command_first(words, "crash");
}

}  // namespace durahash::tool
