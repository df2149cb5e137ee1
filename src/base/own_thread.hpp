// Threads of the library's own. The program's signals are the program's: these threads take none.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <new>
#include <system_error>
#include <thread>
#include <utility>

namespace durahash {

/// Starts `run` as `thread`, with all signals blocked.
/// Returns   false where the process has no thread or no memory for it.
template <class Run>
bool start_own_thread(std::thread& thread, Run&& run) noexcept {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool started = true;
  try {
    thread = std::thread(std::forward<Run>(run));
  } catch (const std::system_error&) {
    started = false;
  } catch (const std::bad_alloc&) {
    started = false;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

}  // namespace durahash
