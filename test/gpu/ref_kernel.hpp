// Starts a kernel that uses gpu::ref, on the default stream. Arrays as of gpu.hpp.
#pragma once

#include "durahash/gpu.hpp"

namespace durahash::test {

void run_count_up(gpu::map& m, std::size_t n, const std::uint64_t* keys, status* answers, std::uint64_t* there);

}  // namespace durahash::test
