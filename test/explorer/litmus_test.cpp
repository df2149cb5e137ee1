// Small programs whose images after a crash are known by hand: one test per rule of the model
// (docs/explanation/persistence.md, "The model").
#include <array>

#include "explorer/machine.hpp"

namespace durahash::crash {
namespace {

constexpr const char* no_reason = "a test";

/// x and y lie in lines of their own; a and b are neighbours in a third one.
struct CrashLitmus : testing::Test {
  recorded_machine on;
  recording_medium<false>& m = on.medium();
  word &x = on.at(0, 0), &y = on.at(1, 0), &a = on.at(2, 3), &b = on.at(2, 4);

  /// A store of this many words at once.
  void store_words(std::size_t line, std::size_t index, std::size_t count,
                   std::uint64_t value = 1) {
    std::array<std::uint64_t, 24> words;
    words.fill(value);
    store_bytes(m, &on.at(line, index), words.data(), count * sizeof(std::uint64_t));
  }
};

// --------------------------------------------------------------------------------- lines, prefixes

TEST_F(CrashLitmus, NothingStoredLeavesOneImage) { EXPECT_EQ(on.count(), 1u); }

TEST_F(CrashLitmus, LinesAreIndependent) {
  store(m, x, 1);
  store(m, y, 1);
  EXPECT_EQ(on.of({&x, &y}), (outcomes{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
  EXPECT_EQ(on.count(), 4u);
}

TEST_F(CrashLitmus, WhatWasFlushedAndFencedStays) {
  store(m, x, 1);
  store(m, y, 1);
  (void)persist(m, extent_of(x));
  EXPECT_EQ(on.of({&x, &y}), (outcomes{{1, 0}, {1, 1}}));
  EXPECT_EQ(on.count(), 2u);
}

TEST_F(CrashLitmus, OneLineKeepsAPrefix) {
  store(m, a, 1);
  store(m, b, 1);
  EXPECT_EQ(on.of({&a, &b}), (outcomes{{0, 0}, {1, 0}, {1, 1}}));
}

TEST_F(CrashLitmus, OneLineKeepsAPrefixInProgramOrderAndNotByAddress) {
  store(m, b, 1);
  store(m, a, 1);
  EXPECT_EQ(on.of({&a, &b}), (outcomes{{0, 0}, {0, 1}, {1, 1}}));
}

TEST_F(CrashLitmus, OneWordKeepsAnyOfItsValues) {
  store(m, x, 1);
  store(m, x, 2);
  EXPECT_EQ(on.of({&x}), (outcomes{{0}, {1}, {2}}));
  EXPECT_EQ(on.count(), 3u);
}

TEST_F(CrashLitmus, TwoLinesWithTwoStoresEachHaveNineImages) {
  store(m, a, 1), store(m, b, 1);
  store(m, x, 1), store(m, on.at(0, 7), 1);
  EXPECT_EQ(on.count(), 9u);
}

TEST_F(CrashLitmus, EqualImagesCountOnce) {
  store(m, x, 0);  // what is there
  EXPECT_EQ(on.count(), 1u);
  store(m, x, 5);
  store(m, x, 5);
  EXPECT_EQ(on.of({&x}), (outcomes{{0}, {5}}));
  store(m, x, 0);  // back again: nothing new
  EXPECT_EQ(on.count(), 2u);
}

TEST_F(CrashLitmus, SmallStoresShareAWord) {
  auto& low = *reinterpret_cast<pm<std::uint8_t>*>(on.bytes_at(0, 0));
  auto& high = *reinterpret_cast<pm<std::uint32_t>*>(on.bytes_at(0, 4));
  store(m, low, 1);
  store(m, high, 1);
  EXPECT_EQ(on.of({&x}), (outcomes{{0}, {1}, {(1ull << 32) + 1}}));
}

// ------------------------------------------------------------------------------ flushes and fences

TEST_F(CrashLitmus, AFlushAloneBindsNothing) {
  store(m, x, 1);
  (void)flush(m, extent_of(x));
  EXPECT_EQ(on.of({&x}), (outcomes{{0}, {1}}));
}

TEST_F(CrashLitmus, AFenceAloneBindsNothing) {
  store(m, x, 1);
  (void)fence(m, {});
  EXPECT_EQ(on.of({&x}), (outcomes{{0}, {1}}));
}

TEST_F(CrashLitmus, AFlushBeforeTheStoreBindsNothing) {
  (void)flush(m, extent_of(x));
  store(m, x, 1);
  (void)fence(m, {});
  EXPECT_EQ(on.of({&x}), (outcomes{{0}, {1}}));
}

TEST_F(CrashLitmus, AStoreBetweenFlushAndFenceStaysOptional) {
  store(m, a, 1);
  flushed f = flush(m, extent_of(a));
  store(m, b, 1);
  (void)fence(m, std::move(f));
  EXPECT_EQ(on.of({&a, &b}), (outcomes{{1, 0}, {1, 1}}));
}

TEST_F(CrashLitmus, AFlushCoversItsLineAndNoOther) {
  store(m, a, 1);
  store(m, b, 1);
  store(m, x, 1);
  (void)persist(m, extent_of(b));  // a is in that line
  EXPECT_EQ(on.of({&a, &b, &x}), (outcomes{{1, 1, 0}, {1, 1, 1}}));
}

TEST_F(CrashLitmus, AFlushCoversEveryLineItTouches) {
  store(m, on.at(3, 7), 1);
  store(m, on.at(4, 0), 1);
  store(m, on.at(5, 0), 1);
  (void)persist(m, extent{on.bytes_at(3, 63), 2});  // the last byte of one, the first of another
  EXPECT_EQ(on.of({&on.at(3, 7), &on.at(4, 0), &on.at(5, 0)}), (outcomes{{1, 1, 0}, {1, 1, 1}}));
}

TEST_F(CrashLitmus, OneFenceBindsAllFlushesBeforeIt) {
  store(m, x, 1);
  flushed f = flush(m, extent_of(x));
  store(m, y, 1);
  f += flush(m, extent_of(y));
  (void)fence(m, std::move(f));
  EXPECT_EQ(on.of({&x, &y}), (outcomes{{1, 1}}));
}

TEST_F(CrashLitmus, TheSecondFlushOfALineBindsWhatCameBetween) {
  store(m, a, 1);
  flushed f = flush(m, extent_of(a));
  store(m, b, 1);
  f += flush(m, extent_of(b));
  store(m, a, 2);
  (void)fence(m, std::move(f));
  EXPECT_EQ(on.of({&a, &b}), (outcomes{{1, 1}, {2, 1}}));
}

TEST_F(CrashLitmus, AFenceBindsAFlushOnce) {
  store(m, x, 1);
  (void)persist(m, extent_of(x));
  store(m, x, 2);
  (void)fence(m, {});  // the flush before it is spent
  EXPECT_EQ(on.of({&x}), (outcomes{{1}, {2}}));
}

TEST_F(CrashLitmus, AFlushThatIsFencedLateBindsNoMoreThanItSaw) {
  on.as(1);
  store(m, x, 1);
  flushed early = flush(m, extent_of(x));
  on.as(0);
  store(m, x, 2);
  (void)persist(m, extent_of(x));
  store(m, x, 3);
  on.as(1);
  (void)fence(m, std::move(early));  // nor does it undo what another thread made durable
  EXPECT_EQ(on.of({&x}), (outcomes{{2}, {3}}));
}

// ----------------------------------------------------------------------------------------- threads

TEST_F(CrashLitmus, TheFenceOfAnotherThreadDoesNotBind) {
  on.as(0);
  store(m, x, 1);
  flushed f = flush(m, extent_of(x));
  on.as(1);
  (void)fence(m, {});
  EXPECT_EQ(on.of({&x}), (outcomes{{0}, {1}}));
  on.as(0);
  (void)fence(m, std::move(f));
  EXPECT_EQ(on.of({&x}), (outcomes{{1}}));
}

TEST_F(CrashLitmus, AThreadPersistsWhatAnotherOneStored) {
  on.as(0);
  store(m, x, 1);
  on.as(1);
  (void)persist(m, extent_of(x));
  EXPECT_EQ(on.of({&x}), (outcomes{{1}}));
}

TEST_F(CrashLitmus, ADeadThreadFencesNothing) {
  store(m, x, 1);
  (void)flush(m, extent_of(x));
  cache_model model = on.model();
  model.forget_flushes();
  model.apply({.kind = event::what::fence}, on.sources());
  EXPECT_EQ(all_images(model).size(), 2u);
}

// ----------------------------------------------------------------------------- locked instructions

TEST_F(CrashLitmus, ALockedExchangeBindsTheFlushesBeforeItAndNotItself) {
  store(m, x, 1);
  (void)flush(m, extent_of(x));
  EXPECT_TRUE(m.exchange_if(y.raw(), std::uint64_t{0}, std::uint64_t{1}));
  EXPECT_EQ(on.of({&x, &y}), (outcomes{{1, 0}, {1, 1}}));
}

TEST_F(CrashLitmus, ALockedExchangeThatFailsBindsTooAndStoresNothing) {
  store(m, x, 1);
  (void)flush(m, extent_of(x));
  EXPECT_FALSE(m.exchange_if(y.raw(), std::uint64_t{7}, std::uint64_t{1}));
  EXPECT_EQ(on.of({&x, &y}), (outcomes{{1, 0}}));
}

TEST_F(CrashLitmus, ALockedExchangeIsOneOfItsLinesStores) {
  store(m, a, 1);
  EXPECT_TRUE(m.exchange_if(b.raw(), std::uint64_t{0}, std::uint64_t{1}));
  EXPECT_EQ(on.of({&a, &b}), (outcomes{{0, 0}, {1, 0}, {1, 1}}));
}

TEST_F(CrashLitmus, ALockedExchangeOfAnotherThreadDoesNotBind) {
  on.as(0);
  store(m, x, 1);
  (void)flush(m, extent_of(x));
  on.as(1);
  EXPECT_TRUE(m.exchange_if(y.raw(), std::uint64_t{0}, std::uint64_t{1}));
  EXPECT_EQ(on.count(), 4u);
}

// ------------------------------------------------------------------------------------- wide stores

TEST_F(CrashLitmus, TheWordsOfAWideStoreComeInAnyOrder) {
  for (std::size_t k = 1; k <= 8; ++k) {
    recorded_machine fresh;
    std::array<std::uint64_t, 8> words;
    words.fill(1);
    store_bytes(fresh.medium(), &fresh.at(0, 0), words.data(), k * sizeof(std::uint64_t));
    EXPECT_EQ(fresh.count(), std::size_t{1} << k) << k << " words";
  }
}

TEST_F(CrashLitmus, AWideStoreAcrossLinesIsTornAnywhere) {
  store_words(3, 6, 4);  // two words in each of two lines
  EXPECT_EQ(on.count(), 16u);
}

TEST_F(CrashLitmus, AWideStoreIsOneStepOfItsLine) {
  store(m, a, 7);
  store_words(2, 5, 2);
  store(m, b, 9);
  // nothing; a; a and any part of the two words; all three
  EXPECT_EQ(
      on.of({&a, &on.at(2, 5), &on.at(2, 6), &b}),
      (outcomes{
          {0, 0, 0, 0}, {7, 0, 0, 0}, {7, 1, 0, 0}, {7, 0, 1, 0}, {7, 1, 1, 0}, {7, 1, 1, 9}}));
}

TEST_F(CrashLitmus, TwoWideStoresOfOneLineComeOneAfterTheOther) {
  store_words(0, 0, 2, 1);
  store_words(0, 0, 2, 2);
  EXPECT_EQ(on.of({&x, &on.at(0, 1)}),
            (outcomes{{0, 0}, {1, 0}, {0, 1}, {1, 1}, {2, 1}, {1, 2}, {2, 2}}));
}

TEST_F(CrashLitmus, AWideStoreIsTornAtWordsAndNotAtBytes) {
  const std::array<unsigned char, 20> ones = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                              1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  store_bytes(m, on.bytes_at(0, 5), ones.data(), ones.size());  // bytes 5-7, 8-15, 16-23, 24
  EXPECT_EQ(on.count(), 16u);
  std::uint64_t tail = 0x0101010000000000, whole = 0x0101010101010101;
  for (const std::vector<std::uint64_t>& words :
       on.of({&x, &on.at(0, 1), &on.at(0, 2), &on.at(0, 3), &on.at(0, 4)})) {
    EXPECT_TRUE(words[0] == 0 || words[0] == tail);
    EXPECT_TRUE(words[1] == 0 || words[1] == whole);
    EXPECT_TRUE(words[2] == 0 || words[2] == whole);
    EXPECT_LE(words[3], 1u);
    EXPECT_EQ(words[4], 0u);
  }
}

TEST_F(CrashLitmus, AFlushOfAWideStoreBindsAllOfALine) {
  store_words(3, 6, 4);
  (void)persist(m, extent_of(on.at(3, 7)));
  EXPECT_EQ(on.of({&on.at(3, 6), &on.at(3, 7), &on.at(4, 0), &on.at(4, 1)}),
            (outcomes{{1, 1, 0, 0}, {1, 1, 1, 0}, {1, 1, 0, 1}, {1, 1, 1, 1}}));
}

TEST_F(CrashLitmus, AWideStoreOfNothingIsNothing) {
  store_bytes(m, &x, &x, 0);
  EXPECT_TRUE(on.events().empty());
}

// ----------------------------------------------------------------------------------- commit points

TEST_F(CrashLitmus, ACommitNeverComesWithoutItsPersistedPayload) {
  store_words(4, 0, 8, 5);
  durable payload = persist(m, extent{&on.at(4, 0), line_bytes});
  flushed f = publish_unfenced(m, x, 1, after(std::move(payload)));
  EXPECT_EQ(on.of({&on.at(4, 0), &on.at(4, 7), &x}), (outcomes{{5, 5, 0}, {5, 5, 1}}));
  (void)fence(m, std::move(f));
  EXPECT_EQ(on.of({&on.at(4, 0), &on.at(4, 7), &x}), (outcomes{{5, 5, 1}}));
}

TEST_F(CrashLitmus, ACommitMayComeWithoutAPayloadThatWasNotFenced) {
  store(m, y, 5);
  flushed f = flush(m, extent_of(y));
  (void)publish_unfenced(m, x, 1, after_nothing(no_reason));
  EXPECT_TRUE(on.of({&y, &x}).contains({0, 1})) << "that is what the fence is for";
  (void)fence(m, std::move(f));
  EXPECT_EQ(on.count(), 1u);
}

TEST_F(CrashLitmus, InOneLineTheCommitNeedsNoFenceBeforeIt) {
  store(m, a, 5);
  (void)publish(m, b, 1, after_same_line(&b, &a, sizeof a));
  EXPECT_EQ(on.of({&a, &b}), (outcomes{{5, 1}}));
  on.as(1);
  store(m, a, 6);
  (void)publish_unfenced(m, b, 2, after_same_line(&b, &a, sizeof a));
  EXPECT_EQ(on.of({&a, &b}), (outcomes{{5, 1}, {6, 1}, {6, 2}}));
}

TEST_F(CrashLitmus, InOneLineTheCommitComesAfterEveryPartOfAWidePayload) {
  store_words(2, 0, 2, 5);
  (void)publish_unfenced(m, b, 1, after_same_line(&b, &on.at(2, 0), 16));
  EXPECT_EQ(on.of({&on.at(2, 0), &on.at(2, 1), &b}),
            (outcomes{{0, 0, 0}, {5, 0, 0}, {0, 5, 0}, {5, 5, 0}, {5, 5, 1}}));
}

TEST_F(CrashLitmus, AConditionalCommitIsDurableOnReturn) {
  store(m, a, 5);
  EXPECT_TRUE(publish_if(m, b, 0, 1, after_same_line(&b, &a, sizeof a)));
  EXPECT_EQ(on.of({&a, &b}), (outcomes{{5, 1}}));
}

// ------------------------------------------------------------------------------- the file's length

TEST_F(CrashLitmus, ANewLengthIsDurableAtOnce) {
  store(m, x, 1);
  on.listener().length(10 * line_bytes);
  for (const image_bytes& i : on.images()) EXPECT_EQ(i.size(), 10 * line_bytes);
  EXPECT_EQ(on.count(), 2u);
  on.listener().length(4 * line_bytes);
  for (const image_bytes& i : on.images()) EXPECT_EQ(i.size(), 4 * line_bytes);
  EXPECT_EQ(on.count(), 2u);
}

TEST_F(CrashLitmus, StoresBehindTheNewEndAreGone) {
  store(m, on.at(6, 0), 1);
  store(m, x, 1);
  on.listener().length(4 * line_bytes);
  EXPECT_EQ(on.of({&x}), (outcomes{{0}, {1}}));
  on.listener().length(8 * line_bytes);
  for (const image_bytes& i : on.images())
    EXPECT_EQ(i[6 * line_bytes], '\xDB') << "new bytes are not the old ones, nor zeros";
}

TEST_F(CrashLitmus, AFlushFromBeforeACutDoesNotBindWhatIsStoredAfterIt) {
  word& cut = on.at(6, 0);
  store(m, cut, 1);
  store(m, cut, 2);
  flushed f = flush(m, extent_of(cut));
  on.listener().length(4 * line_bytes);
  on.listener().length(8 * line_bytes);
  store(m, cut, 3);
  (void)fence(m, std::move(f));
  EXPECT_EQ(on.of({&cut}), (outcomes{{0xDBDBDBDBDBDBDBDB}, {3}}));
}

TEST(CrashRegion, NewBytesOfAMappingHoldGarbageAndLengthsAreTold) {
  region r;
  std::vector<std::uint64_t> told;
  auto mapped = r.map([&](std::uint64_t length) { told.push_back(length); });
  ASSERT_EQ(mapped->grow(2 * page_bytes), status::ok);
  mapped->shrink(page_bytes);
  EXPECT_EQ(told, (std::vector<std::uint64_t>{2 * page_bytes, page_bytes}));
  EXPECT_EQ(r.length(), page_bytes);
  EXPECT_EQ(r.base()[0], std::byte{0xDB});
}

// ----------------------------------------------------------------------------- all that is visible

TEST_F(CrashLitmus, TheLargestImageIsAllThatIsVisible) {
  store(m, x, 1);
  store(m, x, 0);  // back to what is durable, by way of something else
  store(m, a, 1);
  store(m, b, 1);
  store_words(4, 0, 8, 3);
  cache_model model = on.model();
  bytes largest = model.durable();
  for (auto& [line, pending] : model.pending()) {
    model.options_of(line, pending, 64);
    std::memcpy(&largest[line * line_bytes], pending.options[pending.all].content.data(),
                line_bytes);
  }
  EXPECT_EQ(largest, on.memory().copy());
  EXPECT_EQ(largest, model.visible());
}

}  // namespace
}  // namespace durahash::crash
