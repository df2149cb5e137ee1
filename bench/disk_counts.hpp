// What a pool on a disk has written, from the figures of its table.
#pragma once

#include <cstdint>
#include <string_view>

#include "durahash/info.hpp"

namespace durahash::bench {

struct disk_counts {
  std::uint64_t log_lines = 0;         ///< cache lines that the log took
  std::uint64_t log_bytes = 0;         ///< written to the log's file
  std::uint64_t log_groups = 0;        ///< writes of the log that were waited for
  std::uint64_t log_stalls = 0;        ///< times a writer waited for room in it, or for a late disk
  std::uint64_t checkpoints = 0;       ///< that ended
  std::uint64_t checkpoint_bytes = 0;  ///< pages written by them
  std::uint64_t replayed_lines = 0;    ///< by the opening

  static disk_counts of(const table_stats& stats) {
    disk_counts found;
    const struct {
      std::string_view name;
      std::uint64_t disk_counts::*figure;
    } known[] = {{"log_lines", &disk_counts::log_lines},
                 {"log_bytes", &disk_counts::log_bytes},
                 {"log_groups", &disk_counts::log_groups},
                 {"log_stalls", &disk_counts::log_stalls},
                 {"checkpoints", &disk_counts::checkpoints},
                 {"checkpoint_bytes", &disk_counts::checkpoint_bytes},
                 {"lines_replayed_at_open", &disk_counts::replayed_lines}};
    for (const auto& [name, figure] : stats.figures)
      for (const auto& one : known)
        if (one.name == name) found.*one.figure = static_cast<std::uint64_t>(figure);
    return found;
  }

  void add(const disk_counts& before, const disk_counts& after) {
    log_lines += after.log_lines - before.log_lines;
    log_bytes += after.log_bytes - before.log_bytes;
    log_groups += after.log_groups - before.log_groups;
    log_stalls += after.log_stalls - before.log_stalls;
    checkpoints += after.checkpoints - before.checkpoints;
    checkpoint_bytes += after.checkpoint_bytes - before.checkpoint_bytes;
  }
};

}  // namespace durahash::bench
