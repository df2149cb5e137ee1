#include "worker.hpp"

#include <unistd.h>

#include <system_error>

#include "api.hpp"

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
    const signals_blocked meanwhile;
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error& e) {
      log(nullptr, "warning", std::string("the module has no thread: ") + e.what());
    }
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
