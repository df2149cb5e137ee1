// A thread that cannot be created: the work that it was for is done in the foreground, or left out.
// Nobody is told by an exception, nobody's signals stay blocked, nobody waits for a thread that
// never was.
#include <pthread.h>
#include <signal.h>

#include "environment.hpp"

namespace durahash::test {
namespace {

/// The caller's signals, of which some are blocked.
class signals_of_the_caller {
 public:
  signals_of_the_caller() {
    sigset_t some;
    sigemptyset(&some);
    sigaddset(&some, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &some, nullptr);
    pthread_sigmask(SIG_SETMASK, nullptr, &before_);
  }
  void must_be_unchanged(const char* behind_what) const {
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, nullptr, &now);
    for (int signal = 1; signal < 32; ++signal)
      if (sigismember(&now, signal) != sigismember(&before_, signal))
        complain(std::string(behind_what) + " leaves the signal " + std::to_string(signal) +
                 (sigismember(&now, signal) == 1 ? " blocked" : " unblocked"));
  }

 private:
  sigset_t before_;
};

class NoThread : public fault_test {
 protected:
  NoThread()
      : fault_test(GetParam().api == api_kind::words ? 12'000 : 3000,
                   GetParam().api == api_kind::words ? 0 : 700) {}

  /// A life of all that starts threads: recovery, growth, collection, shrinking; then check, size
  /// and close.
  void work_in_a_killed_pool(const fault_plan& plan) {
    signals_of_the_caller signals;
    step("opens a killed pool");
    arm(plan);
    auto opened = numbered_pool::open(with(), path(), reopening(with()));
    signals.must_be_unchanged("open");
    if (!opened) complain(opened.failure().message);
    for (std::uint64_t n = 0; n < known_.keys(); ++n) {
      record r = known_.of(n, known_.fresh_version());
      step("puts", n);
      if (status answer = opened->put(r); answer != status::ok)
        complain("put is answered: " + std::string(message(answer)));
      known_.wrote(n, r.version);
      signals.must_be_unchanged("put");
    }
    for (std::uint64_t n = 0; n < known_.keys(); n += 3) {
      step("erases", n);
      require(opened->erase(known_.now(n)) == status::ok, "erase is answered ok");
      known_.erased(n);
      signals.must_be_unchanged("erase");
    }
    step("reserves");  // what a small table of words does needs no thread
    require(opened->pool().reserve(200'000) == status::ok, "reserve is answered ok");
    step("counts");
    require(opened->pool().size() == known_.records(), "size counts the records");
    step("checks");
    check_report report = opened->pool().check();
    if (!report.ok)
      complain("check: " + (report.violations.empty() ? std::string() : report.violations.front()));
    step("compacts");
    require(opened->pool().compact() == status::ok, "compact is answered ok");
    step("syncs");
    require(opened->pool().sync() == status::ok, "sync is answered ok");
    put_records(*opened, 0, 10);
    step("closes");
    require(opened->pool().close() == status::ok, "close is answered ok");
    signals.must_be_unchanged("close");
    report_calls();
    report_faults(call::pthread_create, disarm());
  }

  void make_killed_pool() {
    ASSERT_NO_FATAL_FAILURE(make_pool(500));
    ASSERT_NO_FATAL_FAILURE(must_end_well([&] {
      numbered_pool pool = open_or_report(with(), path(), reopening(with()));
      put_records(pool, 0, 300);
      die();
    }));
  }

  void live_with(const fault_plan& plan) {
    SCOPED_TRACE(plan.name());
    ASSERT_NO_FATAL_FAILURE(make_killed_pool());
    std::string why = lived(call::pthread_create, [&] { work_in_a_killed_pool(plan); });
    ASSERT_EQ(why, "");
    ASSERT_NO_FATAL_FAILURE(must_be_all_there());
  }

  static fault_plan failing(std::uint64_t nth, std::uint64_t times = 1) {
    return {.which = call::pthread_create, .error_number = EAGAIN, .nth = nth, .times = times};
  }
};
INSTANTIATE_TEST_SUITE_P(Every, NoThread, testing::ValuesIn(setups_at(place_kind::shm)),
                         setup_name());

TEST_P(NoThread, EverLeavesAllWorkToTheForeground) { live_with(failing(1, fault_plan::all)); }

TEST_P(NoThread, AtTheNthCallIsNoticedByNobody) {
  for (std::uint64_t nth = 1, injected = ~0ull; injected != injected_; ++nth) {
    injected = injected_;
    ASSERT_NO_FATAL_FAILURE(live_with(failing(nth)));
    ASSERT_LT(nth, 200u);
  }
}

TEST_P(NoThread, FromTheNthCallOnIsNoticedByNobody) {
  for (std::uint64_t nth = 1, injected = ~0ull; injected != injected_; ++nth) {
    injected = injected_;
    ASSERT_NO_FATAL_FAILURE(live_with(failing(nth, fault_plan::all)));
    ASSERT_LT(nth, 200u);
  }
}

TEST_P(NoThread, BeforeAKillLosesNothing) {
  start_anew();
  std::string why = lived(call::pthread_create, [&] {
    signals_of_the_caller signals;
    arm(failing(1, fault_plan::all));
    auto opened = numbered_pool::open(with(), path(), creating());
    if (!opened) complain(opened.failure().message);
    put_records(*opened, 0, known_.keys());
    require(opened->pool().reserve(200'000) == status::ok, "reserve is answered ok");
    signals.must_be_unchanged("put");
    report_faults(call::pthread_create, disarm());
    die();
  });
  ASSERT_EQ(why, "");
  must_be_all_there();
}

}  // namespace
}  // namespace durahash::test
