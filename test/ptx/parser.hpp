// From the text of PTX to kernels. What it does not know stops it: an error that names the
// instruction, and never a guess.
#pragma once

#include <stdexcept>

#include "test/ptx/instruction.hpp"

namespace durahash::ptx {

struct parse_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Adds the kernels of a text to a module. Throws   parse_error
void parse(const std::string& text, module& into);

/// A kernel's name without what the compiler makes of a file's name and content.
std::string stable_name(const std::string& mangled);

}  // namespace durahash::ptx
