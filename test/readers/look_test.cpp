// A look at a pool beside its writer: what disturbed ones may say.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>

#include "durahash/table.hpp"
#include "engine/beside.hpp"
#include "media/process_medium.hpp"
#include "readers/subject.hpp"
#include "store/scratch.hpp"

namespace durahash::test {
namespace {

using std::chrono::milliseconds;

class BesideLook : public testing::Test {
 protected:
  BesideLook() {
    const std::string path = folder_.file("pool.dh");
    options how;
    how.mode = open_mode::create_new;
    EXPECT_TRUE(table::open(path, how));
    auto map = beside_mapping::open(path);
    EXPECT_TRUE(map);
    auto block = read_superblock((*map)->base(), (*map)->bytes(), true, path);
    EXPECT_TRUE(block);
    pool_ = std::make_unique<beside_pool<process_medium>>(
        std::move(*map), std::make_unique<process_medium>(), *block, &line_);
  }
  /// In this moment no look is whole.
  void set_sequence(std::uint64_t to) { __atomic_store_n(&line_.sequence, to, __ATOMIC_RELEASE); }
  template <class Look>
  status answer(Look&& look) {
    return pool_->look_until_undisturbed(false, [&](const std::byte*) { return look(); });
  }

  readers_line line_{};
  scratch_folder folder_{"/dev/shm"};
  std::unique_ptr<beside_pool<process_medium>> pool_;
};

TEST_F(BesideLook, WhatIsSuspectForASecondIsDamaged) {
  EXPECT_EQ(answer([] { return looked::suspect; }), status::damaged);
}

TEST_F(BesideLook, WhatIsSuspectOnceIsLookedAtAgain) {
  int looks = 0;
  EXPECT_EQ(answer([&] { return ++looks == 1 ? looked::suspect : looked::miss; }),
            status::not_found);
  EXPECT_EQ(looks, 2);
}

TEST_F(BesideLook, ADisturbedOneSaysNothing) {
  std::uint64_t sequence = 0;
  EXPECT_EQ(answer([&] {
              std::this_thread::sleep_for(milliseconds(5));
              set_sequence(sequence += 2);
              return looked::suspect;
            }),
            status::busy);
}

/// It was stopped: a cell may have been reused as often as one likes.
TEST_F(BesideLook, OneThatTakesASecondSaysNothing) {
  EXPECT_EQ(answer([&] {
              std::this_thread::sleep_for(milliseconds(1200));
              return looked::suspect;
            }),
            status::busy);
}

TEST_F(BesideLook, NorDoesOneBeforeABan) {
  std::thread ban([&] {
    std::this_thread::sleep_for(milliseconds(100));
    set_sequence(1);
  });
  EXPECT_EQ(answer([&] { return looked::suspect; }), status::busy);
  ban.join();
}

}  // namespace
}  // namespace durahash::test
