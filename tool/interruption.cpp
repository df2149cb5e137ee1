#include "interruption.hpp"

#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "failure.hpp"

namespace durahash::tool {
namespace {

constexpr std::array signals = {SIGINT, SIGTERM, SIGHUP};
constexpr std::int64_t same_ns = 250'000'000;  // what comes sooner is the first one again

// A handler can be given nothing, so these are the process's; it may touch lock-free atomics.
std::atomic<int> came = 0;
std::atomic<std::int64_t> came_at_ns = 0;
std::atomic<int> wake_read = -1;
std::atomic<int> wake_write = -1;
std::array<struct sigaction, signals.size()> before;
struct sigaction pipe_before;
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

std::int64_t now_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void end_by(int signal) noexcept {
  ::signal(signal, SIG_DFL);
  sigset_t it;
  sigemptyset(&it);
  sigaddset(&it, signal);
  ::raise(signal);
  ::pthread_sigmask(SIG_UNBLOCK, &it, nullptr);  // a handler has them blocked
}

void write_quietly(int file, std::string_view text) noexcept {
  if (::write(file, text.data(), text.size()) < 0) {
    // Nobody is there to read it.
  }
}

void note(int signal) noexcept {
  const int errno_before = errno;
  int none = 0;
  if (came.compare_exchange_strong(none, signal)) {
    came_at_ns = now_ns();
    write_quietly(wake_write, "!");
    if (::isatty(STDERR_FILENO) == 1)
      write_quietly(STDERR_FILENO,
                    "\r\x1b[Kinterrupted: closing the pool; once more ends at once\n");
  } else if (now_ns() - came_at_ns > same_ns) {
    end_by(signal);
  }
  errno = errno_before;
}

}  // namespace

interruption::interruption() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
    throw failure(exit_unusable, std::string("cannot make a pipe: ") + std::strerror(errno));
  wake_read = ends[0];
  wake_write = ends[1];
  struct sigaction noting {};
  noting.sa_handler = note;
  sigemptyset(&noting.sa_mask);
  for (const int signal : signals) sigaddset(&noting.sa_mask, signal);  // one at a time
  for (std::size_t i = 0; i < signals.size(); ++i) {
    ::sigaction(signals[i], nullptr, &before[i]);
    if (before[i].sa_handler != SIG_IGN) ::sigaction(signals[i], &noting, nullptr);
  }
  struct sigaction ignoring {};
  ignoring.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignoring, &pipe_before);
}

interruption::~interruption() {
  for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &before[i], nullptr);
  ::sigaction(SIGPIPE, &pipe_before, nullptr);
  ::close(wake_write.exchange(-1));
  ::close(wake_read.exchange(-1));
}

int interruption::asked() noexcept { return came; }
int interruption::descriptor() noexcept { return wake_read; }

const char* interruption::name_of_asked() noexcept {
  switch (came) {
    case SIGINT: return "SIGINT";
    case SIGTERM: return "SIGTERM";
    case SIGHUP: return "SIGHUP";
    default: return "no signal";
  }
}

void interruption::end_if_asked() noexcept {
  if (came != 0) end_by(came);
}

}  // namespace durahash::tool
