#include "disk/durable_calls.hpp"

#include <algorithm>
#include <utility>

namespace durahash {

void durable_calls::add(std::uint64_t end, callback call) {
  end = std::min(end, log_.head());
  if (ready_now(end)) return call(answer_for(end));
  {
    std::scoped_lock mine(lock_);
    bool has_thread =
        thread_.joinable() || thread_.start([this] { run(); }, thread_stack::of_the_program);
    if (has_thread) {
      heap_.push_back({end, std::move(call)});
      std::push_heap(heap_.begin(), heap_.end());
      return changed_.notify_one();
    }
  }
  log_.wait_durable(end);
  call(answer_for(end));
}

void durable_calls::finish() noexcept {
  {
    std::scoped_lock mine(lock_);
    finishing_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

/// One wait serves all who came while the one before it lasted.
void durable_calls::run() noexcept {
  std::unique_lock mine(lock_);
  while (true) {
    changed_.wait(mine, [this] { return finishing_ || !heap_.empty(); });
    if (heap_.empty()) return;
    std::uint64_t end = heap_.front().end;
    if (!ready_now(end)) {
      mine.unlock();
      log_.wait_durable(end);
      mine.lock();
      continue;
    }
    std::pop_heap(heap_.begin(), heap_.end());
    waiting next = std::move(heap_.back());
    heap_.pop_back();
    mine.unlock();
    next.call(answer_for(next.end));
    mine.lock();
  }
}

}  // namespace durahash
