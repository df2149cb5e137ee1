// Persistent memory. The root that names a longer pool is a store that no page fault makes the file
// system notice: so the file's length is on the disk first. A length that was lost once is not told
// of again: no growth of this opening is answered ok from then on.
#include "environment.hpp"
#include "pmem_here.hpp"

namespace durahash::test {
namespace {

class PmemGrowth : public fault_test {
 protected:
  static constexpr std::uint64_t max_puts = 20'000;
  PmemGrowth() : fault_test(ledger::max_keys / 2, 700) {}

  status put(numbered_pool& pool, std::uint64_t n) {
    step("puts", n);
    record r = known_.of(n, known_.fresh_version());
    status answer = pool.put(r);
    if (answer == status::ok) known_.wrote(n, r.version);
    else if (answer != status::io_error && answer != status::no_space)
      complain("a put whose growth the disk refuses answers: " + std::string(message(answer)));
    return answer;
  }
};
INSTANTIATE_TEST_SUITE_P(Every, PmemGrowth, testing::ValuesIn(pmem_setups()), setup_name());

TEST_P(PmemGrowth, WhoseLengthWasLostOnceIsRefusedFromThenOn) {
  for (std::uint64_t nth : {1u, 2u}) {
    fault_plan plan{.which = call::fdatasync, .error_number = EIO, .nth = nth};
    SCOPED_TRACE(plan.name() + ", seed " + std::to_string(run_seed()));
    start_anew();
    std::string why = lived(call::fdatasync, [&] {
      auto opened = numbered_pool::open(with(), path(), creating());
      if (!opened) complain(opened.failure().message);
      put_records(*opened, 0, 100);
      arm(plan);
      std::uint64_t n = 100;
      while (put(*opened, n) == status::ok) require(++n < max_puts, "the pool grows");
      report_faults(call::fdatasync, faults_injected());
      std::uint64_t bytes = opened->pool().info().file_bytes;
      for (std::uint64_t others = 0; others < 2000; ++others) (void)put(*opened, ++n);
      if (opened->pool().info().file_bytes != bytes)
        complain("behind a length that was lost the pool grows again");
      disarm();
      known_.expect_all_in(*opened);
      die();
    });
    ASSERT_EQ(why, "");
    ASSERT_NO_FATAL_FAILURE(must_be_all_there());
  }
}

}  // namespace
}  // namespace durahash::test
