#include "explorer/last_words.hpp"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "explorer/findings.hpp"

namespace durahash::crash {
namespace {

int findings_to = -1;  // a descriptor
std::function<std::string()> context;
std::string current_job;

volatile unsigned limit = 0;           // seconds of processor time; 0: nothing goes on
std::chrono::nanoseconds began{};      // processor time then
std::chrono::nanoseconds last_seen{};  // and at the last look
unsigned ticks = 0;                    // seconds of the clock since that

std::chrono::nanoseconds processor_time() {
  timespec taken{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &taken);
  return std::chrono::seconds(taken.tv_sec) + std::chrono::nanoseconds(taken.tv_nsec);
}

/// On a machine with much else to do it gets more of the clock's time, for as long as it gets on.
/// Seconds are counted, so that those in which the process was stopped (SIGSTOP) are none.
void look_at_the_time() {
  if (limit == 0) return;  // it was over when the signal came
  ::alarm(1);
  if (++ticks < limit) return;
  constexpr std::chrono::milliseconds least{100};
  const std::chrono::nanoseconds now = processor_time();
  if (now - began >= std::chrono::seconds(limit) || now - last_seen < least)
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
  for (int number : {SIGALRM, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL})
    ::signal(number, on_signal);
}

void last_words_job(std::string name) { current_job = std::move(name); }

void last_words_context(std::function<std::string()> packed, unsigned seconds) {
  limit = 0;  // a signal meanwhile is of nothing
  context = std::move(packed);
  began = last_seen = processor_time(), ticks = 0;
  limit = seconds;
  ::alarm(seconds == 0 ? 0 : 1);
}

void last_words(const std::string& what) {
  for (int number : {SIGALRM, SIGABRT, SIGSEGV, SIGBUS}) ::signal(number, SIG_DFL);
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
