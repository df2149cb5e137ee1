// What a benchmark is asked to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/device.hpp"
#include "bench/distribution.hpp"
#include "bench/operations.hpp"
#include "bench/workload.hpp"
#include "durahash/options.hpp"

namespace durahash::bench {

/// Sizes of keys and values. u64: 8 bytes each, in the table itself.
struct record_shape {
  data_kind kind = data_kind::u64;
  std::size_t key_bytes = 8;  ///< at least 8, so that all keys differ
  std::size_t value_bytes = 8;
};

struct request {
  std::vector<engine_kind> engines;  ///< take turns within each repetition
  medium_kind medium = medium_kind::memory;
  durability_level durability = durability_level::process;
  std::string path;                     ///< of the pool; not used on the medium memory
  std::uint64_t log_bytes = 0;          ///< medium disk: 0 is by the pool's size
  std::uint32_t lag_milliseconds = 10;  ///< likewise, at the level power_buffered
  record_shape shape;
  std::map<std::string, std::uint64_t> settings;
  std::uint32_t flush_latency_ns = 0;
  std::uint32_t read_latency_ns = 0;
  std::uint32_t block_latency_ns = 0;
  std::uint64_t address_space_bytes =
      options{}.address_space_bytes;  ///< less where a tool such as valgrind allows no more

  std::shared_ptr<device> on;   ///< runs the batches; null: the processor
  gpu::device_options lending;  ///< how the pool is lent to it
  array_place arrays_at = array_place::host;

  std::vector<workload_kind> workloads;  ///< in running order
  std::uint64_t keys = 0;                ///< records loaded
  /// per workload; 0: half of `keys` for gets, a quarter where there are writes
  std::uint64_t ops = 0;
  unsigned threads = 1;
  std::uint64_t batch = 1;  ///< 1: single operations; on a device, batches of one
  std::optional<distribution_kind> distribution;
  double theta = 0.99;
  std::uint64_t seed = 1;

  unsigned repeat = 3;
  bool cold = false;               ///< report the first load of all, into memory never touched, too
  bool latency = true;             ///< one more repetition, in which every operation is timed
  double arrivals_per_second = 0;  ///< of the timed repetition, in all; 0: one after the other
  unsigned window_ms = 0;          ///< of the timed repetition's series; 0: none
  bool reopen = false;  ///< media disk, file: and openings of a pool whose process was killed
};

inline std::string device_of(const request& asked) { return asked.on ? asked.on->name() : "cpu"; }

/// Operations of one pass of a workload.
inline std::uint64_t ops_of(const request& asked, workload_kind kind) {
  if (is_load(kind)) return asked.keys;
  std::uint64_t ops = asked.ops ? asked.ops : asked.keys / (write_share(kind) > 0 ? 4 : 2);
  if (kind == workload_kind::erase && ops > asked.keys) ops = asked.keys;
  if (kind == workload_kind::churn && ops > 2 * asked.keys) ops = 2 * asked.keys;
  return ops > 0 ? ops : 1;
}

inline distribution_kind distribution_of(const request& asked, workload_kind kind) {
  const workload_traits& traits = traits_of(kind);
  return traits.distribution_fixed ? traits.distribution
                                   : asked.distribution.value_or(traits.distribution);
}

/// What one pass of a workload is drawn from.
inline drawing drawing_of(const request& asked, workload_kind kind) {
  return {kind,       distribution_of(asked, kind), asked.theta,
          asked.keys, ops_of(asked, kind),          asked.threads,
          asked.seed};
}

}  // namespace durahash::bench
