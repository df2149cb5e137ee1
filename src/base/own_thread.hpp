// Threads of the library's own. The program's signals are the program's: these threads take none.
// Its addresses are the program's, too: they have small stacks, and what they run is made and freed
// by others. glibc's allocator sets addresses aside for each thread that asks it for anything.
#pragma once

#include <pthread.h>

#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace durahash {

enum class thread_stack : unsigned char {
  small,           // half a megabyte, and what the program's thread_local variables take
  of_the_program,  // for calls into code that is not ours
};

/// To be joined before it is destroyed, as a std::thread.
class own_thread {
 public:
  own_thread() = default;
  own_thread(own_thread&& other) noexcept : task_(std::move(other.task_)), thread_(other.thread_) {}
  ~own_thread();

  /// Starts `run`, with all signals blocked. None may run yet.
  /// Returns   false where the process has no thread or no memory for it.
  template <class Run>
  bool start(Run&& run, thread_stack stack = thread_stack::small) noexcept {
    using task_of = task_for<std::decay_t<Run>>;
    task_.reset(new (std::nothrow) task_of(std::forward<Run>(run)));
    if (task_ != nullptr && begin(stack)) return true;
    task_.reset();
    return false;
  }

  bool joinable() const noexcept { return task_ != nullptr; }
  void join() noexcept;

 private:
  struct task {
    virtual ~task() = default;
    virtual void run() = 0;
  };
  template <class Run>
  struct task_for final : task {
    explicit task_for(Run r) : run_(std::move(r)) {}
    void run() override { run_(); }
    Run run_;
  };

  bool begin(thread_stack stack) noexcept;

  std::unique_ptr<task> task_;  // freed by who joins
  pthread_t thread_{};
};

}  // namespace durahash
