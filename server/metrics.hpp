// What INFO tells of the module.
#pragma once

#include <atomic>
#include <cstdint>

#include "api.hpp"

namespace durahash::server {

/// Since the server's start. Of the event loop, but for those that other threads change.
struct counters {
  std::uint64_t reads = 0, writes = 0, refusals = 0;  ///< commands, and answers that are errors
  std::atomic<std::uint64_t> diagnostics{0};          ///< sentences of the library, in the log
  std::atomic<std::int64_t> waiting{0};               ///< clients, for the disk or for a thread
};
counters& the_counters();

/// `INFO durahash`.
void show_metrics(RedisModuleInfoCtx* to, int for_crash_report);

}  // namespace durahash::server
