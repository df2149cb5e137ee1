#include "media/lock_holder.hpp"

#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <cstdio>
#include <thread>

#include "base/process_facts.hpp"

namespace durahash {
namespace {

bool is_there(long process) noexcept {
  if (auto facts = facts_of_process(static_cast<std::uint64_t>(process)))
    return !facts->has_closed_its_files();
  return ::kill(static_cast<pid_t>(process), 0) == 0 || errno != ESRCH;
}

/// Whether all that took a lock of the file are gone. Not, where /proc does not tell: of another
/// pid namespace, or without /proc.
bool takers_are_gone(int descriptor) noexcept {
  struct stat facts {};
  if (::fstat(descriptor, &facts) != 0) return false;
  std::FILE* locks = std::fopen("/proc/locks", "re");
  if (locks == nullptr) return false;
  bool found = false, all_gone = true;
  char line[256];
  while (all_gone && std::fgets(line, sizeof line, locks) != nullptr) {
    long taker = 0;
    unsigned device_major = 0, device_minor = 0;
    unsigned long inode = 0;
    if (std::sscanf(line, "%*d: FLOCK %*s %*s %ld %x:%x:%lu", &taker, &device_major, &device_minor,
                    &inode) != 4)
      continue;
    if (inode != facts.st_ino || device_major != major(facts.st_dev) ||
        device_minor != minor(facts.st_dev))
      continue;
    found = true;
    all_gone = taker > 0 && !is_there(taker);
  }
  std::fclose(locks);
  return found && all_gone;
}

}  // namespace

int lock_file(int descriptor, int kind, std::chrono::milliseconds patience) noexcept {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (::flock(descriptor, kind | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return errno;
    if (std::chrono::steady_clock::now() >= until || !takers_are_gone(descriptor)) {
      // it may have gone between the two looks
      return ::flock(descriptor, kind | LOCK_NB) == 0 ? 0 : errno;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return 0;
}

}  // namespace durahash
