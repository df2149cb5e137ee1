// One helper thread that runs short jobs in order. Started by the first job, joined by the destructor. Under the crash explorer jobs run at once, in
// the thread that submits them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace durahash {

class background {
 public:
  /// A job asks `stopping()` between its steps and returns early when it says so.
  using job = std::function<void(const background&)>;

  background() = default;
  background(const background&) = delete;
  ~background() { stop(); }

  void submit(job work);
  /// Waits until the jobs submitted before have run.
  void wait_idle();
  /// Drops waiting jobs, waits for the running one.
  void stop();
  bool stopping() const noexcept { return stopping_.load(std::memory_order_relaxed); }

 private:
  void run();

  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<job> waiting_;
  bool busy_ = false;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace durahash
