#include "base/background.hpp"

#include <signal.h>

#include "base/turns.hpp"

namespace durahash {

void background::submit(job work) {
  if (turns::current() != nullptr) return work(*this);  // the explorer's runs repeat exactly
  std::scoped_lock lock(lock_);
  if (stopping_) return;
  waiting_.push_back(std::move(work));
  if (!thread_.joinable()) {
    // The program's signals are the program's: this thread takes none.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  changed_.notify_all();
}

void background::run() {
  std::unique_lock lock(lock_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    job work = std::move(waiting_.front());
    waiting_.pop_front();
    busy_ = true;
    lock.unlock();
    work(*this);
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

void background::wait_idle() {
  std::unique_lock lock(lock_);
  changed_.wait(lock, [this] { return stopping_ || (waiting_.empty() && !busy_); });
}

void background::stop() {
  {
    std::scoped_lock lock(lock_);
    stopping_ = true;
    waiting_.clear();
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

}  // namespace durahash
