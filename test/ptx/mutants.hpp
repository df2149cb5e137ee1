// Bugs planted in the compiled kernels, by a change of their text. Each is what a line forgotten or
// a word mistaken in src/gpu would have made.
#pragma once

#include <string>
#include <vector>

#include "test/ptx/kernel_program.hpp"

namespace durahash::ptx {

struct mutant {
  const char* name;
  const char* in;       // part of the kernels' names; empty: all of them
  const char* pattern;  // of an instruction, a regular expression
  const char* instead;  // empty: nothing
  int which = -1;       // the n-th in each kernel; -1: all
  program_options shown_by = {};
};

extern const std::vector<mutant> mutants;

/// The build's kernels with it. Throws   parse_error if it changes nothing
module planted(const mutant& m);

}  // namespace durahash::ptx
