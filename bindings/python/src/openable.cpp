#include "openable.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

namespace durahash::python {
namespace {

std::atomic<unsigned> generation{0};

enum class end_of_python { is_far, closes_tables, has_closed_them };
std::atomic<end_of_python> the_end{end_of_python::is_far};
std::thread::id ender;  // set before the_end is
constexpr unsigned nobody = ~0u;
std::atomic<unsigned> devices_are_of{nobody};  // which generation

/// Of all threads. Who changes it is attached to Python: where that is one thread at a time, it
/// needs no instruction that locks.
std::atomic<std::int64_t> calls{0};
void count_calls(std::int64_t more) noexcept {
#ifdef Py_GIL_DISABLED
  calls.fetch_add(more);
#else
  calls.store(calls.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
#endif
}

/// The function has another name before Python 3.13, and is not of the stable ABI there.
bool is_being_taken_down() noexcept {
  static const auto ask = [] {
    void* found = ::dlsym(RTLD_DEFAULT, "Py_IsFinalizing");
    if (found == nullptr) found = ::dlsym(RTLD_DEFAULT, "_Py_IsFinalizing");
    return reinterpret_cast<int (*)()>(found);
  }();
  return ask != nullptr && ask() != 0;
}

bool ends_for_this_thread() noexcept {
  return the_end.load() != end_of_python::is_far && std::this_thread::get_id() != ender;
}

/// In a call. Functions that Python calls at its end may wait for a thread of their own: that one
/// gets its answer a while later.
void stay_out_of_the_end() {
  using namespace std::chrono_literals;
  if (!ends_for_this_thread()) return;
  count_calls(-1);
  {
    without_gil others;
    while (the_end.load() != end_of_python::has_closed_them) std::this_thread::sleep_for(1ms);
    for (int n = 0; n < 200; ++n) {
      while (is_being_taken_down()) ::pause();  // ends with the process
      std::this_thread::sleep_for(1ms);
    }
  }
  count_calls(1);
}

}  // namespace

void without_gil::attach(PyThreadState* thread) noexcept {
  try {
    PyEval_RestoreThread(thread);
  } catch (const abi::__forced_unwind&) {
    for (;;) ::pause();  // ends with the process
  }
}

call::call() noexcept : generation_(generation.load(std::memory_order_relaxed)) {
  count_calls(1);
  stay_out_of_the_end();
}
call::~call() {
  if (generation_ == generation.load(std::memory_order_relaxed)) count_calls(-1);
}

void count_generations() {
  // the calls of the other threads are not in the child
  ::pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1), calls = 0; });
}

void interpreter_ends(bool tables_are_closed) {
  using namespace std::chrono_literals;
  ender = std::this_thread::get_id();
  the_end = tables_are_closed ? end_of_python::has_closed_them : end_of_python::closes_tables;
  without_gil others;
  const auto until = std::chrono::steady_clock::now() + 1s;
  while (calls.load() > 0 && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(20us);
}

void require_devices() {
  unsigned first = nobody;
  if (!devices_are_of.compare_exchange_strong(first, generation.load()) &&
      first != generation.load())
    raise(status::forked,
          "this process is a fork of one that has used a device, and can use none: start "
          "processes with spawn");
  if (ends_for_this_thread()) raise(status::closed, "the interpreter ends");
}

openable::openable() : generation_(generation.load()) {}

bool openable::is_forked() const noexcept { return generation_ != generation.load(); }

use::use(openable& of) : of_(of) {
  if (of.is_forked()) raise(status::forked);
  of.users_.fetch_add(1);
  if (of.closing_.load()) {
    of.users_.fetch_sub(1);
    stay_out_of_the_end();
    raise(status::closed);
  }
}

}  // namespace durahash::python
