// Steps of the log, the checkpoint and the replay that a test may leave out, to see that it
// notices. In what is shipped none can be.
#pragma once

#ifdef DURAHASH_PLANTED_DISK_BUGS
#include <string_view>
#endif

namespace durahash {

#ifdef DURAHASH_PLANTED_DISK_BUGS
inline const char* planted_disk_bug = nullptr;
inline bool disk_bug(const char* name) noexcept {
  return planted_disk_bug != nullptr && std::string_view(planted_disk_bug) == name;
}
#else
constexpr bool disk_bug(const char*) noexcept { return false; }
#endif

}  // namespace durahash
