// durahash-bench: the one command of the benchmark's program, which `durahash bench` starts.
#include "tool/commands.hpp"

namespace durahash::tool {

void add_commands(command_line app, int& exit_code) { add_bench(app, exit_code); }

std::optional<int> before_parsing(std::vector<char*>& words) {
  return put_command_first(words, "bench");
}

}  // namespace durahash::tool
