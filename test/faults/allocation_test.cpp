// The process has no memory at the n-th allocation, for every n: the operation answers
// out_of_memory and has changed nothing, no lock stays held, and what was acknowledged is there
// after kill -9.
#include "environment.hpp"

namespace durahash::test {
namespace {

const excuses out_of_memory{status::out_of_memory};

class AllocationFailure : public fault_test {
 protected:
  /// Enough records that the table grows several times, of words too.
  AllocationFailure() : fault_test(GetParam().api == api_kind::words ? 9000 : 3000) {}

  static fault_plan failing(std::uint64_t nth, bool and_all_behind) {
    return {.which = call::allocation,
            .nth = nth,
            .times = and_all_behind ? fault_plan::all : 1,
            .who = callers::the_arming_thread};
  }

  /// The allocation to fail behind the nth: each of the first ones, then ever fewer, in long runs
  /// every one.
  static std::uint64_t behind(std::uint64_t nth, random_stream& random) {
    return nth + 1 + (long_run() || nth < 40 ? 0 : random.below(nth / 4));
  }

  /// In a life: `count` operations of these kinds. Each is tried with its first allocation failing,
  /// then with its second, and so on until none fails. Now and then it begins later, so that an
  /// operation that absorbs an early failure meets a late one.
  void try_each(worker& at_work, std::span<const operation> kinds, std::uint64_t count,
                random_stream& random) {
    for (; count > 0; --count) {
      at_work.draw(kinds);
      bool and_all_behind = random.one_in(3);
      for (std::uint64_t nth = random.one_in(2) ? 1 : 1 + random.below(16), tries = 0;;
           nth = behind(nth, random)) {
        arm(failing(nth, and_all_behind));
        at_work.perform();
        std::uint64_t faults = disarm();
        report_faults(call::allocation, faults);
        if (!at_work.judge(faults)) break;
        require(++tries < 10'000, "an operation ends within ten thousand allocations");
        at_work.let_another_thread_write(random.one_in(50));
        at_work.draw_again();
      }
    }
  }

  /// A life of such operations, on a pool with some records, that ends by kill -9; then the
  /// verdict.
  void live_through(std::span<const operation> kinds, std::uint64_t count,
                    std::uint64_t records_before = 0) {
    for (std::uint64_t round = 0; round < (long_run() ? 30u : 2u); ++round) {
      SCOPED_TRACE("round " + std::to_string(round) + ", seed " + std::to_string(run_seed()));
      ASSERT_NO_FATAL_FAILURE(make_pool(records_before));
      std::string why = lived(call::allocation, [&] {
        numbered_pool pool = open_or_report(with(), path(), reopening(with()));
        worker at_work(pool, known_, seed(round), out_of_memory);
        random_stream random(seed(round) + 1);
        try_each(at_work, kinds, count, random);
        at_work.let_another_thread_write(true);
        known_.expect_all_in(pool);
        die();
      });
      ASSERT_EQ(why, "");
      ASSERT_NO_FATAL_FAILURE(must_be_all_there());
    }
  }

  /// Opens again and again, each time with a later allocation failing, until none fails. Each life
  /// leaves the pool as `leave` does.
  void open_with_each_failing(const options& how,
                              const std::function<void(numbered_pool&)>& leave) {
    random_stream random(seed());
    for (bool and_all_behind : {false, true})
      for (std::uint64_t nth = 1, before = ~0ull; before != injected_; nth = behind(nth, random)) {
        SCOPED_TRACE("allocation no. " + std::to_string(nth) +
                     (and_all_behind ? " and all behind it fail" : " fails"));
        before = injected_;
        if (how.mode == open_mode::create_new) start_anew();
        std::string why = lived(call::allocation, [&] {
          step("opens");
          arm(failing(nth, and_all_behind));
          auto opened = numbered_pool::open(with(), path(), how);
          report_faults(call::allocation, disarm());
          if (!opened) {
            if (opened.failure().code != status::out_of_memory)
              complain("open answers: " + std::string(message(opened.failure().code)) + ": " +
                       opened.failure().message);
            if (how.mode != open_mode::create_new && is_shipped(with().engine)) {
              options beside = how;
              beside.mode = open_mode::read_beside, beside.salvage = false;
              auto reader = numbered_pool::open(with(), path(), beside);
              if (!reader) complain("a reader behind the failed open: " + reader.failure().message);
            }
            opened = numbered_pool::open(with(), path(), how);
            if (!opened) complain("the open after the failed one: " + opened.failure().message);
          }
          known_.expect_all_in(*opened);
          leave(*opened);
        });
        ASSERT_EQ(why, "");
        ASSERT_LT(nth, 50'000u);
      }
  }
};
INSTANTIATE_TEST_SUITE_P(Every, AllocationFailure, testing::ValuesIn(setups_at(place_kind::shm)),
                         setup_name());

TEST_P(AllocationFailure, InASingleWriteIsAnsweredAndChangesNothing) {
  live_through(single_writes, with().api == api_kind::words ? 16'000 : 5000);
}

TEST_P(AllocationFailure, InAGroupOfWritesIsAnsweredAndChangesNothingThatWasNotAcknowledged) {
  live_through(group_writes, with().api == api_kind::words ? 400 : 150);
}

TEST_P(AllocationFailure, InAReadIsAnsweredAndLeavesNoLock) { live_through(reads, 200, 1000); }

TEST_P(AllocationFailure, InReserveCompactAndSyncIsAnsweredAndChangesNothing) {
  live_through(whole_pool, 30, 3000);
}

TEST_P(AllocationFailure, InWritesThatShrinkTheTableIsAnsweredAndChangesNothing) {
  constexpr operation shrinking[] = {operation::erase, operation::erase_many, operation::erase_many,
                                     operation::compact};
  live_through(shrinking, 60, 3000);
}

TEST_P(AllocationFailure, InTheCreationOfAPoolIsAnswered) {
  open_with_each_failing(creating(), [](numbered_pool&) {});
}

TEST_P(AllocationFailure, InTheOpenOfAClosedPoolIsAnswered) {
  ASSERT_NO_FATAL_FAILURE(make_pool(400));
  open_with_each_failing(reopening(with()), [](numbered_pool& pool) {
    require(pool.pool().close() == status::ok, "a close without a fault is answered ok");
  });
}

TEST_P(AllocationFailure, InTheOpenOfAKilledPoolIsAnswered) {
  ASSERT_NO_FATAL_FAILURE(make_pool(400));
  auto write_and_die = [&](numbered_pool& pool) {
    put_records(pool, 0, 100);
    die();
  };
  open_with_each_failing(reopening(with()), write_and_die);
  must_be_all_there();
}

TEST_P(AllocationFailure, InASalvageIsAnswered) {
  ASSERT_NO_FATAL_FAILURE(make_pool(400));
  options how = reopening(with());
  how.salvage = true;
  open_with_each_failing(how, [&](numbered_pool& pool) {
    put_records(pool, 0, 100);
    die();
  });
  must_be_all_there();
}

TEST_P(AllocationFailure, InCloseIsAnsweredAndThePoolRecovers) {
  ASSERT_NO_FATAL_FAILURE(make_pool(400));
  for (std::uint64_t nth = 1, before = ~0ull; before != injected_; ++nth) {
    SCOPED_TRACE("allocation no. " + std::to_string(nth));
    before = injected_;
    std::string why = lived(call::allocation, [&] {
      numbered_pool pool = open_or_report(with(), path(), reopening(with()));
      put_records(pool, 0, 100);
      step("closes");
      arm(failing(nth, nth % 2 == 0));
      status answer = pool.pool().close();
      std::uint64_t faults = disarm();
      report_faults(call::allocation, faults);
      bool excused = faults > 0 && answer == status::out_of_memory;
      if (answer != status::ok && !excused)
        complain("close answers: " + std::string(message(answer)));
    });
    ASSERT_EQ(why, "");
    ASSERT_NO_FATAL_FAILURE(must_be_all_there());
    ASSERT_LT(nth, 50'000u);
  }
}

/// What the library does in threads of its own has nobody to answer to: it is done later, or in the
/// foreground, or left out.
TEST_P(AllocationFailure, InTheBackgroundHarmsNothing) {
  for (std::uint64_t nth = 1, before = ~0ull;
       before != injected_ && nth < (long_run() ? 1000u : 40u); ++nth) {
    SCOPED_TRACE("allocation no. " + std::to_string(nth) + " of other threads");
    before = injected_;
    ASSERT_NO_FATAL_FAILURE(make_pool(300));
    std::string why = lived(call::allocation, [&] {
      numbered_pool pool = open_or_report(with(), path(), reopening(with()));
      put_records(pool, 0, 300);
      die();
    });
    ASSERT_EQ(why, "");
    why = lived(call::allocation, [&] {
      step("opens a killed pool");
      arm({.which = call::allocation,
           .nth = nth,
           .times = nth % 2 == 0 ? fault_plan::all : 1,
           .who = callers::others});
      auto opened = numbered_pool::open(with(), path(), reopening(with()));
      if (!opened && opened.failure().code == status::out_of_memory)
        opened = (disarm(), numbered_pool::open(with(), path(), reopening(with())));
      if (!opened) complain(opened.failure().message);
      for (std::uint64_t n = 0; n < known_.keys(); ++n) {
        record r = known_.of(n, known_.fresh_version());
        step("puts", n);
        status answer = opened->put(r);
        if (answer == status::ok) known_.wrote(n, r.version);
        else if (answer != status::out_of_memory)
          complain("a put is answered: " + std::string(message(answer)));
        step("erases", n);
        if (n % 3 == 0 && opened->erase(r) == status::ok) known_.erased(n);
      }
      step("counts");
      require(opened->pool().size() == known_.records(), "size counts the records");
      report_faults(call::allocation, disarm());
      known_.expect_all_in(*opened);
      die();
    });
    ASSERT_EQ(why, "");
    if (nth % 8 != 1) continue;
    ASSERT_NO_FATAL_FAILURE(must_be_all_there());
  }
  if (injected_ == 0) GTEST_SKIP() << "no other thread of the library allocates";
}

}  // namespace
}  // namespace durahash::test
