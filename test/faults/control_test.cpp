// The fault tests can pass, and can fail: their work without faults, and verdicts on what is wrong
// on purpose.
#include <signal.h>
#include <sys/file.h>

#include "environment.hpp"

namespace durahash::test {
namespace {

class FaultTests : public fault_test {
 protected:
  FaultTests() : fault_test(GetParam().api == api_kind::words ? 9000 : 3000) {}
  void TearDown() override {}  // no fault is wanted here
};
INSTANTIATE_TEST_SUITE_P(Every, FaultTests, testing::ValuesIn(setups_at(place_kind::shm)),
                         setup_name());

TEST_P(FaultTests, PassWhereNothingFails) {
  ASSERT_NO_FATAL_FAILURE(make_pool(100));
  ASSERT_NO_FATAL_FAILURE(must_end_well([&] {
    numbered_pool pool = open_or_report(with(), path(), reopening(with()));
    worker at_work(pool, known_, seed(), {});
    for (int round = 0; round < 4; ++round) {
      at_work.work(single_writes, 2000);
      at_work.work(group_writes, 50);
      at_work.work(reads, 20);
      at_work.work(whole_pool, 4);
      at_work.let_another_thread_write(round % 2 == 0);
    }
    known_.expect_all_in(pool);
    die();
  }));
  must_be_all_there();
}

TEST_P(FaultTests, NoticeARecordThatIsLost) {
  ASSERT_NO_FATAL_FAILURE(make_pool(100));
  known_.wrote(100, 1);
  EXPECT_NE(judged(known_, path()).find("1 of 101 acknowledged records are lost, first key 100"),
            std::string::npos);
}

TEST_P(FaultTests, NoticeARecordThatNobodyAcknowledged) {
  ASSERT_NO_FATAL_FAILURE(make_pool(100));
  known_.erased(7);
  EXPECT_NE(judged(known_, path()).find("1 records are there"), std::string::npos);
}

TEST(Lives, ThatEndBadlySayHow) {
  EXPECT_EQ(live([] { die(); }), "");
  EXPECT_EQ(live([] {}), "");
  EXPECT_EQ(live([] { step("frowns", 5), complain("no"); }), "no at the step: frowns 5");
  EXPECT_NE(live([] { throw std::runtime_error("oh"); }).find("an exception escaped: oh"),
            std::string::npos);
  EXPECT_NE(live([] { ::raise(SIGTERM); }).find("it ended by: Terminated"), std::string::npos);
}

TEST(Shim, FailsTheCallsOfItsPlanAndNoOthers) {
  armed plan({.which = call::flock, .error_number = ENOLCK, .nth = 2, .times = 2});
  errno = 0;
  EXPECT_EQ(::flock(1, LOCK_UN), 0);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(::flock(1, LOCK_UN), -1) << i;
  EXPECT_EQ(errno, ENOLCK);
  EXPECT_EQ(::flock(1, LOCK_UN), 0);
  EXPECT_EQ(faults_injected(), 2u);
  EXPECT_EQ(calls_seen(call::flock), 4u);
}

}  // namespace
}  // namespace durahash::test
