// Every system call that the library makes fails at its n-th time with each error that it may give,
// for every n in a short life of a pool. Nothing crashes, nothing waits for ever, nothing that was
// acknowledged is lost, and an open that fails says which call failed on which path.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <utility>

#include "environment.hpp"
#include "pmem_here.hpp"
#include "store/patched_pool.hpp"

namespace durahash::test {
namespace {

struct failing_call {
  call which;
  std::vector<int> error_numbers;
};
const std::vector<failing_call> failing_calls{
    {call::open, {EACCES, EMFILE, EIO, EINTR}},
    {call::mmap, {ENOMEM, EAGAIN}},
    {call::munmap, {ENOMEM}},
    {call::madvise, {ENOMEM, EAGAIN}},
    {call::mprotect, {ENOMEM}},
    {call::fallocate, {ENOSPC, EIO, EINTR, EDQUOT}},
    {call::posix_fallocate, {ENOSPC, EIO, EINTR, EDQUOT}},
    {call::ftruncate, {EIO, EINTR}},
    {call::msync, {EIO, ENOMEM}},
    {call::fsync, {EIO, ENOSPC, EDQUOT}},
    {call::fdatasync, {EIO, ENOSPC}},
    {call::pwritev2, {EIO, ENOSPC, EINTR}},
    {call::pread, {EIO, EINTR}},
    {call::rename, {EIO, ENOSPC, EACCES}},
    {call::flock, {ENOLCK, EINTR}},
    {call::fstat, {EIO, ENOMEM}},
    {call::stat, {EIO, EACCES}},
    {call::statx, {EIO, EACCES}},
    {call::lstat, {EIO, EACCES}},
    {call::statfs, {EIO, EINTR}},
    {call::linkat, {EIO, ENOSPC, EDQUOT, EACCES}},
    {call::pthread_create, {EAGAIN}},
    {call::getrandom, {EINTR, EAGAIN}},
    {call::membarrier, {ENOMEM}},
    {call::fgetxattr, {EIO, EOPNOTSUPP}},
    {call::fsetxattr, {EIO, ENOSPC, EDQUOT, EOPNOTSUPP}},
};

const excuses any_failure{status::io_error, status::no_space, status::out_of_memory};

constexpr operation writes[] = {
    operation::put,      operation::put,    operation::insert,          operation::insert,
    operation::put_many, operation::update, operation::compare_and_set, operation::fetch_add};
constexpr operation erasures[] = {operation::erase, operation::erase_many};
constexpr operation questions[] = {operation::get,  operation::get_many, operation::scan,
                                   operation::size, operation::info,     operation::check};

class SystemCall : public fault_test {
 protected:
  SystemCall()
      : fault_test((GetParam().api == api_kind::words ? 3000 : 600) / (each_write_waits() ? 5 : 1),
                   GetParam().api == api_kind::words ? 0 : 700) {}
  static bool each_write_waits() {
    return GetParam().place == place_kind::logged &&
           GetParam().durability == durability_level::power;
  }

  /// An open under the plan in force. Where it is refused, it says why, and the next one or, at
  /// last, one without faults is not.
  numbered_pool open_somehow(const fault_plan& plan, const options& how) {
    for (int tries = 0; tries < 3; ++tries) {
      step("opens");
      auto opened = numbered_pool::open(with(), path(), how);
      if (opened) {
        at_rest no_faults;
        known_.settle_doubts(*opened);
        return std::move(*opened);
      }
      must_explain(plan, opened.failure());
    }
    end(plan);
    return open_or_report(with(), path(), how);
  }
  void must_explain(const fault_plan& plan, const error& why) {
    if (faults_injected() == 0) complain("without a fault, open answers: " + why.message);
    if (why.code == status::out_of_memory) return;  // not even for a sentence, perhaps
    if (why.message.find(path()) == std::string::npos)
      complain("the refusal names no path: " + why.message);
    bool tells = why.message.find(std::strerror(plan.error_number)) != std::string::npos ||
                 why.message.find(name_of(plan.which)) != std::string::npos;
    if (!tells) complain("the refusal does not say that " + plan.name() + ": " + why.message);
  }

