// What Python holds open: closed at any moment by any thread, and forked.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>

#include "errors.hpp"

namespace durahash::python {

/// Lets other Python threads run where `when` holds, until the end of the scope. Where Python is
/// taken down meanwhile, the scope ends in the thread that does that alone. Python before 3.14
/// would end the other threads instead, and unwind code that cannot be.
class without_gil {
 public:
  explicit without_gil(bool when = true) : thread_(when ? PyEval_SaveThread() : nullptr) {}
  ~without_gil() {
    if (thread_ != nullptr) attach(thread_);
  }
  without_gil(const without_gil&) = delete;
  without_gil& operator=(const without_gil&) = delete;

 private:
  static void attach(PyThreadState* thread) noexcept;

  PyThreadState* thread_;
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
/// made in a call, by a thread that is attached to Python.
class use {
 public:
  explicit use(openable& of);
  ~use() { of_.users_.fetch_sub(1); }
  use(const use&) = delete;
  use& operator=(const use&) = delete;

 private:
  openable& of_;
};

/// One call of the extension's, while Python is attached at its ends. Many run code of Python's: a
/// codec, numpy, the making of an exception. A thread that Python ends there unwinds through code
/// which cannot be, so the interpreter's end waits a while for every call (interpreter_ends), and
/// one that begins meanwhile stays out of it.
class call {
 public:
  call() noexcept;
  ~call();
  call(const call&) = delete;
  call& operator=(const call&) = delete;

 private:
  unsigned generation_;
};

/// A class of the extension, whose functions are calls.
template <class T>
class class_of_calls : public nb::class_<T> {
 public:
  using nb::class_<T>::class_;
  template <class... Given>
  class_of_calls& def(Given&&... given) {
    nb::class_<T>::def(std::forward<Given>(given)..., nb::call_guard<call>());
    return *this;
  }
  /// Of what runs no code of Python's.
  template <class... Given>
  class_of_calls& def_prop_ro(Given&&... given) {
    nb::class_<T>::def_prop_ro(std::forward<Given>(given)...);
    return *this;
  }
};

/// Throws `forked` in children of the process that first came here: they have no device. Throws
/// `closed` at the interpreter's end, but in the thread that ends it.
void require_devices();

/// Counts the processes that this one is a fork of; called once.
void count_generations();

/// At the interpreter's end, by the thread that ends it: before it closes the tables, and behind
/// that. Waits for the calls of other threads, a second at most: one may wait for a thing of
/// Python's that nobody will do any more. A thread that Python does not wait for, and that wants a
/// table then, goes no further once Python is being taken down.
void interpreter_ends(bool tables_are_closed);

}  // namespace durahash::python
