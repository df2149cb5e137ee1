// What a kernel cost: counted, not timed. Of one seed and one shape the counts are exact.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace durahash::ptx {

/// A request is one warp's memory instruction; a sector 32 bytes of it, a line 128, each counted
/// once a request. There are no caches.
struct counters {
  std::uint64_t launches = 0;
  std::uint64_t instructions = 0;  // of warps
  std::uint64_t lane_instructions = 0;
  std::uint64_t device_requests = 0, device_sectors = 0;
  std::uint64_t host_requests = 0, host_sectors = 0, host_lines = 0;  // over the bus
  std::uint64_t device_atomics = 0, host_atomics = 0;
  std::uint64_t system_fences = 0, device_fences = 0, system_releases = 0;

  bool operator==(const counters&) const = default;
};

/// Numbers of blocks of memory of one request, each once.
class distinct {
 public:
  void add(std::uint64_t number) {
    if (std::find(seen_, seen_ + count_, number) == seen_ + count_) seen_[count_++] = number;
  }
  std::uint64_t count() const { return count_; }

 private:
  std::uint64_t seen_[64];
  std::uint64_t count_ = 0;
};

using counts_by_kernel = std::map<std::string, counters>;

}  // namespace durahash::ptx