  /// What a pool lives through, from its creation to kill -9.
  void live_shortly(const fault_plan& plan) {
    options creating_how = creating();
    creating_how.mode = open_mode::create_or_open;
    {
      numbered_pool pool = open_somehow(plan, creating_how);
      worker at_work(pool, known_, seed(), any_failure);
      at_work.work(writes, amount());
      at_work.work(erasures, 10);
      finish(at_work, pool, operation::sync);
    }
    {
      numbered_pool pool = open_somehow(plan, reopening(with()));
      worker at_work(pool, known_, seed(1), any_failure);
      at_work.work(questions, 6);
      at_work.work(erasures, 20);
      finish(at_work, pool, operation::compact);
    }
    numbered_pool pool = open_somehow(plan, reopening(with()));
    worker at_work(pool, known_, seed(2), any_failure);
    at_work.work(writes, amount() / 4);
    report_calls();
    end(plan);
    die();
  }

  /// Opens what a kill left, writes, and closes.
  void live_behind_a_kill(const fault_plan& plan) {
    numbered_pool pool = open_somehow(plan, reopening(with()));
    worker at_work(pool, known_, seed(3), any_failure);
    at_work.work(questions, 6);
    at_work.work(writes, amount() / 4);
    finish(at_work, pool, operation::sync);
    report_calls();
    end(plan);
  }

  /// Looks at what a kill left without changing it; salvages it, and makes it larger and smaller.
  void live_by_salvage(const fault_plan& plan) {
    {
      options how = reopening(with());
      how.mode = open_mode::read_only;
      numbered_pool pool = open_somehow(plan, how);
      worker at_work(pool, known_, seed(4), any_failure);
      at_work.work(questions, 8);
      step("puts where nothing may be written");
      if (status answer = pool.put(known_.of(0, known_.fresh_version()));
          answer != status::read_only)
        complain("a put into a pool that is read only answers: " + std::string(message(answer)));
    }
    options how = reopening(with());
    how.salvage = true;
    numbered_pool pool = open_somehow(plan, how);
    worker at_work(pool, known_, seed(5), any_failure);
    for (operation each : {operation::reserve, operation::compact, operation::check})
      at_work.work(std::span(&each, 1), 1);
    at_work.work(writes, amount() / 4);
    at_work.work(whole_pool, 3);
    finish(at_work, pool, operation::compact);
    report_calls();
    end(plan);
  }

  void finish(worker& at_work, numbered_pool& pool, const operation& last) {
    at_work.work(std::span(&last, 1), 1);
    at_work.work(writes, 20);
    step("closes");
    status answer = pool.pool().close();
    bool excused = faults_injected() > 0 &&
                   std::find(any_failure.begin(), any_failure.end(), answer) != any_failure.end();
    if (answer != status::ok && !excused)
      complain("close is answered: " + std::string(message(answer)));
  }

  void make_killed_pool() {
    ASSERT_NO_FATAL_FAILURE(make_pool(known_.keys() / 2));
    must_end_well([&] {
      numbered_pool pool = open_or_report(with(), path(), reopening(with()));
      put_records(pool, 0, known_.keys() * 3 / 4);
      die();
    });
  }

  /// Of the plan, once.
  static void end(const fault_plan& plan) {
    if (std::exchange(in_force_, false)) report_faults(plan.which, disarm());
  }
  std::uint64_t amount() const {
    return (with().api == api_kind::words ? 700 : 150) / (each_write_waits() ? 5 : 1);
  }

  /// Each call of the list, at each of its times in that life, with each error, once and for ever.
  /// Stops trying a call and error that was found wanting. With DURAHASH_ONE_FAULT="fdatasync 9 5",
  /// or "... all" behind it, only that one.
  void sweep(const std::function<void(const fault_plan&)>& life,
             const std::function<void()>& prepare) {
    call_counts seen = calls_of(life, prepare);
    std::uint64_t lives = 0;
    random_stream random(seed());
    if (auto one = one_fault()) return void(passes(*one, life, prepare));
    for (const failing_call& f : failing_calls)
      for (int error_number : f.error_numbers) {
        std::uint64_t count = seen[static_cast<std::size_t>(f.which)];
        for (std::uint64_t nth = 1; nth <= count; nth += step_between(count, random)) {
          // a file that never says which it is may be a copy: FileMark
          bool for_ever = error_number != EINTR && f.which != call::statx && random.one_in(4);
          fault_plan plan{.which = f.which,
                          .error_number = error_number,
                          .nth = nth,
                          .times = for_ever ? fault_plan::all : 1};
          ++lives;
          if (!passes(plan, life, prepare)) break;
        }
      }
    RecordProperty("lives", std::to_string(lives));
    std::fprintf(stderr, "%s: %llu lives\n", with().name().c_str(),
                 static_cast<unsigned long long>(lives));
  }

