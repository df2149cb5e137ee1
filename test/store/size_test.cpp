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
  constexpr std::uint64_t most = many(100'000);
  options how;
  how.engine = GetParam(), how.medium = medium_kind::memory;
  auto opened = map<std::uint64_t, std::uint64_t>::open("", how);
  ASSERT_TRUE(opened) << opened.failure().message;
  auto key = [](std::uint64_t n) { return n * 0x9e3779b97f4a7c15; };
  for (const bool erases : {false, true}) {
    std::atomic<std::uint64_t> begun = 0, done = 0;
    std::thread writer([&] {
      for (std::uint64_t n = 0; n < most; ++n) {
        begun = n + 1;
        EXPECT_EQ(erases ? opened->erase(key(n)) : opened->insert(key(n), n), status::ok);
        done = n + 1;
      }
    });
    std::uint64_t counts = 0;
    for (; done < most; ++counts) {
      const std::uint64_t least = done, records = opened->size(), greatest = begun;
      const std::uint64_t changed = erases ? most - records : records;
      if (changed < least || changed > greatest) {
        ADD_FAILURE() << records << " records, and " << least << " to " << greatest << " were "
                      << (erases ? "erased of " : "inserted of ") << most;
        break;
      }
    }
    writer.join();
    EXPECT_GT(counts, 10u);
    EXPECT_EQ(opened->size(), erases ? 0 : most);
  }
}

}  // namespace
}  // namespace durahash::test
