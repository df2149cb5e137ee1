// A search of gphash by threads that work alone: what GPHash's paper starts from in its figure 9.
// For counting beside the kernels, whose warps do one operation together.
#pragma once

#include "durahash/gpu.hpp"

namespace durahash::ptx {

/// Each thread looks at its key's slots one after another, level by level, until it meets the key.
/// Of a table of two levels, two places and eight slots. `blocks` of 256 threads; done when it
/// returns. Arrays where the device reaches them. Answers: ok, and the value; not_found.
/// Returns false where the device failed, or has another table.
bool find_by_lone_threads(gpu::map& m, unsigned blocks, std::size_t n, const std::uint64_t* keys,
                          std::uint64_t* values, status* answers);

}  // namespace durahash::ptx
