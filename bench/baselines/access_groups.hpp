// What a persistent memory of 256-byte blocks makes of small accesses: TurboHash §2, figure 2.
#pragma once

#include <cstdint>

namespace durahash::baselines {

/// Of one access of 8 bytes, the mean.
struct access_costs {
  double blocks_read = 0, blocks_written = 0;
};

/// A probing: a group of accesses in different cache lines, in lines that follow one another or
/// anywhere. A group begins anywhere. A write is flushed at once, and a group of them fenced.
/// Counts on the medium emulated, in 64 MiB of memory.
access_costs cost_of_accesses(unsigned group, bool sequential, bool writes, std::uint64_t seed);

}  // namespace durahash::baselines
