// Which processes have a pool open.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "durahash/status.hpp"

namespace durahash {

/// One that has a pool open.
struct pool_process {
  std::int64_t id = 0;                    ///< its number, as this process's PID namespace has it
  bool writes = false;                    ///< has it to write to; else reads it
  std::int64_t started_unix_seconds = 0;  ///< when the process began; 0: not told
  std::string command;                    ///< the process's name for itself: any bytes but 0
};

/// The other processes that have the pool open now, by their number: the writer, readers beside it,
/// and those that read it alone. A child that a reader has forked has it, too.
///
/// The system's table of open files (/proc) and their locks say so; the pool has no list, so a
/// killed process is in none. Not seen: processes of other users, unless this one is root's; those
/// of other PID namespaces, but for children of this one.
/// Returns   unusable where the file or /proc is not there.
/// Cost      looks at every open file of every process that this one may look at.
result<std::vector<pool_process>> processes_with(const std::string& path);

}  // namespace durahash
