// Writes to one file, many of them under way at once: one after the other, each would wait for the
// disk to end the one before.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

#include "base/own_thread.hpp"
#include "disk/disk_file.hpp"

namespace durahash {

struct page_run {
  std::uint64_t offset;
  const std::byte* from;
  std::uint64_t bytes;
};

class page_writers {
 public:
  explicit page_writers(disk_file& file) noexcept : file_(file) {}
  ~page_writers();
  page_writers(const page_writers&) = delete;

  /// Writes them in any order, with threads of its own where these can be had; returns when all are
  /// written. Returns false when one was refused; errno says why. For one caller at a time.
  bool write(std::span<const page_run> runs) noexcept;

 private:
  static constexpr std::size_t max_threads = 15;

  void start_threads(std::size_t wanted) noexcept;
  void work_till_stopped() noexcept;
  const page_run* take() noexcept;
  void finish(bool written) noexcept;

  disk_file& file_;
  std::mutex lock_;  // guards what follows, but the threads
  std::condition_variable more_, done_;
  std::span<const page_run> runs_;
  std::size_t next_ = 0, left_ = 0;
  int failure_ = 0;
  bool stopping_ = false;
  own_thread threads_[max_threads];
  std::size_t started_ = 0;
};

}  // namespace durahash
