#include "tool/bench/callgrind.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bench/instruction_counter.hpp"
#include "tool/failure.hpp"

extern char** environ;

namespace durahash::tool {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t most_records = 200'000, most_operations = 100'000;

/// Runs it with its output thrown away, and returns its exit code; -1 where it cannot be started.
int run(std::vector<std::string> words) {
  std::vector<char*> command;
  for (std::string& word : words) command.push_back(word.data());
  command.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  for (int output : {1, 2})
    posix_spawn_file_actions_addopen(&files, output, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const bool started =
      ::posix_spawnp(&child, command[0], &files, nullptr, command.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&files);
  int answer = 0;
  while (started && ::waitpid(child, &answer, 0) < 0 && errno == EINTR) {}
  return started && WIFEXITED(answer) ? WEXITSTATUS(answer) : -1;
}

/// A folder that goes with all that is in it.
class own_folder {
 public:
  own_folder() {
    std::string name = (fs::temp_directory_path() / "durahash-callgrind-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      throw failure(exit_unusable, "--instructions: cannot make a folder " + name);
    at_ = name;
  }
  ~own_folder() {
    std::error_code ignored;
    fs::remove_all(at_, ignored);
  }
  own_folder(const own_folder&) = delete;
  std::string file(const char* name) const { return (at_ / name).string(); }

 private:
  fs::path at_;
};

/// One workload of one engine, as the report has it, but for its size.
std::vector<std::string> words_for(const bench_arguments& a, const bench::request& asked,
                                   engine_kind engine, bench::workload_kind workload) {
  std::vector<std::string> words{
      "--engine",
      std::string(name_of(engine)),
      "--workload",
      std::string(bench::traits_of(workload).name),
      "--keys",
      std::to_string(std::min(asked.keys, most_records)),
      "--ops",
      std::to_string(std::min(bench::ops_of(asked, workload), most_operations)),
      "--batch",
      std::to_string(asked.batch),
      "--medium",
      a.medium,
      "--durability",
      std::string(name_of(asked.durability)),
      "--key",
      a.key,
      "--key-bytes",
      a.key_bytes,
      "--value-bytes",
      a.value_bytes,
      "--theta",
      a.theta,
      "--seed",
      a.seed,
      "--log-mib",
      a.log_mib,
      "--lag-ms",
      a.lag_ms,
      "--threads",
      "1",
      "--repeat",
      "1",
      "--no-latency",
      "--address-space-gib",
      "8"};  // valgrind grants no more than 16
  auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  add("--path", a.path);
  add("--distribution", a.distribution);
  for (const std::string& setting : a.settings) add("--set", setting);
  return words;
}

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// Of one operation.
double counted(const std::vector<std::string>& words) {
  const own_folder own;
  const std::string log = own.file("log"), report = own.file("report");
  std::vector<std::string> command{"valgrind",
                                   "--tool=callgrind",
                                   "--collect-atstart=no",
                                   "--toggle-collect=*measured_pass*",
                                   "--callgrind-out-file=/dev/null",
                                   "--log-file=" + log,
                                   fs::read_symlink("/proc/self/exe").string(),
                                   "bench",
                                   "--json",
                                   report};
  command.insert(command.end(), words.begin(), words.end());
  const int answer = run(command);
  const std::string said = text_of(log);
  const std::string title = "Collected : ";
  const std::size_t at = said.find(title);
  const auto told = nlohmann::json::parse(text_of(report), nullptr, false);
  if (answer != 0 || at == std::string::npos || told.is_discarded())
    throw failure(exit_unusable, fmt::format("--instructions: callgrind ended with {}: {}", answer,
                                             said.substr(0, 2000)));
  const double collected = std::strtod(said.c_str() + at + title.size(), nullptr);
  if (collected == 0)
    throw failure(exit_unusable,
                  "--instructions: callgrind counted nothing; this program has lost its symbols");
  return collected / told["results"][0]["ops"].get<double>();
}

}  // namespace

void check_that_instructions_can_be_counted() {
  if (bench::instruction_counter().value() || run({"valgrind", "--version"}) == 0) return;
  throw failure(exit_unusable,
                "--instructions: this processor gives no counter of instructions, and valgrind, "
                "whose callgrind counts them, is not installed (Debian: apt install valgrind)");
}

void count_by_callgrind(const bench_arguments& arguments, bench::report& all,
                        const std::function<void(const std::string&)>& tell) {
  for (bench::engine_outcome& engine : all.engines)
    for (bench::workload_outcome& result : engine.results) {
      if (result.instructions_per_op || result.cold) continue;
      tell(fmt::format("{}: counting the instructions of {}", name_of(engine.engine),
                       bench::traits_of(result.workload).name));
      result.instructions_per_op =
          counted(words_for(arguments, all.asked, engine.engine, result.workload));
      result.by_callgrind = true;
    }
}

}  // namespace durahash::tool
