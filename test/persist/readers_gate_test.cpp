// What readers in other processes are told while a pool is opened, written and left.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "media/mapping.hpp"
#include "persist/readers_gate.hpp"

namespace durahash::test {
namespace {

/// A pool's first pages, as others would map them.
class shown_mapping final : public mapping {
 public:
  shown_mapping() {
    void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    check(at != MAP_FAILED, "pages for a test");
    base_ = static_cast<std::byte*>(at);
    reserved_bytes_ = max_bytes_ = bytes;
  }
  ~shown_mapping() override { ::munmap(base_, bytes); }
  bool is_shared() const noexcept override { return true; }
  status appear() override { return status::ok; }
  status write_to_disk(std::uint64_t, std::uint64_t) override { return status::ok; }

 protected:
  status extend(std::uint64_t, std::uint64_t) override { return status::no_space; }
  void release(std::uint64_t, std::uint64_t) override {}

 private:
  static constexpr std::uint64_t bytes = 64 << 10;
};

class ReadersGate : public testing::Test {
 protected:
  shown_mapping map_;
  const readers_line& line_ = readers_line_at(map_.base());
  bool banned() const { return line_.sequence % 2 == 1; }
};

TEST_F(ReadersGate, SaysWhoWritesWhenItAdmits) {
  readers_gate gate(map_);
  gate.ban();
  EXPECT_TRUE(banned());
  gate.admit();
  EXPECT_FALSE(banned());
  EXPECT_EQ(line_.writer, static_cast<std::uint64_t>(::getpid()));
  const std::uint64_t sequence = line_.sequence, incarnation = line_.incarnation;
  gate.before_reuse();
  EXPECT_EQ(line_.sequence, sequence + 2);
  gate.leave();
  EXPECT_FALSE(banned());
  EXPECT_EQ(line_.writer, 0u);
  EXPECT_NE(line_.incarnation, incarnation);
}

TEST_F(ReadersGate, AnOpeningThatStoredNothingLeavesTheLineAsItWas) {
  const std::uint64_t before = line_.sequence;
  readers_gate gate(map_);
  gate.ban_while_opening();
  EXPECT_TRUE(banned());
  gate.readmit();
  EXPECT_EQ(line_.sequence, before);
}

TEST_F(ReadersGate, AnOpeningThatEndsAnywhereLetsReadersIn) {
  {
    readers_gate gate(map_);
    gate.ban_while_opening();
  }
  EXPECT_FALSE(banned());
}

/// A device that nobody hears of may still write.
TEST_F(ReadersGate, WhatStaysBannedStaysSoUntilALaterOpeningAdmits) {
  {
    readers_gate gate(map_);
    gate.ban_while_opening();
    gate.keep_banned();
  }
  EXPECT_TRUE(banned());
  {
    readers_gate gate(map_);
    gate.ban_while_opening();
    gate.admit();
    EXPECT_FALSE(banned());
    gate.ban();
    gate.keep_banned();
    gate.leave();
  }
  EXPECT_TRUE(banned());
  readers_gate gate(map_);
  gate.ban_while_opening();
  EXPECT_TRUE(banned());
  gate.keep_banned();
  gate.admit();
  gate.leave();
  EXPECT_FALSE(banned());
}

}  // namespace
}  // namespace durahash::test