  static std::optional<fault_plan> one_fault() {
    const char* text = std::getenv("DURAHASH_ONE_FAULT");
    char which[32] = {}, times[8] = {};
    fault_plan plan;
    unsigned long nth = 0;
    if (text == nullptr ||
        std::sscanf(text, "%31s %lu %d %7s", which, &nth, &plan.error_number, times) < 3)
      return std::nullopt;
    plan.nth = nth;
    if (times[0] != 0) plan.times = fault_plan::all;
    for (const failing_call& f : failing_calls)
      if (name_of(f.which) == which) plan.which = f.which;
    return plan;
  }
  static std::uint64_t step_between(std::uint64_t count, random_stream& random) {
    std::uint64_t most = long_run() ? 1000 : 2;  // lives for a call and an error, about
    return count <= most ? 1 : 1 + random.below(2 * (count / most));
  }

  bool passes(const fault_plan& plan, const std::function<void(const fault_plan&)>& life,
              const std::function<void()>& prepare) {
    SCOPED_TRACE(plan.name() + ", seed " + std::to_string(run_seed()));
    prepare();
    if (HasFatalFailure()) return false;
    std::string why = lived(plan.which, [&] {
      in_force_ = true;
      arm(plan);
      life(plan);
    });
    if (why.empty()) why = judged(known_, path());
    EXPECT_EQ(why, "");
    return why.empty();
  }

  call_counts calls_of(const std::function<void(const fault_plan&)>& life,
                       const std::function<void()>& prepare) {
    prepare();
    fault_plan none{.nth = 0};
    std::string why = live([&] {
      arm(none);
      life(none);
    });
    EXPECT_EQ(why, "") << "without a fault";
    return calls_of_last_life();
  }

  void live_in_memory(const fault_plan& plan, const setup& in_memory, ledger& known) {
    step("opens");
    arm(plan);
    in_force_ = true;
    auto opened = numbered_pool::open(in_memory, "", in_memory.create_options());
    if (!opened) {
      require(faults_injected() > 0, "an open without a fault succeeds");
      end(plan);
      return;
    }
    worker at_work(*opened, known, seed(), any_failure);
    at_work.work(writes, amount());
    at_work.work(erasures, 10);
    at_work.work(whole_pool, 3);
    at_work.work(writes, 50);
    report_calls();
    end(plan);
    known.expect_all_in(*opened);
    step("closes");
    require(opened->pool().close() == status::ok, "a close without a fault is answered ok");
  }

  void sweep_in_memory(const setup& in_memory) {
    ledger known(in_memory, known_.keys());
    ASSERT_EQ(live([&] { live_in_memory({.nth = 0}, in_memory, known); }), "") << "without a fault";
    call_counts seen = calls_of_last_life();
    random_stream random(seed());
    for (call which :
         {call::mmap, call::mprotect, call::madvise, call::munmap, call::pthread_create})
      for (std::uint64_t nth = 1, count = seen[static_cast<std::size_t>(which)]; nth <= count;
           nth += step_between(count, random)) {
        fault_plan plan{.which = which,
                        .error_number = which == call::pthread_create ? EAGAIN : ENOMEM,
                        .nth = nth};
        SCOPED_TRACE(plan.name() + ", seed " + std::to_string(run_seed()));
        known.clear();
        std::string why = lived(which, [&] { live_in_memory(plan, in_memory, known); });
        EXPECT_EQ(why, "");
        if (!why.empty()) break;
      }
  }

