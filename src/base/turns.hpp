// How threads wait for each other, made schedulable: under the crash explorer one thread runs at a
// time, and one that cannot go on passes its turn. Everywhere else there are no turns, and threads
// wait as threads do.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>

namespace durahash {

class background;

class turns {
 public:
  virtual ~turns() = default;
  /// The caller cannot go on before another thread has.
  virtual void pass() = 0;

  /// Whether background work has a thread, which takes its turns as the others do. Else who submits
  /// a job does it.
  virtual bool has_background() const { return false; }
  /// With a background thread: takes the job; drops the owner's, and passes until none of them
  /// runs.
  virtual void submit(background&, std::function<void(const background&)>) {}
  virtual void drop_jobs(background&) {}

  /// Null but under the explorer. Set while no thread of the library runs.
  static turns* current() noexcept { return current_.load(std::memory_order_relaxed); }
  static void install(turns* t) noexcept { current_.store(t, std::memory_order_relaxed); }

 private:
  static inline std::atomic<turns*> current_{nullptr};
};

/// Until the flag is no longer `from`. Who changes it notifies.
inline void await_change(const std::atomic<bool>& flag, bool from) {
  while (flag.load(std::memory_order_acquire) == from) {  // ends when another thread has got on
    if (turns* t = turns::current()) t->pass();
    else flag.wait(from, std::memory_order_acquire);
  }
}

/// A mutex that waits in turns where there are some.
class turn_mutex {
 public:
  bool try_lock() { return lock_.try_lock(); }
  void lock() {
    turns* t = turns::current();
    if (t == nullptr) return lock_.lock();
    // ends when the holder leaves its section; the scheduler notices when nobody can
    while (!lock_.try_lock()) t->pass();
  }
  void unlock() { lock_.unlock(); }

 private:
  std::mutex lock_;
};

}  // namespace durahash
