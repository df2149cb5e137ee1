// The speed of light: what the machine's memory can do, below any table.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "bench/workload.hpp"
#include "durahash/options.hpp"

namespace durahash::bench {

/// One access pattern and its cost on one thread.
struct limit {
  std::string_view name;  ///< stable, for JSON
  std::string_view help;
  double ns = 0;  ///< per operation, median of the rounds
};

struct limits_report {
  std::uint64_t working_set_bytes = 0;
  unsigned rounds = 0;
  /// clwb, clflushopt or clflush: the best that the processor has
  std::string_view flush_instruction;
  std::vector<limit> rows;

  /// ns of the row of that name; 0 when it was not measured.
  double ns_of(std::string_view name) const noexcept;
};

/// Measures every pattern on anonymous memory of 4 KiB pages, faulted before. About 1 s per round.
/// working_set_bytes >= 1 MiB, a power of two.
limits_report measure_limits(std::uint64_t working_set_bytes, unsigned rounds, std::uint64_t seed);

/// The patterns that bound a workload: one read of a line per get, one durable line per write.
struct limit_names {
  std::string_view read;
  std::string_view write;
};
limit_names limits_of(durability_level durability, std::uint64_t batch) noexcept;

/// ns that an operation of `workload` takes at least, by its mix of reads and writes.
double limit_ns(const limits_report& limits, workload_kind workload, durability_level durability,
                std::uint64_t batch) noexcept;

}  // namespace durahash::bench
