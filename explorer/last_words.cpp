#include "explorer/last_words.hpp"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "explorer/findings.hpp"

namespace durahash::crash {
namespace {

int findings_to = -1;  // a descriptor
std::function<std::string()> context;
std::string current_job;

std::atomic<unsigned> limit{0};        // seconds of processor time; 0: nothing goes on
std::atomic<std::uint64_t> going{0};   // what goes on, by number
std::atomic<bool> is_ticking{false};   // a second is under way: one for many that come and go
std::uint64_t seen = 0;                // what went on at the last look
std::chrono::nanoseconds began{};      // processor time when it was first seen
std::chrono::nanoseconds last_seen{};  // and at the last look
unsigned ticks = 0;                    // seconds of the clock since that

std::chrono::nanoseconds processor_time() {
  timespec taken{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &taken);
  return std::chrono::seconds(taken.tv_sec) + std::chrono::nanoseconds(taken.tv_nsec);
}

bool hears = false;  // on_signal is in place

void tick() {
  if (hears && !is_ticking.exchange(true)) ::alarm(1);
}

/// On a machine with much else to do it gets more of the clock's time, for as long as it gets on.
/// Seconds are counted, so that those in which the process was stopped (SIGSTOP) are none.
void look_at_the_time() {
  is_ticking = false;
  const unsigned seconds = limit;
  if (seconds == 0) return;  // it was over when the signal came
  tick();
  if (const std::uint64_t now = going; std::exchange(seen, now) != now) {
    began = last_seen = processor_time(), ticks = 0;
    return;
  }
  if (++ticks < seconds) return;
  constexpr std::chrono::milliseconds least{100};
  const std::chrono::nanoseconds now = processor_time();
  if (now - began >= std::chrono::seconds(seconds) || now - last_seen < least)
    last_words("recovery hangs");
  last_seen = now, ticks = 0;
}

/// Not async-signal-safe, and need not be: the process is lost, and its parent reads what there is.
void on_signal(int number) {
  switch (number) {
    case SIGALRM: return look_at_the_time();
    case SIGABRT: last_words("an invariant broke, and stopped the process");
    default: last_words("an access outside the pool, or another fault, stopped the process");
  }
}

}  // namespace

void prepare_last_words(int descriptor) {
  findings_to = descriptor;
  is_ticking = false;  // no alarm comes through a fork
  for (int number : {SIGALRM, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL})
    ::signal(number, on_signal);
  hears = true;
}

void last_words_job(std::string name) { current_job = std::move(name); }

void last_words_context(std::function<std::string()> packed, unsigned seconds) {
  limit = 0;  // a signal meanwhile is of nothing
  context = std::move(packed);
  if (seconds == 0) return;
  ++going;
  limit = seconds;
  tick();
}

void last_words(const std::string& what) {
  for (int number : {SIGALRM, SIGABRT, SIGSEGV, SIGBUS}) ::signal(number, SIG_DFL);
  constexpr unsigned enough = 60;  // it may wait for a lock that it holds: then it ends here
  ::alarm(enough);
  findings found;
  if (context) found = findings::unpacked(context());
  if (found.violations.empty()) found.violations.emplace_back();
  found.violations.back().what = what;
  found.violations.back().job = current_job;
  std::string packed = found.packed();
  if (findings_to < 0)
    std::fprintf(stderr, "%s%s\n", what.c_str(), found.violations.back().report.c_str());
  for (std::size_t at = 0; findings_to >= 0 && at < packed.size();) {
    ssize_t wrote = ::write(findings_to, packed.data() + at, packed.size() - at);
    if (wrote <= 0) break;
    at += static_cast<std::size_t>(wrote);
  }
  ::_exit(4);
}

}  // namespace durahash::crash