  static inline bool in_force_ = false;
};
/// And each engine once, drawn by the seed, on the medium that flushes and counts, and on a disk
/// with a log; one of them on persistent memory.
std::vector<setup> setups_of_all_media() {
  std::vector<setup> all = setups_at(place_kind::shm);
  bool counts = false;  // a sanitized build has no medium that does
#ifndef DURAHASH_SANITIZED
  counts = true;
#endif
  for (setup s : counts ? setups_at(place_kind::emulated) : std::vector<setup>())
    if ((static_cast<unsigned>(s.engine) + static_cast<unsigned>(s.api) / 2 + run_seed()) % 2 == 0)
      all.push_back(s), all.back().durability = durability_level::power;
  std::vector<setup> pmem = pmem_setups();
  for (std::size_t n = 0; n < pmem.size(); ++n)
    if (long_run() || n == run_seed() % pmem.size()) all.push_back(pmem[n]);
  for (setup s : setups_at(place_kind::logged)) {
    unsigned drawn = (static_cast<unsigned>(s.engine) + run_seed()) % 4;
    bool words = (drawn & 1) != 0;
    if (!long_run() && (s.api == api_kind::words) != words) continue;
    s.durability = (drawn & 2) != 0 ? durability_level::power : durability_level::power_buffered;
    all.push_back(s);
  }
  std::erase_if(all,
                [](const setup& s) { return !is_shipped(s.engine) && s.place != place_kind::shm; });
  return all;
}
INSTANTIATE_TEST_SUITE_P(Every, SystemCall, testing::ValuesIn(setups_of_all_media()), setup_name());

TEST_P(SystemCall, ThatFailsInAShortLifeLosesNothing) {
  sweep([&](const fault_plan& plan) { live_shortly(plan); }, [&] { start_anew(); });
}

TEST_P(SystemCall, ThatFailsBehindAKillLosesNothing) {
  sweep([&](const fault_plan& plan) { live_behind_a_kill(plan); }, [&] { make_killed_pool(); });
}

TEST_P(SystemCall, ThatFailsInAReadOnlyOpenOrASalvageLosesNothing) {
  sweep([&](const fault_plan& plan) { live_by_salvage(plan); }, [&] { make_killed_pool(); });
}

/// A pool in memory makes calls of its own kinds, and has nothing to recover. Each flushes as its
/// level says.
TEST_P(SystemCall, ThatFailsUnderAPoolInMemoryLosesNothing) {
  if (with().place != place_kind::shm) GTEST_SKIP() << "the same as on a plain file";
  for (durability_level level : {durability_level::process, durability_level::power}) {
    SCOPED_TRACE(name_of(level));
    setup in_memory = with();
    in_memory.place = place_kind::memory;
    in_memory.durability = level;
    ASSERT_NO_FATAL_FAILURE(sweep_in_memory(in_memory));
  }
}

/// What cannot be asked is not known to go with its machine: tmpfs is, and then nothing there can
/// be torn.
TEST_P(SystemCall, StatfsThatFailsTakesNoPoolForOneInMemory) {
  if (with().place == place_kind::logged) GTEST_SKIP() << "what the log says is not torn";
  if (with().place == place_kind::pmem) GTEST_SKIP() << "a flush goes past the page cache";
  ASSERT_NO_FATAL_FAILURE(make_pool(200));
  ASSERT_NO_FATAL_FAILURE(must_end_well([&] {
    numbered_pool pool = open_or_report(with(), path(), reopening(with()));
    put_records(pool, 0, 100);
    die();
  }));
  std::string rebooted = after_reboot(read_file(path()), pool_state::changing);
  int file = ::open(path().c_str(), O_WRONLY | O_CLOEXEC);  // in place: it stays the same file
  ASSERT_EQ(::pwrite(file, rebooted.data(), engine_area_offset, 0),
            static_cast<ssize_t>(engine_area_offset));
  ::close(file);
  std::string why = lived(call::statfs, [&] {
    step("opens");
    arm({.which = call::statfs, .error_number = EIO});
    auto opened = numbered_pool::open(with(), path(), reopening(with()));
    report_faults(call::statfs, disarm());
    if (opened) complain("a pool that may be torn opens as if it were whole");
  });
  ASSERT_EQ(why, "");
}

}  // namespace
}  // namespace durahash::test
