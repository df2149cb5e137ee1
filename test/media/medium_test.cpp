// What the media do with the same stores: count them, tell them, execute them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "media/cache_line.hpp"
#include "media/emulated_medium.hpp"
#include "media/pmem_medium.hpp"
#include "media/process_medium.hpp"
#include "media/recording_medium.hpp"

namespace durahash::test {
namespace {

struct alignas(block_bytes) block {
  std::byte bytes[block_bytes];
};

TEST(CacheLine, EveryLineThatARangeTouchesIsVisitedOnce) {
  alignas(64) std::byte area[256];
  auto lines = [&](std::size_t at, std::size_t bytes) {
    std::vector<std::ptrdiff_t> seen;
    for_each_line(area + at, bytes, [&](const void* line) {
      seen.push_back(static_cast<const std::byte*>(line) - area);
    });
    return seen;
  };
  EXPECT_EQ(lines(0, 1), (std::vector<std::ptrdiff_t>{0}));
  EXPECT_EQ(lines(63, 2), (std::vector<std::ptrdiff_t>{0, 64}));
  EXPECT_EQ(lines(64, 128), (std::vector<std::ptrdiff_t>{64, 128}));
}

// Short lines: the emulator of aarch64 has lines of 32 bytes, and its first pool on persistent
// memory ended the program.
TEST(CacheLine, WritingBackChangesNoByte) {
  const flush_instruction best = best_flush_instruction();
  ASSERT_NE(best, flush_instruction::none) << "every processor has one";
#if defined(__x86_64__)
  constexpr flush_instruction of_all[] = {flush_instruction::clflush};
#else
  constexpr flush_instruction of_all[] = {flush_instruction::civac, flush_instruction::short_civac};
#endif
  block b;
  for (std::size_t i = 0; i < block_bytes; ++i) b.bytes[i] = static_cast<std::byte>(i);
  for (flush_instruction each : of_all) write_back(each, &b);
  write_back(best, &b);
  write_back(best, &b.bytes[100]);
  store_fence();
  for (std::size_t i = 0; i < block_bytes; ++i) EXPECT_EQ(b.bytes[i], static_cast<std::byte>(i));
}

TEST(EmulatedMedium, CountsLinesFencesAndBlocks) {
  emulated_medium m({});
  std::vector<block> blocks(20);
  m.flush(&blocks[0], 1);
  m.flush(&blocks[0].bytes[64], 64);
  m.fence();
  media_counts counted = m.counts();
  EXPECT_EQ(counted.flushes, 2u);
  EXPECT_EQ(counted.fences, 1u);
  EXPECT_EQ(counted.media_write_blocks, 1u) << "two lines of a block are written together";
  m.flush(&blocks[1].bytes[32], 64);
  EXPECT_EQ(m.counts().flushes, 4u) << "a range that crosses a line has two";
  for (block& b : blocks) m.flush(&b, 1);
  EXPECT_EQ(m.counts().media_write_blocks, 20u) << "eight blocks combine: both are still near";
  m.flush(&blocks[0], 1);
  EXPECT_EQ(m.counts().media_write_blocks, 21u) << "the first has left long ago";
}

TEST(EmulatedMedium, ReadsComeThroughABufferOfEightBlocks) {
  emulated_medium m({});
  std::vector<block> blocks(9);
  for (int round = 0; round < 3; ++round)
    for (int i = 0; i < 8; ++i) m.will_read(&blocks[static_cast<std::size_t>(i)], 8);
  EXPECT_EQ(m.counts().media_read_blocks, 8u);
  m.will_read(&blocks[8], 8);
  m.will_read(&blocks[0], 8);
  EXPECT_EQ(m.counts().media_read_blocks, 10u) << "the ninth has pushed the first out";
  m.will_read(&blocks[0].bytes[255], 2);
  EXPECT_EQ(m.counts().media_read_blocks, 11u) << "two blocks, of which the second is not near";
  m.will_read(&blocks[0], 0);
  EXPECT_EQ(m.counts().media_read_blocks, 11u);
}

TEST(EmulatedMedium, CountsOfAllThreadsAreOne) {
  emulated_medium m({});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      block own;
      for (int i = 0; i < 1000; ++i) m.flush(&own, 1), m.fence();
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(m.counts().flushes, 4000u);
  EXPECT_EQ(m.counts().fences, 4000u);
  emulated_medium another({});
  EXPECT_EQ(another.counts().flushes, 0u) << "each medium counts its own";
}

/// Notes what it is told.
struct listener final : recorder {
  std::vector<std::string> told;
  void say(std::string what, std::size_t bytes) { told.push_back(what + std::to_string(bytes)); }
  void entering(verb, const site& where) override { told.push_back(where.name()); }
  void reading(const void*, std::size_t bytes) override { say("read ", bytes); }
  void before_change() override { told.push_back("before"); }
  void stored(const void*, std::size_t bytes) override { say("store ", bytes); }
  void stored_bytes(const void*, std::size_t bytes) override { say("bytes ", bytes); }
  void exchanged(const void*, std::size_t bytes, bool done) override {
    say(done ? "exchange " : "no exchange ", bytes);
  }
  void flushed(const void*, std::size_t bytes) override { say("flush ", bytes); }
  void fenced() override { told.push_back("fence"); }
};

TEST(ProcessMedium, WritesAsManyBytesAsItIsGiven) {
  process_medium m;
  for (std::size_t length = 0; length <= 40; ++length) {
    std::string from(length, '\0'), to(length + 2, '.');
    for (std::size_t i = 0; i < length; ++i) from[i] = static_cast<char>('a' + i % 26);
    m.write_bytes(to.data() + 1, from.data(), length);
    EXPECT_EQ(to, "." + from + ".");
  }
}

TEST(RecordingMedium, TellsEveryStepAfterAskingForIt) {
  listener heard;
  recording_medium<false> m(heard);
  std::uint64_t word = 1;
  m.write(&word, std::uint64_t{2});
  EXPECT_EQ(m.read(&word), 2u);
  EXPECT_TRUE(m.exchange_if(&word, std::uint64_t{2}, std::uint64_t{3}));
  EXPECT_FALSE(m.exchange_if(&word, std::uint64_t{2}, std::uint64_t{4}));
  m.write_bytes(&word, "durahash", 8);
  m.write_bytes(&word, "", 0);
  m.flush(&word, 8);
  m.fence();
  EXPECT_EQ(heard.told,
            (std::vector<std::string>{"before", "store 8", "read 8", "before", "exchange 8",
                                      "before", "no exchange 8", "before", "bytes 8", "before",
                                      "flush 8", "before", "fence"}));
  EXPECT_EQ(std::memcmp(&word, "durahash", 8), 0) << "and does it";
}

TEST(RecordingMedium, HasABugWhenOneIsPlanted) {
  EXPECT_FALSE(recording_medium<true>::planted("a-bug-of-this-test"));
  planted_mutant = mutant::id_of("a-bug-of-this-test");
  EXPECT_TRUE(recording_medium<true>::planted("a-bug-of-this-test"));
  EXPECT_FALSE(recording_medium<true>::planted("another-bug-of-this-test"));
  planted_mutant = 0;
  static_assert(!process_medium::planted("a-bug-of-this-test"), "shipped media have none");
  static_assert(!pmem_medium::planted("a-bug-of-this-test"));
}

TEST(Media, SayWhichStoresACrashCannotUndo) {
  static_assert(process_medium::visible_is_durable);
  static_assert(!pmem_medium::visible_is_durable && !emulated_medium::visible_is_durable);
  EXPECT_EQ(process_medium().counts().flushes, 0u);
}

}  // namespace
}  // namespace durahash::test
