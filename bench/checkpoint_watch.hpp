// Looks every millisecond whether a pool on a disk is in a checkpoint.
#pragma once

#include <atomic>
#include <chrono>
#include <stop_token>
#include <thread>

namespace durahash::bench {

class checkpoint_watch {
 public:
  template <class Table>
  explicit checkpoint_watch(Table& pool)
      : thread_([this, &pool](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            under_way_.store(pool.info().checkpoint_under_way, std::memory_order_relaxed);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }
        }) {}

  const std::atomic<bool>* under_way() const noexcept { return &under_way_; }

 private:
  std::atomic<bool> under_way_{false};
  std::jthread thread_;  // last: it ends before the rest
};

}  // namespace durahash::bench
