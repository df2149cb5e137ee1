// A sync that failed once is not made good by a second one: the kernel may have dropped the pages.
// No later sync of this opening answers ok, close answers io_error, too, and the pool is not marked
// clean. What was acknowledged is there.
#include "environment.hpp"

namespace durahash::test {
namespace {

const excuses io_error{status::io_error};

class FailedSync : public fault_test {
 protected:
  static constexpr std::uint64_t before = 500;
  FailedSync() : fault_test(2000) {}

  /// Lives with `use`, which opens the pool and returns it with some fault met; then no sync
  /// answers ok any more, and close does not.
  void no_later_sync_answers_ok(call which, const std::function<void(numbered_pool&)>& use) {
    for (std::uint64_t nth = 1, injected = ~0ull; injected != injected_; ++nth) {
      fault_plan plan{.which = which, .error_number = EIO, .nth = nth};
      SCOPED_TRACE(plan.name() + ", seed " + std::to_string(run_seed()));
      injected = injected_;
      ASSERT_NO_FATAL_FAILURE(make_pool(before));
      std::string why = lived(which, [&] {
        numbered_pool pool = open_or_report(with(), path(), reopening(with()));
        put_records(pool, 0, 100);
        arm(plan);
        use(pool);
        std::uint64_t faults = disarm();
        report_faults(which, faults);
        if (faults == 0) return;
        for (int i = 0; i < 3; ++i) {
          step("syncs again, behind a failure", static_cast<std::uint64_t>(i));
          if (pool.pool().sync() == status::ok)
            complain("a sync behind a failed one is answered ok");
          write(pool, 20);
        }
        step("closes, behind a failure");
        if (status answer = pool.pool().close(); answer != status::io_error)
          complain("close behind a failed sync is answered: " + std::string(message(answer)));
      });
      ASSERT_EQ(why, "");
      if (injected != injected_) {
        ASSERT_NO_FATAL_FAILURE(must_end_well([&] {
          numbered_pool pool = open_or_report(with(), path(), reopening(with()));
          require(!pool.pool().info().clean, "a pool whose sync failed is not found clean");
          die();
        }));
      }
      ASSERT_NO_FATAL_FAILURE(must_be_all_there());
      ASSERT_LT(nth, 200u);
    }
  }

  void fail_in_close(const fault_plan& plan) {
    SCOPED_TRACE(plan.name());
    ASSERT_NO_FATAL_FAILURE(make_pool(before));
    std::string why = lived(plan.which, [&] {
      numbered_pool pool = open_or_report(with(), path(), reopening(with()));
      put_records(pool, 0, 100);
      step("closes");
      arm(plan);
      status answer = pool.pool().close();
      std::uint64_t faults = disarm();
      report_faults(plan.which, faults);
      require(faults > 0, "the call is made again");
      if (answer != status::io_error)
        complain("close is answered: " + std::string(message(answer)));
    });
    ASSERT_EQ(why, "");
    ASSERT_NO_FATAL_FAILURE(must_end_well([&] {
      numbered_pool pool = open_or_report(with(), path(), reopening(with()));
      require(!pool.pool().info().clean, "a pool whose close failed is not found clean");
      die();
    }));
    ASSERT_NO_FATAL_FAILURE(must_be_all_there());
  }

  /// Writes that may be refused.
  void write(numbered_pool& pool, std::uint64_t count) {
    worker at_work(pool, known_, seed(), io_error);
    for (; count > 0; --count) {
      at_work.draw(single_writes);
      at_work.perform();
      at_work.judge(1);
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Every, FailedSync, testing::ValuesIn(setups_at(place_kind::shm)),
                         setup_name());

TEST_P(FailedSync, IsNotMadeGoodByALaterOne) {
  no_later_sync_answers_ok(call::msync, [&](numbered_pool& pool) {
    step("syncs");
    status answer = pool.pool().sync();
    if (answer != (faults_injected() > 0 ? status::io_error : status::ok))
      complain("sync is answered: " + std::string(message(answer)));
  });
}

TEST_P(FailedSync, OfWhichOneSucceededBeforeIsNotMadeGoodEither) {
  no_later_sync_answers_ok(call::msync, [&](numbered_pool& pool) {
    for (int i = 0; i < 3 && faults_injected() == 0; ++i) {
      step("syncs");
      std::uint64_t faults = faults_injected();
      status answer = pool.pool().sync();
      if (answer != (faults_injected() > faults ? status::io_error : status::ok))
        complain("sync is answered: " + std::string(message(answer)));
      if (faults_injected() == 0) write(pool, 10);
    }
  });
}

/// Whoever met the failure: a write, too, whose root could not be written back.
TEST_P(FailedSync, OfTheRootInAWriteLetsNoLaterSyncAnswerOk) {
  no_later_sync_answers_ok(call::msync, [&](numbered_pool& pool) {
    std::uint64_t nth_sync = 0;
    while (faults_injected() == 0 && nth_sync++ < 3) {
      step("syncs");
      (void)pool.pool().sync();
      write(pool, 1);
      write(pool, 1);
    }
  });
}

/// By whichever calls a close writes back.
TEST_P(FailedSync, InCloseIsAnsweredAndThePoolIsNotClean) {
  ASSERT_NO_FATAL_FAILURE(make_pool(before));
  ASSERT_NO_FATAL_FAILURE(must_end_well([&] {
    numbered_pool pool = open_or_report(with(), path(), reopening(with()));
    put_records(pool, 0, 100);
    arm({.nth = 0});
    require(pool.pool().close() == status::ok, "a close without a fault is answered ok");
    report_calls();
  }));
  call_counts seen = calls_of_last_life();
  std::uint64_t of_all = 0;
  for (call which : {call::msync, call::fsync, call::fdatasync})
    for (std::uint64_t times : {std::uint64_t{1}, fault_plan::all}) {
      std::uint64_t count = seen[static_cast<std::size_t>(which)];
      of_all += count;
      for (std::uint64_t nth = 1; nth <= count; ++nth)
        ASSERT_NO_FATAL_FAILURE(
            fail_in_close({.which = which, .error_number = EIO, .nth = nth, .times = times}));
    }
  EXPECT_GE(of_all, 4u) << "the records, then the root, each once and for ever";
}

}  // namespace
}  // namespace durahash::test
