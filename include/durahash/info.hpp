// What a table tells of itself: facts, counters, the verdict of a check.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "durahash/options.hpp"

namespace durahash {

/// Inclusive; of values 4 GiB less one page.
inline constexpr std::uint64_t max_key_bytes = 64 << 10;
inline constexpr std::uint64_t max_value_bytes = 0xffff'ffff - 4096;

/// What a pool is, for as long as it lives.
struct pool_kinds {
  engine_kind engine{};
  data_kind key{};
  data_kind value{};
  durability_level durability{};
};

/// Facts of a pool. `durahash info --json` prints these fields under these names.
struct pool_info {
  engine_kind engine{};
  data_kind key{};
  data_kind value{};
  durability_level durability{};
  medium_kind medium{};  ///< the medium this handle uses
  std::uint64_t records = 0;
  std::uint64_t slots = 0;       ///< places for records in the table as it stands
  double load_factor = 0;        ///< records / slots
  std::uint64_t file_bytes = 0;  ///< bytes of the pool, used or not
  std::uint64_t live_bytes = 0;  ///< bytes reachable from the root
  std::uint64_t free_bytes = 0;  ///< bytes that the next allocations take before the pool grows
  std::uint32_t format_version = 0;
  bool clean = false;  ///< whether the pool was found closed cleanly at this open
  /// Opened with read_beside: some process has the pool to write to it now. Of such a handle
  /// `records` is counted at each call, and live_bytes and free_bytes, which the writer alone
  /// knows, are 0.
  bool beside_a_writer = false;
  /// Medium disk: the pool's file is being brought up to where its log is, at this moment. Not of
  /// `info`, which looks at a pool that nobody writes to.
  bool checkpoint_under_way = false;
  /// Level power_buffered, and not `clean`: this open found nothing of what the disk did not have
  /// when its process or machine ended. So it is after a loss of power; behind a `kill -9`, where
  /// somebody has removed the ring from /dev/shm, or the process before had another /dev/shm.
  bool may_lack_last_moments = false;
};

/// Counted since open. Flushes and the rest are counted on the medium `emulated` alone and are 0
/// elsewhere.
struct media_counts {
  std::uint64_t flushes = 0;  ///< cache lines written back
  std::uint64_t fences = 0;
  std::uint64_t media_read_blocks = 0;   ///< 256-byte blocks read, through a small read buffer
  std::uint64_t media_write_blocks = 0;  ///< 256-byte blocks written, after write combining
};

/// What is counted of an open pool.
struct table_stats {
  media_counts media;
  /// Engine figures by name, for example `resizes`, `collections`, `negative_probe_mean`:
  /// docs/explanation/engines/ says what each is.
  std::vector<std::pair<std::string, double>> figures;
};

/// What `check` found.
struct check_report {
  bool ok = true;
  std::uint64_t records = 0;
  std::vector<std::string> violations;  ///< each says what and where; at most 100 are listed
};

/// Where an iteration stands. A plain value: it can be stored, sent, and used after a reopen of the
/// same pool. `position` runs through hash order; 0 is the start.
struct cursor {
  std::uint64_t position = 0;
  bool done = false;
};

}  // namespace durahash
