// What a benchmark found.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/device.hpp"
#include "bench/distribution.hpp"
#include "bench/popularity.hpp"
#include "bench/workload.hpp"
#include "durahash/info.hpp"

namespace durahash::bench {

/// Of single operations; of a batch, its time divided by its size.
struct latency_figures {
  double p50 = 0, p99 = 0, p999 = 0, max = 0;  ///< ns
  struct step {
    double at_most = 0;  ///< ns
    std::uint64_t count = 0;
  };
  /// all of them: how many took at most that, and longer than the step before
  std::vector<step> steps;
};

/// What ended within one window of the timed repetition.
struct window_figures {
  std::uint64_t ops = 0;
  double longest_ns = 0;
};

/// Per operation, the mean over the timed repetitions.
struct media_figures {
  double flushes = 0, fences = 0, read_blocks = 0, write_blocks = 0;
};

/// Of a pool on a disk, while the timed repetitions ran. A checkpoint that began before the end
/// may write on after it: long repetitions say what an operation costs in the long run.
struct disk_figures {
  double log_lines = 0, log_bytes = 0, checkpoint_bytes = 0;  ///< per operation
  double ops_per_group = 0;                                   ///< that shared one write of the log
  double checkpoints = 0, log_stalls = 0;                     ///< of one repetition, mean
  std::optional<latency_figures> beside_checkpoints, apart;
};

/// Openings of a pool whose process was killed, medians.
struct reopening {
  std::uint64_t lines = 0;   ///< that the log held
  double seconds = 0;        ///< of an opening that replays them
  double clean_seconds = 0;  ///< of the next one, after `close`
  double lines_per_second() const { return static_cast<double>(lines) / seconds; }
};

struct workload_outcome {
  workload_kind workload{};
  distribution_kind distribution{};
  bool cold = false;                    ///< the first load of the process
  std::uint64_t ops = 0;                ///< of one repetition
  std::vector<double> seconds;          ///< of each repetition
  std::optional<popularity> asked_for;  ///< nothing where every record is used once
  /// minor faults suffered by the operating threads themselves, mean
  double page_faults_per_op = 0;
  /// in user space, of the operating threads themselves, mean; nothing where none are counted
  std::optional<double> instructions_per_op;
  bool by_callgrind = false;  ///< those: in a process of its own
  std::optional<latency_figures> latency;
  std::vector<window_figures> series;  ///< one behind the other, where it was asked for
  std::optional<media_figures> media;  ///< medium emulated only
  std::optional<disk_figures> disk;    ///< medium disk only

  double median_seconds() const;
  double mops() const { return static_cast<double>(ops) / median_seconds() / 1e6; }
  double mops_of(double seconds_of_one) const {
    return static_cast<double>(ops) / seconds_of_one / 1e6;
  }
};

/// One load, seen at equal distances while it grew.
struct growth {
  double load_factor_final = 0;
  std::optional<double> load_factor_peak;
  /// live bytes / records, at the end of the load
  double bytes_per_key = 0;
  std::optional<double> bytes_per_key_over_last_doubling;  ///< mean from half of the records to all
  double file_bytes_per_key = 0;
};

/// Of a pool that a device works on.
struct device_facts {
  gpu::table_place place{};
  /// of the buckets that finds looked at, where there is a cache
  std::optional<double> cache_hit_rate;
};

struct engine_outcome {
  engine_kind engine{};
  durability_level durability{};
  medium_kind medium{};
  std::optional<device_facts> device;  ///< nothing on the processor
  growth loaded;
  std::vector<workload_outcome> results;
  std::optional<reopening> reopened;
};

}  // namespace durahash::bench
