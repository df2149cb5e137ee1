#include "openable.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

namespace durahash::python {
namespace {

std::atomic<unsigned> generation{0};

enum class end_of_python { is_far, closes_tables, has_closed_them };
std::atomic<end_of_python> the_end{end_of_python::is_far};
std::thread::id ender;  // set before the_end is
std::atomic<std::int64_t> module_users{0};
constexpr unsigned nobody = ~0u;
std::atomic<unsigned> module_used_by{nobody};  // which generation

/// The function has another name before Python 3.13, and is not of the stable ABI there.
bool is_being_taken_down() noexcept {
  static const auto ask = [] {
    void* found = ::dlsym(RTLD_DEFAULT, "Py_IsFinalizing");
    if (found == nullptr) found = ::dlsym(RTLD_DEFAULT, "_Py_IsFinalizing");
    return reinterpret_cast<int (*)()>(found);
  }();
  return ask != nullptr && ask() != 0;
}

/// See interpreter_ends. Functions that Python calls at its end may wait for a thread of their own:
/// that one gets its answer a while later.
void stay_out_of_the_end() {
  using namespace std::chrono_literals;
  if (the_end.load() == end_of_python::is_far || std::this_thread::get_id() == ender) return;
  without_gil others;
  while (the_end.load() != end_of_python::has_closed_them) std::this_thread::sleep_for(1ms);
  for (int n = 0; n < 200; ++n) {
    while (is_being_taken_down()) ::pause();  // ends with the process
    std::this_thread::sleep_for(1ms);
  }
}

}  // namespace

void count_generations() {
  ::pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1); });
}

void interpreter_ends(bool tables_are_closed) {
  ender = std::this_thread::get_id();
  the_end = tables_are_closed ? end_of_python::has_closed_them : end_of_python::closes_tables;
  without_gil others;
  // ends: nobody begins a use any more
  while (module_users.load() != 0) std::this_thread::sleep_for(std::chrono::microseconds(20));
}

module_use::module_use() {
  unsigned first = nobody;
  if (!module_used_by.compare_exchange_strong(first, generation.load()) &&
      first != generation.load())
    raise(status::forked,
          "this process is a fork of one that has used a device, and can use none: start "
          "processes with spawn");
  module_users.fetch_add(1);
  if (the_end.load() == end_of_python::is_far || std::this_thread::get_id() == ender) return;
  module_users.fetch_sub(1);
  stay_out_of_the_end();
  raise(status::closed, "the interpreter ends");
}
module_use::~module_use() { module_users.fetch_sub(1); }

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
