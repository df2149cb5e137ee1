// Readers of a pool, and what waits for them.
#include "persist/epochs.hpp"

#include <gtest/gtest.h>
#include <pthread.h>

#include <optional>
#include <thread>

namespace durahash::test {
namespace {

TEST(Epochs, AReaderHoldsBackWhatWasUnlinkedSinceItCame) {
  epochs pool;
  std::optional<epochs::guard> reader(std::in_place, pool);
  std::uint64_t unlinked = pool.close_epoch();
  EXPECT_LT(pool.oldest_reader(), unlinked);
  reader.reset();
  EXPECT_GE(pool.oldest_reader(), unlinked);
}

TEST(Epochs, AReaderOfOnePoolHoldsBackNothingOfAnother) {
  epochs one, other;
  epochs::guard reader(one);
  std::uint64_t unlinked = other.close_epoch();
  EXPECT_GE(other.oldest_reader(), unlinked);
  EXPECT_TRUE(one.read_by_this_thread());
  EXPECT_FALSE(other.read_by_this_thread());
}

/// More nested reads than a record has room for: all pools count as read, and none is forgotten.
TEST(Epochs, ReadsWithinReadsHoldBackAsLongAsTheyLast) {
  epochs pools[6];
  std::uint64_t unlinked[6];
  {
    std::optional<epochs::guard> readers[6];
    for (int i = 0; i < 6; ++i) {
      readers[i].emplace(pools[i]);
      unlinked[i] = pools[i].close_epoch();
    }
    for (int i = 0; i < 6; ++i) EXPECT_LT(pools[i].oldest_reader(), unlinked[i]) << i;
    for (int i = 5; i >= 3; --i) readers[i].reset();
    for (int i = 0; i < 3; ++i) EXPECT_LT(pools[i].oldest_reader(), unlinked[i]) << i;
    for (int i = 3; i < 6; ++i) EXPECT_GE(pools[i].oldest_reader(), unlinked[i]) << i;
  }
  for (int i = 0; i < 6; ++i) EXPECT_GE(pools[i].oldest_reader(), unlinked[i]) << i;
}

/// Deep reads of few pools are told apart: a visitor that reads its own pool holds back no other's.
TEST(Epochs, ReadsWithinReadsOfThreePoolsHoldBackNoFourth) {
  epochs pools[3], other;
  std::optional<epochs::guard> readers[8];
  for (int i = 0; i < 8; ++i) readers[i].emplace(pools[i % 3]);
  std::uint64_t unlinked[3], of_other = other.close_epoch();
  for (int i = 0; i < 3; ++i) unlinked[i] = pools[i].close_epoch();
  EXPECT_GE(other.oldest_reader(), of_other);
  EXPECT_FALSE(other.read_by_this_thread());
  for (int left = 8; left >= 0; --left) {
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(pools[i].oldest_reader() < unlinked[i], i < left) << i << " of " << left;
    if (left > 0) readers[left - 1].reset();
  }
}

/// Of many pools the first that finds no room holds back all, until it ends.
TEST(Epochs, ReadsOfMorePoolsHoldBackAllUntilTheFirstBeyondTheRoomEnds) {
  epochs pools[4], other;
  std::uint64_t unlinked = other.close_epoch();
  {
    std::optional<epochs::guard> readers[6];
    for (int i = 0; i < 6; ++i) readers[i].emplace(pools[i % 4]);
    for (int i = 5; i >= 3; --i) {
      EXPECT_LT(other.oldest_reader(), unlinked) << i;
      readers[i].reset();
    }
    EXPECT_GE(other.oldest_reader(), unlinked);
  }
  EXPECT_GE(pools[0].oldest_reader(), pools[0].close_epoch() - 1);
}

TEST(Epochs, AThreadThatEndedHoldsBackNothing) {
  epochs pool;
  for (int n = 0; n < 200; ++n) std::thread([&] { epochs::guard reader(pool); }).join();
  std::uint64_t unlinked = pool.close_epoch();
  EXPECT_GE(pool.oldest_reader(), unlinked);
}

/// A child of its own: all keys of the process are taken before the library asks for one.
TEST(Epochs, LeaveTheKeysOfOthersAloneWhereTheyGetNone) {
  auto without_keys = [] {
    pthread_key_t made = 0;
    while (pthread_key_create(&made, nullptr) == 0) {}
    auto leaves_it_alone = [] {
      const void* others = pthread_getspecific(0);
      epochs pool;
      epochs::guard reader(pool);
      std::uint64_t unlinked = pool.close_epoch();
      return pool.oldest_reader() < unlinked && pthread_getspecific(0) == others;
    };
    bool in_a_thread = false;
    std::thread([&] { in_a_thread = leaves_it_alone(); }).join();
    std::_Exit(in_a_thread && leaves_it_alone() ? 0 : 1);
  };
  testing::GTEST_FLAG(death_test_style) = "threadsafe";  // in which no test has read before
  EXPECT_EXIT(without_keys(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace durahash::test
