#include "media/lock_holder.hpp"

#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <thread>

namespace durahash {
namespace {

struct proc_file {
  std::FILE* at;
  explicit proc_file(const char* path) noexcept : at(std::fopen(path, "re")) {}
  ~proc_file() {
    if (at != nullptr) std::fclose(at);
  }
  proc_file(const proc_file&) = delete;
};

/// One that has ended and was not waited for counts as gone.
bool is_there(long process) noexcept {
  char path[64], line[512];
  std::snprintf(path, sizeof path, "/proc/%ld/stat", process);
  proc_file facts(path);
  if (facts.at == nullptr || std::fgets(line, sizeof line, facts.at) == nullptr)
    return ::kill(static_cast<pid_t>(process), 0) == 0 || errno != ESRCH;
  const char* name_end = std::strrchr(line, ')');
  return name_end == nullptr || (name_end[2] != 'Z' && name_end[2] != 'X');
}

/// Whether all that took a lock of the file are gone. Not, where /proc does not tell: of another
/// pid namespace, or without /proc.
bool takers_are_gone(int descriptor) noexcept {
  struct stat facts {};
  proc_file locks("/proc/locks");
  if (locks.at == nullptr || ::fstat(descriptor, &facts) != 0) return false;
  bool found = false;
  char line[256];
  while (std::fgets(line, sizeof line, locks.at) != nullptr) {
    long taker = 0;
    unsigned device_major = 0, device_minor = 0;
    unsigned long inode = 0;
    if (std::sscanf(line, "%*d: FLOCK %*s %*s %ld %x:%x:%lu", &taker, &device_major, &device_minor,
                    &inode) != 4)
      continue;
    if (inode != facts.st_ino || device_major != major(facts.st_dev) ||
        device_minor != minor(facts.st_dev))
      continue;
    if (taker <= 0 || is_there(taker)) return false;
    found = true;
  }
  return found;
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
