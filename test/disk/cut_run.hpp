// A recorded life of a pool on a disk, and whether what a cut leaves of it is what it may leave.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "disk/log_format.hpp"
#include "disk/planted.hpp"
#include "disk_pool.hpp"
#include "disk_recorder.hpp"

namespace durahash::test {

inline constexpr std::uint64_t keys_each = 500;

/// While one lives, logs begin so small that they grow within a short run: each n-th time that one
/// is half full. The other times there is a checkpoint, and the log goes round before it grows.
struct small_first_logs {
  explicit small_first_logs(std::uint64_t each = 1) {
    planted_first_slots = min_slots;
    planted_growth_each = each, times_half_full = 0;
  }
  ~small_first_logs() { planted_first_slots = 0; }
  small_first_logs(const small_first_logs&) = delete;
};

/// What a thread did on keys of its own, and how much of it a sync had covered, when.
struct history {
  std::vector<step> steps;
  std::vector<std::pair<std::uint64_t, std::size_t>> syncs;  // moment, steps
};

/// Work of threads on an open pool; it ends with the pool closed, and the disk's moments known.
struct recorded_run {
  /// Throws std::runtime_error where the pool does not open.
  recorded_run(const std::string& path, const disk_setup& how, std::uint64_t threads,
               std::uint64_t versions, random_stream& draw);
  /// Behind a kill of that one's process; the files are as `restore_killed` leaves them.
  recorded_run(const recorded_run& before, std::uint64_t killed_at, const std::string& path,
               std::uint64_t versions, random_stream& draw);

  /// The disk as it may be after a cut at that moment: drawn, or with these of the sectors and
  /// lengths that nobody had waited for.
  void restore(std::uint64_t moment, random_stream& draw) const;
  void restore(std::uint64_t moment, const std::vector<bool>& is_new) const;
  /// As a kill of the process leaves it: everything that was written is there.
  void restore_killed(std::uint64_t moment) const;
  /// Nothing, or what is wrong with what a pool holds after a cut at that moment.
  std::string judge(table& pool, std::uint64_t moment) const;

  disk_setup with;
  disk_recorder disk;
  std::vector<history> done;          // by thread
  std::uint64_t opened_at = 0;        // moments: when the opening began,
  std::uint64_t first = 0, last = 0;  // and the work
  double checkpoints = 0, growths = 0;

 private:
  void live(const std::string& path, std::uint64_t versions, random_stream& draw);
  static void put_back(const std::map<std::string, std::string>& files);
};

}  // namespace durahash::test
