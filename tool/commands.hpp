// The commands of `durahash`: each tool/<command>.cpp registers one.
#pragma once

#include <optional>
#include <vector>

#include "arguments.hpp"

namespace durahash::tool {

/// What the process answers to its caller.
enum exit_codes : int {
  exit_done = 0,
  exit_not_found = 1,  ///< the key is absent, or a check failed
  exit_usage = 2,      ///< the arguments or the input make no sense
  exit_unusable = 3,   ///< the pool cannot be used; the message says why
};

// Each adds its subcommand to `app`. Running it leaves the answer in `exit_code`, or throws
// `failure`.
void add_create(command_line app, int& exit_code);
void add_put(command_line app, int& exit_code);
void add_get(command_line app, int& exit_code);
void add_erase(command_line app, int& exit_code);
void add_load(command_line app, int& exit_code);
void add_dump(command_line app, int& exit_code);
void add_info(command_line app, int& exit_code);
void add_metrics(command_line app, int& exit_code);
void add_check(command_line app, int& exit_code);
void add_inspect(command_line app, int& exit_code);
void add_compact(command_line app, int& exit_code);
void add_convert(command_line app, int& exit_code);
void add_backup(command_line app, int& exit_code);
void add_remove(command_line app, int& exit_code);
void add_bench(command_line app, int& exit_code);
void add_demo(command_line app, int& exit_code);
void add_crash(command_line app, int& exit_code);
void add_reproduce(command_line app, int& exit_code);

// Programs of their own, durahash-crash, durahash-bench and durahash-reproduce, stand beside the
// tool.

/// Names their commands in the tool's help.
void add_programs(command_line app);

/// Becomes the program whose command the first word is, or says why not and returns the exit code.
/// Nothing: it is none of theirs.
std::optional<int> start_program(std::vector<char*>& words);

/// In such a program: puts the name of its one command in front, where it is not there. The name
/// is not changed.
std::optional<int> put_command_first(std::vector<char*>& words, const char* name);

// What the tool (commands.cpp) and the programs (explorer/, bench/ and reproduce/commands.cpp) do
// differently.

void add_commands(command_line app, int& exit_code);

/// The words of the command line, the program's name first, may be changed. An exit code: that is
/// all.
std::optional<int> before_parsing(std::vector<char*>& words);

}  // namespace durahash::tool
