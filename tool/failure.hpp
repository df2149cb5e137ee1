// How a command gives up: a sentence for people and an exit code for scripts.
#pragma once

#include <stdexcept>
#include <string>

#include "commands.hpp"
#include "durahash/status.hpp"

namespace durahash::tool {

/// Ends the command. main prints "durahash <command>: <sentence>" and exits with the code.
struct failure : std::runtime_error {
  failure(int code, const std::string& sentence) : std::runtime_error(sentence), exit_code(code) {}
  int exit_code;
};

/// The exit code that goes with an answer of the library.
inline int exit_code_of(status answer) {
  switch (answer) {
    case status::ok: return exit_done;
    case status::not_found:
    case status::exists:
    case status::mismatch: return exit_not_found;
    case status::invalid_argument: return exit_usage;
    default: return exit_unusable;
  }
}

}  // namespace durahash::tool
