// A process of a test: a child that runs a function and ends.
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <utility>

namespace durahash::test {

class child_process {
 public:
  template <class Run>
  explicit child_process(Run&& run) {
    std::fflush(nullptr);
    const pid_t parent = ::getpid();
    id_ = ::fork();
    if (id_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // 0: the parent is of another PID namespace
    if (::getppid() != parent && ::getppid() != 0) ::_exit(9);
    int code = 8;
    try {
      code = run();
    } catch (const std::exception& e) {
      std::fprintf(stderr, "a child: %s\n", e.what());
    }
    ::_exit(code);
  }
  child_process(child_process&& other) noexcept : id_(std::exchange(other.id_, -1)) {}
  child_process& operator=(child_process&& other) noexcept {
    if (id_ > 0) kill();
    id_ = std::exchange(other.id_, -1);
    return *this;
  }
  ~child_process() {
    if (id_ > 0) kill();
  }
  pid_t id() const noexcept { return id_; }
  void signal(int number) const noexcept { ::kill(id_, number); }
  void kill() {
    signal(SIGKILL);
    signal(SIGCONT);
    wait();
  }
  /// Its exit code; minus the signal that ended it.
  int wait() {
    int facts = 0;
    if (id_ <= 0 || ::waitpid(std::exchange(id_, -1), &facts, 0) < 0) return -1000;
    return WIFEXITED(facts) ? WEXITSTATUS(facts) : -WTERMSIG(facts);
  }

 private:
  pid_t id_;
};

}  // namespace durahash::test
