// Steps of the log, the checkpoint and the replay that a test may leave out, to see that it
// notices; and points at which it may stop a thread, to have others come between. In what is
// shipped there are none.
#pragma once

#include <cstdint>
#ifdef DURAHASH_PLANTED_DISK_BUGS
#include <atomic>
#include <functional>
#include <string_view>
#include <utility>
#endif

namespace durahash {

#ifdef DURAHASH_PLANTED_DISK_BUGS
inline const char* planted_disk_bug = nullptr;
inline bool disk_bug(const char* name) noexcept {
  return planted_disk_bug != nullptr && std::string_view(planted_disk_bug) == name;
}

/// Called at each step of this thread's, with its name. No step of a call within it is told of.
inline thread_local std::function<void(std::string_view)> at_disk_step;
inline void disk_step(std::string_view name) {
  if (!at_disk_step) return;
  auto here = std::exchange(at_disk_step, nullptr);
  here(name);
  at_disk_step = std::move(here);
}

/// Where not 0: a log begins with so many slots, and the n-th time that it is half full it grows,
/// and each n-th time behind that, however slowly it fills.
inline std::uint64_t planted_first_slots = 0;
inline std::atomic<std::uint64_t> planted_growth_each{1}, times_half_full{0};
inline std::uint64_t disk_first_slots(std::uint64_t usual) noexcept {
  return planted_first_slots != 0 ? planted_first_slots : usual;
}
inline bool disk_log_is_in_haste(bool usual) noexcept {
  return planted_first_slots != 0 ? ++times_half_full % planted_growth_each == 0 : usual;
}
#else
constexpr bool disk_bug(const char*) noexcept { return false; }
constexpr void disk_step(const char*) noexcept {}
constexpr std::uint64_t disk_first_slots(std::uint64_t usual) noexcept { return usual; }
constexpr bool disk_log_is_in_haste(bool usual) noexcept { return usual; }
#endif

}  // namespace durahash
