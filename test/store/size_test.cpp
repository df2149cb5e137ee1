// size() beside a writer whose records make the table grow and shrink: each that was acknowledged
// counts once, whatever moves meanwhile.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "durahash/map.hpp"
#include "setup.hpp"

namespace durahash::test {
namespace {

class SizeBeside : public testing::TestWithParam<engine_kind> {};
INSTANTIATE_TEST_SUITE_P(Every, SizeBeside, testing::ValuesIn(all_engines()));

TEST_P(SizeBeside, CountsWhatWasAcknowledgedAndNothingTwice) {
  constexpr std::uint64_t most = 150'000;
  options how;
  how.engine = GetParam(), how.medium = medium_kind::memory;
  auto opened = map<std::uint64_t, std::uint64_t>::open("", how);
  ASSERT_TRUE(opened) << opened.failure().message;
  std::atomic<std::uint64_t> begun = 0, done = 0;
  std::thread writer([&] {
    for (std::uint64_t n = 0; n < most; ++n) {
      begun = n + 1;
      EXPECT_EQ(opened->insert(n * 0x9e3779b97f4a7c15, n), status::ok);
      done = n + 1;
    }
  });
  std::uint64_t counts = 0;
  for (; done < most; ++counts) {
    const std::uint64_t at_least = done, found = opened->size(), at_most = begun;
    if (found < at_least || found > at_most) {
      ADD_FAILURE() << found << " records, and there were " << at_least << " to " << at_most;
      break;
    }
  }
  writer.join();
  EXPECT_GT(counts, 10u);
  EXPECT_EQ(opened->size(), most);
}

}  // namespace
}  // namespace durahash::test
