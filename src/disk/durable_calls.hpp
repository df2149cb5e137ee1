// Calls that somebody wants when a log is durable up to a place: a thread waits in their stead.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "base/own_thread.hpp"
#include "disk/disk_log.hpp"
#include "durahash/status.hpp"

namespace durahash {

class durable_calls {
 public:
  using callback = std::function<void(status)>;

  explicit durable_calls(disk_log& log) : log_(log) {}
  ~durable_calls() { finish(); }
  durable_calls(const durable_calls&) = delete;

  /// Calls back with ok when the log is durable up to `end`, with io_error when it never will be:
  /// at once, if that is known; else from the thread. Without a thread the caller waits.
  /// Throws std::bad_alloc; nothing is called back then.
  void add(std::uint64_t end, callback call);

  /// Returns when all that were added have been called.
  void finish() noexcept;

 private:
  struct waiting {
    std::uint64_t end;
    callback call;
    friend bool operator<(const waiting& a, const waiting& b) { return a.end > b.end; }
  };
  void run() noexcept;
  bool ready_now(std::uint64_t end) const noexcept {
    return log_.durable() >= end || log_.failure() != 0;
  }
  status answer_for(std::uint64_t end) const noexcept {
    return log_.durable() >= end ? status::ok : status::io_error;
  }

  disk_log& log_;
  std::mutex lock_;  // guards what follows
  std::condition_variable changed_;
  std::vector<waiting> heap_;  // the nearest end first
  bool finishing_ = false;
  own_thread thread_;
};

}  // namespace durahash
