// liburcu's worker pauses 10 ms before each round of freeing, and closing a pool waits for two rounds. It does so with poll() on nothing: here that takes no
// time, so that a fuzz run opens hundreds of pools in a second and not 40.
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

extern "C" int poll(pollfd* files, nfds_t count, int timeout_ms) {
  if (count == 0 && timeout_ms >= 0) return sched_yield();
  timespec limit{timeout_ms / 1000, timeout_ms % 1000 * 1'000'000L};
  return static_cast<int>(::syscall(SYS_ppoll, files, count, timeout_ms < 0 ? nullptr : &limit, nullptr, 0));
}
