#include "bench/plot.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "bench/scratch_pool.hpp"

extern char** environ;

namespace durahash::bench {
namespace {

// The file is a C++ string literal and a Python program at once.
constexpr std::string_view script =
#include "bench/plot.py"
    ;

/// A file that nobody else sees and that goes with its descriptor.
class hidden_file {
 public:
  explicit hidden_file(std::string_view content) : descriptor_(::memfd_create("durahash-plot", 0)) {
    if (descriptor_ < 0 || ::write(descriptor_, content.data(), content.size()) !=
                               static_cast<ssize_t>(content.size()))
      throw failure(status::io_error, "cannot hand the report to python3");
  }
  ~hidden_file() { ::close(descriptor_); }
  hidden_file(const hidden_file&) = delete;
  hidden_file& operator=(const hidden_file&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

/// Runs python3; returns whether it was content. What it has to say goes to stderr.
bool run_python(std::vector<std::string> arguments) {
  std::vector<char*> command = {const_cast<char*>("python3")};
  for (std::string& argument : arguments) command.push_back(argument.data());
  command.push_back(nullptr);
  pid_t child = 0;
  if (::posix_spawnp(&child, "python3", nullptr, nullptr, command.data(), environ) != 0)
    throw failure(status::io_error, "a plot needs python3, which cannot be started");
  int answer = 0;
  while (::waitpid(child, &answer, 0) < 0 && errno == EINTR) {}
  return WIFEXITED(answer) && WEXITSTATUS(answer) == 0;
}

}  // namespace

void check_that_plots_work() {
  if (!run_python(
          {"-c",
           "import importlib.util, sys; sys.exit(importlib.util.find_spec('matplotlib') is None)"}))
    throw failure(status::io_error,
                  "a plot needs the Python package matplotlib, which is not installed (Debian: apt "
                  "install python3-matplotlib)");
}

void run_plot_program(std::string_view program, const std::string& data,
                      std::vector<std::string> arguments) {
  hidden_file source(program.substr(1)), report(data);
  std::vector<std::string> command = {source.path(), report.path()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  if (!run_python(std::move(command)))
    throw failure(status::io_error,
                  "no picture was drawn into " + (arguments.empty() ? "" : arguments.back()));
}

void plot(const std::vector<report>& all, const std::string& picture) {
  run_plot_program(script, json_of(all).dump(), {picture});
}

}  // namespace durahash::bench
