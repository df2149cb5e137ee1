// durahash-reproduce: the one command of the lab's program, which `durahash reproduce` starts.
#include "tool/commands.hpp"

namespace durahash::tool {

void add_commands(command_line app, int& exit_code) { add_reproduce(app, exit_code); }

std::optional<int> before_parsing(std::vector<char*>& words) {
  return put_command_first(words, "reproduce");
}

}  // namespace durahash::tool
