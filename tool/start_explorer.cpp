// durahash crash: starts the explorer, a program of its own beside this one.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "arguments.hpp"
#include "commands.hpp"
#include "output.hpp"

namespace durahash::tool {

void add_crash(command_line app, int&) {
  app.add_subcommand(
      "crash", "Crash tables in every way the hardware allows, and prove that nothing is lost");
}

int start_explorer(std::vector<char*> words) {
  std::error_code ignored;
  const auto here = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  const std::string explorer = here / "durahash-crash";
  words.push_back(nullptr);
  ::execv(explorer.c_str(), words.data());
  if (errno == ENOENT)
    tell("durahash crash: the explorer is a program of its own, and " + explorer +
         " is not there: in the sources of durahash `make explorer` builds it\n");
  else tell("durahash crash: cannot start " + explorer + ": " + std::strerror(errno) + "\n");
  return exit_unusable;
}

}  // namespace durahash::tool
