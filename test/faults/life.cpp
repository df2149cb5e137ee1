#include "life.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <stdexcept>

namespace durahash::test {
namespace {

constexpr int exit_complaint = 3;

/// What the life tells, and the test reads.
struct told {
  std::atomic<std::uint64_t> steps;
  std::atomic<const char*> doing;  // a literal: the same address in both processes
  std::atomic<std::uint64_t> number;
  std::atomic<bool> done;  // what comes now is the end
  char complaint[2000];
  std::array<std::atomic<std::uint64_t>, call_count> faults, calls;
};

told& story() {
  static told* const at = new (shared_memory(sizeof(told))) told{};
  return *at;
}

[[noreturn]] void run(const std::function<void()>& life) {
  try {
    life();
  } catch (const std::exception& e) {
    disarm();
    complain(std::string("an exception escaped: ") + e.what());
  }
  story().done = true;
  ::_exit(0);
}

/// How long a life may take for one step.
int patience_ms() {
#ifdef DURAHASH_SANITIZED
  return 60'000;
#else
  return 8'000;
#endif
}

/// Returns false when the life made no step for too long, and was killed.
bool await_end(pid_t process, int& wait_status) {
  int handle = static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
  if (handle < 0) throw std::runtime_error("cannot watch a child process");
  std::uint64_t steps = 0;
  bool in_time = true;
  pollfd ending{handle, POLLIN, 0};
  while (in_time && ::poll(&ending, 1, patience_ms()) == 0) {
    in_time = story().steps != steps;
    steps = story().steps;
  }
  ::close(handle);
  if (!in_time) ::kill(process, SIGKILL);
  if (::waitpid(process, &wait_status, 0) != process)
    throw std::runtime_error("cannot wait for a child process");
  return in_time;
}

std::string place() {
  const char* doing = story().doing;
  return std::string(" at the step: ") + (doing == nullptr ? "begin" : doing) + " " +
         std::to_string(story().number);
}

/// The faults of all tests, printed at the end.
struct totals {
  std::map<std::string, call_counts> by_engine;
  ~totals() {
    for (const auto& [engine, counts] : by_engine) {
      std::uint64_t sum = 0;
      std::string parts;
      for (std::size_t i = 0; i < call_count; ++i) {
        sum += counts[i];
        if (counts[i] != 0)
          parts +=
              ", " + std::string(name_of(static_cast<call>(i))) + " " + std::to_string(counts[i]);
      }
      std::fprintf(stderr, "%s: %llu calls failed%s\n", engine.c_str(),
                   static_cast<unsigned long long>(sum), parts.c_str());
    }
  }
};

}  // namespace

std::string live(const std::function<void()>& life) {
  told& t = story();
  t.steps = 0, t.doing = nullptr, t.number = 0, t.done = false;
  t.complaint[0] = '\0';
  for (auto& count : t.faults) count = 0;
  for (auto& count : t.calls) count = 0;
  std::fflush(nullptr);
  pid_t process = ::fork();
  if (process < 0) throw std::runtime_error("cannot fork");
  if (process == 0) run(life);
  int wait_status = 0;
  if (!await_end(process, wait_status)) return "it hung" + place();
  if (t.complaint[0] != '\0') return t.complaint + place();
  if (t.done) return {};
  if (WIFSIGNALED(wait_status))
    return std::string("it ended by: ") + ::strsignal(WTERMSIG(wait_status)) + place();
  return "it exited with " + std::to_string(WEXITSTATUS(wait_status)) + place();
}

std::uint64_t faults_of_last_life(call which) {
  return story().faults[static_cast<std::size_t>(which)];
}

call_counts calls_of_last_life() {
  call_counts counts;
  for (std::size_t i = 0; i < call_count; ++i) counts[i] = story().calls[i];
  return counts;
}

void step(const char* what, std::uint64_t number) noexcept {
  story().doing.store(what, std::memory_order_relaxed);
  story().number.store(number, std::memory_order_relaxed);
  story().steps.fetch_add(1, std::memory_order_relaxed);
}

void complain(const std::string& why) {
  disarm();
  std::strncpy(story().complaint, why.c_str(), sizeof story().complaint - 1);
  ::_exit(exit_complaint);
}

void die() {
  story().done = true;
  ::kill(::getpid(), SIGKILL);
  std::abort();
}

void report_faults(call which, std::uint64_t count) noexcept {
  story().faults[static_cast<std::size_t>(which)] += count;
}

void report_calls() noexcept {
  for (std::size_t i = 0; i < call_count; ++i) story().calls[i] = calls_seen(static_cast<call>(i));
}

void* shared_memory(std::size_t bytes) {
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw std::runtime_error("cannot share memory");
  return at;
}

void count_faults(const std::string& engine, call which, std::uint64_t count) {
  static totals all;
  all.by_engine[engine][static_cast<std::size_t>(which)] += count;
}

}  // namespace durahash::test
