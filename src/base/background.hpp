// Work that nobody waits for. One thread of the process does all of it, for whoever has some.
//
// The thread starts with the first job and ends with the last owner of jobs. Under the crash
// explorer it is one of the scheduled threads, or there is none (base/turns.hpp).
//
// fork: a child has no such thread and no jobs; its next job starts a thread of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <new>
#include <utility>

namespace durahash {

/// One owner's jobs. They run in order, one at a time, between those of other owners.
class background {
 public:
  /// A job asks `stopping()` between its steps and returns early when it says so.
  using job = std::function<void(const background&)>;

  background() = default;
  background(const background&) = delete;
  ~background() { stop(); }

  /// Returns   false where the process has no thread or no memory for it: the job has not run then,
  ///           nor will it. Does not throw.
  template <class Work>
  bool submit(Work work) noexcept try {  // a job of its own may need memory
    return take(job(std::move(work)));
  } catch (const std::bad_alloc&) {
    return false;
  }

  /// Drops waiting jobs, waits for the running one, takes no more. Not in a job.
  void stop() noexcept;
  bool stopping() const noexcept { return stopping_.load(std::memory_order_relaxed); }

 private:
  friend class background_thread;
  bool take(job work);

  std::atomic<bool> stopping_{false};
  // Guarded by the thread's lock:
  std::deque<job> waiting_;
  background* next_ = nullptr;  // of those that have jobs waiting
  bool enlisted_ = false;       // has had a job
};

/// Whether work on so many bytes is worth a thread: from `least` on. Under the explorer's schedules
/// all is, so that small tables show what goes on beside it.
bool worth_a_thread(std::uint64_t bytes, std::uint64_t least) noexcept;

}  // namespace durahash
