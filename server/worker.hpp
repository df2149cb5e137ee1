// A thread for what the event loop must not wait for: closing and removing pools, checks, recounts.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace durahash::server {

/// Signals are for the server's own thread: one that is made in this scope gets none.
class signals_blocked {
 public:
  signals_blocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~signals_blocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  signals_blocked(const signals_blocked&) = delete;
  signals_blocked& operator=(const signals_blocked&) = delete;

 private:
  sigset_t before_;
};

/// Jobs run one after another, in order. In a child of the process (fork) there is no thread: what
/// is submitted there is left alone, and nothing of it is run or destroyed.
class worker {
 public:
  using job = std::function<void()>;

  /// Where no thread can be made, the job waits until a later one finds one.
  void submit(job work);

 private:
  void run();

  std::mutex lock_;  // guards all below
  std::condition_variable changed_;
  std::deque<job> waiting_;
  std::thread thread_;
};

/// The one of this process; never destroyed.
worker& the_worker();

/// Whether this is a child that the server has made, to write a snapshot.
bool in_a_child() noexcept;

}  // namespace durahash::server
