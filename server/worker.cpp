#include "worker.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

namespace durahash::server {
namespace {
const pid_t process_of_load = ::getpid();
}

bool in_a_child() noexcept { return ::getpid() != process_of_load; }

worker& the_worker() {
  static auto* one = new worker;
  return *one;
}

void worker::submit(job work) {
  if (in_a_child()) return void(new job(std::move(work)));  // the parent has it, too
  std::scoped_lock lock(lock_);
  waiting_.push_back(std::move(work));
  if (!thread_.joinable()) {
    // Signals are for the server's own thread.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  changed_.notify_one();
}

void worker::run() {
  std::unique_lock lock(lock_);
  while (true) {  // as long as the process lives
    changed_.wait(lock, [&] { return !waiting_.empty(); });
    job next = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    next();
    next = nullptr;
    lock.lock();
  }
}

}  // namespace durahash::server
