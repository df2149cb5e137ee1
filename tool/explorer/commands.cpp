// durahash-crash: the one command of the explorer's program, which `durahash crash` starts.
#include "tool/commands.hpp"

#include <string_view>

namespace durahash::tool {

void add_commands(command_line app, int& exit_code) { add_crash(app, exit_code); }

std::optional<int> before_parsing(std::vector<char*>& words) {
  static char name[] = "crash";
  if (words.size() < 2 || words[1] != std::string_view(name)) words.insert(words.begin() + 1, name);
  return {};
}

}  // namespace durahash::tool
