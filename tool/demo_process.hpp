// A worker process as its killer sees it.
#pragma once

#include <sys/types.h>

#include <string>

#include "demo_acks.hpp"
#include "demo_worker.hpp"

namespace durahash::tool {

/// A list of files that lives in memory and that workers inherit.
class shared_list {
 public:
  explicit shared_list(const std::string& text);
  ~shared_list();
  shared_list(const shared_list&) = delete;
  shared_list& operator=(const shared_list&) = delete;
  int file() const { return file_; }

 private:
  int file_ = -1;
};

/// This program again, as `durahash demo --worker`. The destructor kills it.
class worker_process {
 public:
  worker_process(const std::string& pool_path, work_kind work, const shared_list& list);
  ~worker_process();
  worker_process(const worker_process&) = delete;
  worker_process& operator=(const worker_process&) = delete;

  ack_receiver& acks() { return acks_; }

  /// SIGKILL. What it acknowledged can still be read.
  void kill();

  /// Waits for its own end. Throws `failure` if it failed; true if it did its work, false if it was
  /// killed.
  bool finish();

 private:
  pid_t process_ = -1;
  int pipe_ = -1;
  ack_receiver acks_;
  bool killed_ = false;
};

}  // namespace durahash::tool
