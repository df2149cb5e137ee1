// The operations that one thread performs, drawn before the clock starts.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/keys.hpp"
#include "bench/workload.hpp"

namespace durahash::bench {

struct operations {
  std::vector<std::uint64_t> keys;
  operation_kind kind{};              ///< of all of them, when `kinds` is empty
  std::vector<operation_kind> kinds;  ///< of each, in a mix

  bool is_mix() const noexcept { return !kinds.empty(); }
};

/// What is asked of a workload as a whole. The same question has the same answer on every machine.
struct drawing {
  workload_kind workload{};
  distribution_kind distribution{};
  double theta = 0.99;
  std::uint64_t records = 0;  ///< loaded
  /// by all threads together; at most `records` where each record is used once, twice that in churn
  std::uint64_t ops = 0;
  unsigned threads = 1;
  std::uint64_t seed = 0;
};

/// The operations of thread `thread`, its share of drawing::ops. Threads never insert the same key,
/// nor erase it. Those of dlrm and pagerank are parts of one trace, which is the same for any
/// number of threads.
operations draw(const drawing& what, unsigned thread);

/// Of all threads, each drawn by a thread of its own.
std::vector<operations> draw_all(const drawing& what);

/// How many operations thread `thread` has, and which of all comes first.
std::uint64_t share_of(std::uint64_t ops, unsigned threads, unsigned thread) noexcept;
std::uint64_t share_begin(std::uint64_t ops, unsigned threads, unsigned thread) noexcept;

}  // namespace durahash::bench
