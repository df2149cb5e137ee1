// Steps of the log, the checkpoint and the replay that a test may leave out, to see that it
// notices; and points at which it may stop a thread, to have others come between. In what is
// shipped there are none.
#pragma once

#ifdef DURAHASH_PLANTED_DISK_BUGS
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
#else
constexpr bool disk_bug(const char*) noexcept { return false; }
constexpr void disk_step(const char*) noexcept {}
#endif

}  // namespace durahash
