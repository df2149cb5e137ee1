#include "world.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <thread>

namespace durahash::test {

double stress_seconds() {
  const char* text = std::getenv("DURAHASH_STRESS_SECONDS");
  return text && *text ? std::atof(text) : 0.5;
}

namespace {

std::vector<setup> setups_at(place_kind place, bool words) {
  std::vector<setup> all;
  for (engine_kind engine : all_engines()) {
    all.push_back({engine, place, api_kind::bytes, durability_level::process});
    if (words) all.push_back({engine, place, api_kind::words, durability_level::process});
  }
  return all;
}

}  // namespace

std::vector<setup> world_setups() { return setups_at(place_kind::shm, true); }
std::vector<setup> byte_setups() { return setups_at(place_kind::shm, false); }
std::vector<setup> disk_setups() { return setups_at(place_kind::disk, true); }
std::vector<setup> logged_setups() {
  std::vector<setup> all;
  for (engine_kind engine : all_engines())
    for (api_kind api : {api_kind::bytes, api_kind::words})
      if (long_run() || (static_cast<unsigned>(engine) % 2 == 0) == (api == api_kind::bytes))
        all.push_back({engine, place_kind::logged, api, durability_level::power_buffered});
  return all;
}
std::vector<setup> world_and_logged_setups() {
  std::vector<setup> all = world_setups();
  for (const setup& s : logged_setups()) all.push_back(s);
  return all;
}

setup world_setup(const std::string& name) {
  for (const auto& all : {world_setups(), disk_setups(), logged_setups()})
    for (const setup& s : all)
      if (s.name() == name) return s;
  throw std::invalid_argument("no setup is named " + name);
}

void require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "not so: %s\n", what.c_str());
  std::_Exit(failed);
}

void require_ok(status answer, const std::string& what) {
  require(answer == status::ok, what + " is ok, it answers: " + std::string(message(answer)));
}

options plain_options(const setup& with) {
  options how;
  how.medium = with.medium();
  return how;
}

std::unique_ptr<subject> open_or_end(const setup& with, const std::string& path,
                                     const options& how) {
  auto opened = open_subject(with, path, how);
  require(static_cast<bool>(opened), "the pool opens: " + (opened ? "" : opened.failure().message));
  return std::move(*opened);
}
std::unique_ptr<subject> open_or_end(const setup& with, const std::string& path) {
  return open_or_end(with, path, plain_options(with));
}
std::unique_ptr<subject> make_or_end(const setup& with, const std::string& path) {
  return open_or_end(with, path, with.create_options());
}

void require_sound(subject& pool, const std::string& when) {
  check_report report = pool.pool().check();
  require(report.ok,
          when + " check finds nothing; it finds " + std::to_string(report.violations.size()) +
              ", the first: " + (report.violations.empty() ? "" : report.violations.front()));
  require(report.records == pool.pool().size(), when + " check and size count the same records");
}

void require_records(subject& pool, const setup& with, std::uint64_t first, std::uint64_t last,
                     const std::string& when) {
  std::uint64_t lost = 0, wrong = 0;
  std::string value;
  for (std::uint64_t n = first; n < last; ++n) {
    status answer = pool.get(nth_key(with, n), value);
    if (answer == status::not_found) ++lost;
    else wrong += answer != status::ok || value != nth_value(with, n);
  }
  require(lost == 0 && wrong == 0,
          when + " all " + std::to_string(last - first) + " records are there: " +
              std::to_string(lost) + " are lost, " + std::to_string(wrong) + " have another value");
}

void put_records(subject& pool, const setup& with, std::uint64_t first, std::uint64_t last) {
  for (std::uint64_t n = first; n < last; ++n)
    require_ok(pool.put(nth_key(with, n), nth_value(with, n)),
               "put of record " + std::to_string(n));
}

std::optional<double> figure_of(handle& pool, const std::string& name) {
  for (auto& [figure, value] : pool.stats().figures)
    if (figure == name) return value;
  return std::nullopt;
}

std::size_t threads_of_this_process() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& thread : std::filesystem::directory_iterator("/proc/self/task"))
    ++count;
  return count;
}

void die() {
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

bool wait_until(const std::function<bool()>& holds, double seconds) {
  auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

watched_end wait_with_patience(child_process& child, double seconds) {
  watched_end made;
  made.hung = !wait_until([&] { return !child.running(); }, seconds);
  made.end = made.hung ? child.kill() : child.wait();
  return made;
}

void play(const std::string& role, const child_arguments& arguments, double seconds) {
  SCOPED_TRACE("role " + role + ", again with --seed " + std::to_string(run_seed()));
  child_process child(role, arguments);
  auto [end, hung] = wait_with_patience(child, seconds);
  ASSERT_FALSE(hung) << "it hangs: not done within " << seconds << " s";
  ASSERT_EQ(end.signal, 0) << "it died of a signal";
  if (end.exit_code == not_possible_here)
    GTEST_SKIP() << "this system does not let the test prepare the place";
  ASSERT_EQ(end.exit_code, passed) << "its stderr says what is not so";
}

void play_until_death(const std::string& role, const child_arguments& arguments, double seconds) {
  SCOPED_TRACE("role " + role + ", again with --seed " + std::to_string(run_seed()));
  child_process child(role, arguments);
  auto [end, hung] = wait_with_patience(child, seconds);
  ASSERT_FALSE(hung) << "it hangs: not done within " << seconds << " s";
  if (end.exited && end.exit_code == not_possible_here)
    GTEST_SKIP() << "this system does not let the test prepare the place";
  ASSERT_FALSE(end.exited) << "its stderr says what is not so";
  ASSERT_EQ(end.signal, SIGKILL) << "it died of another signal";
}

namespace {

#ifdef DURAHASH_SANITIZED
bool another_thread_runs() {
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    if (thread.path().filename() == std::to_string(::gettid())) continue;
    std::string facts = read_file(thread.path() / "stat");
    if (facts.at(facts.rfind(')') + 2) != 'S') return true;
  }
  return false;
}

/// AddressSanitizer's allocator (gcc 12) does not let go of its locks in a child: one that is made
/// while another thread allocates waits for ever, without any code of ours. Such programs are for
/// the other builds.
void await_quiet() {
  constexpr double until_those_in_the_background_rest = 1;
  if (!wait_until([] { return !another_thread_runs(); }, until_those_in_the_background_rest))
    std::_Exit(not_possible_here);
}
#else
void await_quiet() {}
#endif

}  // namespace

pid_t fork_child(const std::function<void()>& what) {
  await_quiet();
  pid_t child = ::fork();
  require(child >= 0, "fork works");
  if (child != 0) return child;
  ::signal(SIGALRM, SIG_DFL);
  ::alarm(patience_seconds);
  what();
  std::_Exit(passed);
}

void require_good_end(pid_t child, const std::string& who) {
  int end = 0;
  require(::waitpid(child, &end, 0) == child, "the child can be waited for");
  require(!WIFSIGNALED(end) || WTERMSIG(end) != SIGALRM, who + " hangs");
  require(!WIFSIGNALED(end),
          who + " died of signal " + std::to_string(WIFSIGNALED(end) ? WTERMSIG(end) : 0));
  require(WIFEXITED(end) && WEXITSTATUS(end) == passed, who + " ends well");
}

void in_forked_child(const std::string& who, const std::function<void()>& what) {
  require_good_end(fork_child(what), who);
}

}  // namespace durahash::test
