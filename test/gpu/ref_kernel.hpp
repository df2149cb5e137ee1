// Starts kernels that use gpu::ref and gpu::row_ref, on the default stream. Arrays as of gpu.hpp.
#pragma once

#include "durahash/gpu_table.hpp"

namespace durahash::test {

void run_count_up(gpu::map& m, std::size_t n, const std::uint64_t* keys, status* answers,
                  std::uint64_t* there);
void run_look_rows_up(gpu::table& t, std::size_t n, const std::uint64_t* keys, std::uint64_t* sums,
                      std::uint64_t* rooms, std::uint32_t* lengths, status* answers);

}  // namespace durahash::test
