// A lock of one byte for short sections. Lives in DRAM, never in a pool.
#pragma once

#include <sched.h>

#include <atomic>

#include "base/processor.hpp"
#include "base/turns.hpp"

namespace durahash {

/// Between two tries to get what another thread holds for a moment. After a while the holder is
/// assumed descheduled, and gets the processor.
inline void await_holder(int tries) noexcept {
  if (turns* t = turns::current()) [[unlikely]]
    t->pass();
  else tries < 64 ? pause_briefly() : static_cast<void>(sched_yield());
}

class spin_lock {
 public:
  /// Without a look at it first: mostly it is free.
  [[gnu::always_inline]] bool try_lock() noexcept {
    return !held_.exchange(true, std::memory_order_acquire);
  }
  [[gnu::always_inline]] void lock() noexcept {
    if (held_.exchange(true, std::memory_order_acquire)) [[unlikely]]
      wait_and_lock();
  }
  void unlock() noexcept { held_.store(false, std::memory_order_release); }

 private:
  [[gnu::noinline]] void wait_and_lock() noexcept {
    // ends when the holder leaves its section
    for (int tries = 0; held_.load(std::memory_order_relaxed) || !try_lock(); ++tries)
      await_holder(tries);
  }

  std::atomic<bool> held_{false};
};

}  // namespace durahash
