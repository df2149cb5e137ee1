// A program of batches over gpu::map on the interpreter, checked against a model, and at chosen
// instructions killed: the pool as it is then is opened by the processor and checked, too.
#pragma once

#include <string>

#include "durahash/gpu.hpp"
#include "test/ptx/instruction.hpp"

namespace durahash::ptx {

struct program_options {
  std::uint64_t seed = 1;
  bool weak = true;
  gpu::table_place place = gpu::table_place::pool;
  unsigned cache_percent = 0;
  bool to_power = false;  // in memory: no file is at the end
  bool grows = false;
  bool exchanges = false;  // a table of few slots, which go from key to key beside finds
  bool killed = false;     // now and then, all the time
  unsigned rounds = 6;
};

struct program_end {
  std::string complaint;  // the first; empty: all was right
  unsigned images = 0;    // pools of kills that were opened
  std::uint64_t instructions = 0;
};

/// Runs these kernels, or those of the build.
program_end run_program(const program_options& o, const module* kernels = nullptr);

}  // namespace durahash::ptx
