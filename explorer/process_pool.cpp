#include "explorer/process_pool.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "base/check.hpp"
#include "explorer/last_words.hpp"

namespace durahash::crash {
namespace {

using clock = std::chrono::steady_clock;

struct child {
  pid_t process;
  int from;  // a pipe
  std::size_t work;
  std::chrono::nanoseconds left;  // of the clock's time, but for what nobody looked at
  std::string said;
  std::chrono::nanoseconds worked{};  // processor time that it had taken when that was over
};

std::chrono::nanoseconds processor_time_of(pid_t process) {
  clockid_t its;
  timespec taken{};
  if (::clock_getcpuclockid(process, &its) != 0 || ::clock_gettime(its, &taken) != 0) return {};
  return std::chrono::seconds(taken.tv_sec) + std::chrono::nanoseconds(taken.tv_nsec);
}

/// Whether its time is over. On a machine with much else to do it gets more of the clock's time,
/// for as long as it gets on.
bool is_late(child& c, std::chrono::seconds seconds) {
  if (c.left > c.left.zero()) return false;
  constexpr std::chrono::seconds more{60};
  constexpr std::chrono::milliseconds least{100};
  const auto worked = processor_time_of(c.process);
  if (worked >= seconds || worked - c.worked < least) return true;
  c.worked = worked, c.left = more;
  return false;
}

void write_all(int to, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    ssize_t wrote = ::write(to, text.data() + at, text.size() - at);
    if (wrote <= 0) return;
    at += static_cast<std::size_t>(wrote);
  }
}

child start(std::size_t number, unsigned seconds,
            const std::function<findings(std::size_t)>& work) {
  int ends[2];
  check(::pipe2(ends, O_CLOEXEC) == 0, "a pipe to a child");
  pid_t process = ::fork();
  check(process >= 0, "a child process");
  if (process == 0) {
    ::close(ends[0]);
    prepare_last_words(ends[1]);
    write_all(ends[1], work(number).packed());
    ::_exit(0);
  }
  ::close(ends[1]);
  return {process, ends[0], number, std::chrono::seconds(seconds), {}, {}};
}

findings conclude(child& c, bool late) {
  if (late) ::kill(c.process, SIGKILL);
  ::close(c.from);
  int how = 0;
  ::waitpid(c.process, &how, 0);
  findings found = findings::unpacked(c.said);
  bool spoke = !c.said.empty();
  if (late)
    found.violations.push_back(
        {"nothing was heard of this exploration for too long: a hang", "", ""});
  if (!late && !spoke)
    found.violations.push_back({"the exploring process died without a word", "", ""});
  return found;
}

}  // namespace

void run_threads(std::size_t count, unsigned at_once, unsigned seconds,
                 const std::function<findings(std::size_t)>& work,
                 const std::function<bool(std::size_t, findings)>& done) {
  std::vector<child> children;
  std::size_t next = 0;
  bool go = true;
  auto looked = clock::now();
  while (!children.empty() || (go && next < count)) {
    while (go && next < count && children.size() < at_once)
      children.push_back(start(next++, seconds, work));
    std::vector<pollfd> waiting;
    for (const child& c : children) waiting.push_back({c.from, POLLIN, 0});
    ::poll(waiting.data(), waiting.size(), 200);
    // one that was stopped with all its children (SIGSTOP) has seen nobody be late
    constexpr std::chrono::seconds most{1};
    const auto passed = std::min<clock::duration>(clock::now() - looked, most);
    looked = clock::now();
    for (child& c : children) c.left -= passed;
    for (std::size_t i = waiting.size(); i-- > 0;) {
      child& c = children[i];
      bool over = false, late = is_late(c, std::chrono::seconds(seconds));
      if ((waiting[i].revents & (POLLIN | POLLHUP)) != 0) {
        char buffer[1 << 16];
        ssize_t got = ::read(c.from, buffer, sizeof buffer);
        if (got > 0) c.said.append(buffer, static_cast<std::size_t>(got));
        over = got <= 0;
      }
      if (!over && !late) continue;
      std::size_t number = c.work;
      findings found = conclude(c, !over);
      children.erase(children.begin() + static_cast<std::ptrdiff_t>(i));
      go &= done(number, std::move(found));
    }
  }
}

}  // namespace durahash::crash
