// What Python holds open: closed at any moment by any thread, and forked.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>

#include "errors.hpp"

namespace durahash::python {

/// Lets other Python threads run where `when` holds, until the end of the scope.
class without_gil {
 public:
  explicit without_gil(bool when = true) {
    if (when) release_.emplace();
  }

 private:
  std::optional<nb::gil_scoped_release> release_;
};

/// Threads: every member may be called from any thread that is attached to Python. No code of
/// Python's runs while a use lasts, so that none can close it from within.
class openable {
 public:
  openable();
  openable(const openable&) = delete;
  openable& operator=(const openable&) = delete;

  bool is_closed() const noexcept { return closing_.load(); }
  /// Whether this process is a child of the one that opened it.
  bool is_forked() const noexcept;

 protected:
  ~openable() = default;

  /// Calls when nobody uses it, and nobody will. In a child nothing is called.
  template <class Close>
  status close_by(Close&& close) {
    if (is_forked()) return closing_ = true, status::ok;  // it is its parent's
    without_gil others;
    std::scoped_lock one(closed_by_one_);
    closing_ = true;
    // ends: nobody begins a use any more, and none waits for anything of Python's
    while (users_.load() != 0) std::this_thread::sleep_for(std::chrono::microseconds(20));
    return close();
  }

 private:
  friend class use;
  unsigned generation_;  ///< of processes: one more in each child
  std::atomic<bool> closing_{false};
  std::atomic<std::int64_t> users_{0};
  std::mutex closed_by_one_;
};

/// It is open, and stays so as long as this lives. Throws where it is closed, or forked; so it is
/// made by a thread that is attached to Python.
class use {
 public:
  explicit use(openable& of);
  ~use() { of_.users_.fetch_sub(1); }
  use(const use&) = delete;
  use& operator=(const use&) = delete;

 private:
  openable& of_;
};

/// For calls that let other threads run, and are of no pool: while it lives the interpreter does
/// not end. Throws `closed` where it does, in other threads than the one that ends it; and `forked`
/// in children of the process that had the first one: they have no device.
class module_use {
 public:
  module_use();
  ~module_use();
  module_use(const module_use&) = delete;
  module_use& operator=(const module_use&) = delete;
};

/// Counts the processes that this one is a fork of; called once.
void count_generations();

/// At the interpreter's end, by the thread that ends it: before it closes the tables, and behind
/// that. Waits until no other thread has a module_use. A thread that Python does not wait for, and
/// that wants a table then, goes no further once Python is being taken down: on its way back it
/// would be ended in the middle of this code.
void interpreter_ends(bool tables_are_closed);

}  // namespace durahash::python
