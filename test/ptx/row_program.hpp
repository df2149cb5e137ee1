// Batches of rows that the compiled kernels write, killed again and again: each pool that is left
// opens, has all that was acknowledged, and of the batch under way each key as before or as after.
#pragma once

#include <cstdint>
#include <string>

#include "test/ptx/kernel_program.hpp"

namespace durahash::ptx {

struct row_program_options {
  std::uint64_t seed = 1;
  unsigned key_bytes = 0;  // of keys in their buckets; 0: u64, in front of their values
  unsigned cache_percent = 0;
  bool weak = true, to_power = false;
  unsigned rounds = 12;
};

program_end run_row_program(const row_program_options& o);

}  // namespace durahash::ptx
