#include "base/own_thread.hpp"

#include <dlfcn.h>
#include <signal.h>

#include <exception>

namespace durahash {

constexpr std::size_t small_stack_bytes = 512 << 10;

namespace {

/// glibc takes the program's thread_local variables out of the stack. It says how much that is, by
/// a function that is no part of its interface.
std::size_t taken_from(const pthread_attr_t& how) noexcept {
  using sum = std::size_t (*)(const pthread_attr_t*);
  auto least = reinterpret_cast<sum>(::dlsym(RTLD_DEFAULT, "__pthread_get_minstack"));
  return least == nullptr ? 0 : least(&how);
}

}  // namespace

own_thread::~own_thread() {
  if (joinable()) std::terminate();
}

void own_thread::join() noexcept {
  ::pthread_join(thread_, nullptr);
  task_.reset();
}

bool own_thread::begin(thread_stack stack) noexcept {
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  auto work = [](void* what) -> void* {
    static_cast<task*>(what)->run();
    return nullptr;
  };
  int answer = -1;
  pthread_attr_t how;
  if (stack == thread_stack::small && ::pthread_attr_init(&how) == 0) {
    ::pthread_attr_setstacksize(&how, small_stack_bytes + taken_from(how));
    answer = ::pthread_create(&thread_, &how, work, task_.get());
    ::pthread_attr_destroy(&how);
  }
  if (answer != 0) answer = ::pthread_create(&thread_, nullptr, work, task_.get());
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return answer == 0;
}

}  // namespace durahash
