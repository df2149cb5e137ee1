// durahash crash, bench, reproduce: programs of their own beside this one. Most users do without.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "commands.hpp"
#include "output.hpp"

namespace durahash::tool {
namespace {

struct program {
  const char *command, *file, *description, *made_by;
};
constexpr program programs[] = {
    {"bench", "durahash-bench", "Measure throughput, latencies, flushes and space", "make bench"},
    {"crash", "durahash-crash",
     "Crash tables in every way the hardware allows, and prove that nothing is lost",
     "make explorer"},
    {"reproduce", "durahash-reproduce",
     "Measure what the four papers claim, row by row, and say what holds here", "make bench"},
};

/// Becomes the program, or says why not.
int start(const program& wanted, std::vector<char*>& words) {
  std::error_code ignored;
  const auto here = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  const std::string path = here / wanted.file, command = wanted.command;
  words.push_back(nullptr);
  ::execv(path.c_str(), words.data());
  if (errno == ENOENT)
    tell("durahash " + command + ": this is a program of its own, and " + path +
         " is not there: in the sources of durahash `" + wanted.made_by + "` builds it\n");
  else tell("durahash " + command + ": cannot start " + path + ": " + std::strerror(errno) + "\n");
  return exit_unusable;
}

}  // namespace

void add_programs(command_line app) {
  for (const program& one : programs) app.add_subcommand(one.command, one.description);
}

std::optional<int> start_program(std::vector<char*>& words) {
  if (words.size() > 1)
    for (const program& one : programs)
      if (words[1] == std::string_view(one.command)) return start(one, words);
  return {};
}

std::optional<int> put_command_first(std::vector<char*>& words, const char* name) {
  if (words.size() < 2 || words[1] != std::string_view(name))
    words.insert(words.begin() + 1, const_cast<char*>(name));
  return {};
}

}  // namespace durahash::tool
