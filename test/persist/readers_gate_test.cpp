// What readers in other processes are told while a pool is opened, written and left.
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>

#include "media/mapping.hpp"
#include "persist/readers_gate.hpp"
#include "test/store/scratch.hpp"

namespace durahash::test {
namespace {

class ReadersGate : public testing::Test {
 protected:
  ReadersGate() {
    constexpr std::uint64_t most = 64 << 10;
    auto made =
        mapping::open({.path = folder_.file("pool"), .create = true, .address_space_bytes = most});
    check(made && (*made)->grow(most) == status::ok, "a file for a test");
    map_ = std::move(*made);
  }

  scratch_folder folder_;
  std::unique_ptr<mapping> map_;
  const readers_line& line() const { return readers_line_at(map_->base()); }
  bool banned() const { return line().sequence % 2 == 1; }
};

TEST_F(ReadersGate, SaysWhoWritesWhenItAdmits) {
  readers_gate gate(*map_);
  gate.ban();
  EXPECT_TRUE(banned());
  gate.admit();
  EXPECT_FALSE(banned());
  EXPECT_EQ(line().writer, static_cast<std::uint64_t>(::getpid()));
  const std::uint64_t sequence = line().sequence, incarnation = line().incarnation;
  gate.before_reuse();
  EXPECT_EQ(line().sequence, sequence + 2);
  gate.leave();
  EXPECT_FALSE(banned());
  EXPECT_EQ(line().writer, 0u);
  EXPECT_NE(line().incarnation, incarnation);
}

TEST_F(ReadersGate, AnOpeningThatStoredNothingLeavesTheLineAsItWas) {
  const std::uint64_t before = line().sequence;
  readers_gate gate(*map_);
  gate.ban_while_opening();
  EXPECT_TRUE(banned());
  gate.readmit();
  EXPECT_EQ(line().sequence, before);
}

TEST_F(ReadersGate, AnOpeningThatEndsAnywhereLetsReadersIn) {
  {
    readers_gate gate(*map_);
    gate.ban_while_opening();
  }
  EXPECT_FALSE(banned());
}

/// A device that nobody hears of may still write.
TEST_F(ReadersGate, WhatStaysBannedStaysSoUntilALaterOpeningAdmits) {
  {
    readers_gate gate(*map_);
    gate.ban_while_opening();
    gate.keep_banned();
  }
  EXPECT_TRUE(banned());
  {
    readers_gate gate(*map_);
    gate.ban_while_opening();
    gate.admit();
    EXPECT_FALSE(banned());
    gate.ban();
    gate.keep_banned();
    gate.leave();
  }
  EXPECT_TRUE(banned());
  readers_gate gate(*map_);
  gate.ban_while_opening();
  EXPECT_TRUE(banned());
  gate.keep_banned();
  gate.admit();
  gate.leave();
  EXPECT_FALSE(banned());
}

}  // namespace
}  // namespace durahash::test
