// Runs the built tool and catches what it says.
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace durahash::bench {

struct tool_answer {
  int exit_code = -1;
  std::string output;  // standard output; with `2>&1` in the arguments, messages too
};

inline tool_answer run_tool(const std::string& arguments) {
  std::string command = std::string(DURAHASH_TOOL_PATH) + " " + arguments;
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  tool_answer answer;
  std::array<char, 4096> piece;
  while (std::size_t bytes = std::fread(piece.data(), 1, piece.size(), pipe))
    answer.output.append(piece.data(), bytes);
  int ended = ::pclose(pipe);
  answer.exit_code = WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
  return answer;
}

/// `durahash bench --json - <arguments>`, which must succeed.
inline nlohmann::json run_bench(const std::string& arguments) {
  tool_answer answer = run_tool("bench --json - " + arguments);
  if (answer.exit_code != 0)
    throw std::runtime_error("durahash bench " + arguments + " answered " +
                             std::to_string(answer.exit_code));
  return nlohmann::json::parse(answer.output);
}

}  // namespace durahash::bench
