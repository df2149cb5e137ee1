// Lines written back and fences of single operations, counted by the medium `emulated`, against
// what the steps of each design give by hand.
#include <gtest/gtest.h>

#include <functional>

#include "bench/baselines/level_load_factor.hpp"
#include "bench/baselines/registry.hpp"

namespace durahash::baselines {
namespace {

struct cost {
  std::uint64_t lines, fences;
  bool operator==(const cost&) const = default;
};
std::ostream& operator<<(std::ostream& to, const cost& c) {
  return to << c.lines << " lines, " << c.fences << " fences";
}
cost operator*(std::uint64_t times, cost c) { return {times * c.lines, times * c.fences}; }

/// Of tables with room: no growth, nothing displaced.
struct expected_costs {
  cost insert, update, erase;
  cost first_get = {0, 0};
};

constexpr std::uint64_t records = 200, room = 16384;

cost counted(table& t, const std::function<void()>& work) {
  media_counts before = t.counts();
  work();
  media_counts after = t.counts();
  return {after.flushes - before.flushes, after.fences - before.fences};
}

double figure(const table& t, std::string_view name) {
  for (const auto& [known, value] : t.figures())
    if (known == name) return value;
  ADD_FAILURE() << name;
  return 0;
}

void expect_costs(std::string_view name, const expected_costs& expected) {
  SCOPED_TRACE(name);
  request wanted;
  wanted.capacity = room;
  std::unique_ptr<table> t = std::move(*baseline_of(name)->make(wanted));
  auto each = [&](auto&& operation) {
    return counted(*t, [&] {
      for (std::uint64_t k = 1; k <= records; ++k) ASSERT_EQ(operation(k), status::ok);
    });
  };
  std::uint64_t found;
  EXPECT_EQ(each([&](std::uint64_t k) { return t->insert(k, k); }), records * expected.insert);
  EXPECT_EQ(each([&](std::uint64_t k) { return t->get(k, found); }), records * expected.first_get);
  EXPECT_EQ(each([&](std::uint64_t k) { return t->get(k, found); }), records * (cost{0, 0}));
  EXPECT_EQ(each([&](std::uint64_t k) { return t->update(k, k + 1); }), records * expected.update);
  EXPECT_EQ(each([&](std::uint64_t k) { return t->erase(k); }), records * expected.erase);
  EXPECT_EQ(figure(*t, "grows"), 0);
  EXPECT_EQ(figure(*t, "displacements"), 0);
}

// Key and value share a line, the key's word commits.
TEST(BaselineCost, LinearProbingWritesOneLineForAnything) {
  expect_costs("linear-probing", {{1, 1}, {1, 1}, {1, 1}});
}

// The new array line by line; six words of the root, one after the other.
TEST(BaselineCost, LinearProbingWritesItsArrayAndSixWordsToGrow) {
  request wanted;
  wanted.capacity = 64;
  std::unique_ptr<table> t = std::move(*baseline_of("linear-probing")->make(wanted));
  std::uint64_t k = 1;
  for (; k <= 61; ++k) ASSERT_EQ(t->insert(k, k), status::ok);  // 61 of 64 are 95 %
  ASSERT_EQ(t->slots(), 64u);
  constexpr std::uint64_t new_lines = 128 * 16 / 64;
  EXPECT_EQ(counted(*t, [&] { ASSERT_EQ(t->insert(k, k), status::ok); }),
            (cost{new_lines + 6 + 1, 1 + 6 + 1}));
  EXPECT_EQ(t->slots(), 128u);
  EXPECT_EQ(figure(*t, "records_moved"), 61);
}

// The item, then its token. An update: the log's entry, its flag, the value, the flag again.
constexpr expected_costs with_tokens{{2, 2}, {4, 4}, {1, 1}};

TEST(BaselineCost, TokenTablesWriteItemAndTokenAndLogTheirUpdates) {
  expect_costs("bucketized-cuckoo", with_tokens);
  expect_costs("pfht", with_tokens);
  expect_costs("path-hashing", with_tokens);
}

TEST(BaselineCost, ExtendibleHashingWritesOneLineForAnything) {
  expect_costs("extendible-lsb", {{1, 1}, {1, 1}, {1, 1}});
}

// The block and its header, the depth; the old directory, three words of the root.
TEST(BaselineCost, ExtendibleHashingWritesItsBlockAndItsDirectoryToDouble) {
  request wanted;
  wanted.capacity = 16;
  std::unique_ptr<table> t = std::move(*baseline_of("extendible-lsb")->make(wanted));
  for (std::uint64_t k = 1; k <= 16; ++k) ASSERT_EQ(t->insert(k, k), status::ok);
  EXPECT_EQ(counted(*t, [&] { ASSERT_EQ(t->insert(17, 17), status::ok); }),
            (cost{5 + 1 + 1 + 3 + 1, 1 + 1 + 1 + 3 + 1}));
  EXPECT_EQ(figure(*t, "grows"), 1);
}

// CCEH §6.1: about 3.5 lines with blocks of 256 bytes.
TEST(BaselineSplitsPaper, OfExtendibleHashingCostTwoToFourLinesAnInsertion) {
  std::unique_ptr<table> t = std::move(*baseline_of("extendible-lsb")->make({}));
  constexpr std::uint64_t many = 200'000;
  cost found = counted(*t, [&] {
    for (std::uint64_t k = 1; k <= many; ++k) ASSERT_EQ(t->insert(k, k), status::ok);
  });
  double lines = static_cast<double>(found.lines) / static_cast<double>(many);
  std::printf("extendible-lsb: %.2f lines an insertion\n", lines);
  EXPECT_GT(lines, 1.5);
  EXPECT_LT(lines, 4.5);
}

// The value's line, the key's line: the same one, twice. What changes one word fences before, too.
TEST(BaselineCost, PClhtWritesItsLineTwice) { expect_costs("p-clht", {{2, 2}, {1, 2}, {1, 2}}); }

/// Of the insertion that makes the table grow for the first time.
cost cost_of_first_growth(table& t) {
  for (std::uint64_t k = 1;; ++k) {
    cost one = counted(t, [&] { ASSERT_EQ(t.insert(k, k), status::ok); });
    if (figure(t, "grows") != 0) return one;
  }
}

// Value and key share a line, the key commits.
TEST(BaselineCost, CcehAsPublishedWritesOneLineForAnything) {
  expect_costs("cceh-in-place", {{1, 1}, {1, 1}, {1, 1}});
  expect_costs("cceh-copying", {{1, 1}, {1, 1}, {1, 1}});
}

// A segment is 256 lines and that of its depth. The new ones; the new directory's entries; the
// root's word; in place the old one's depth. The words of the new directory are never written back.
TEST(BaselineCost, CcehAsPublishedWritesItsSegmentsAndEntriesToDouble) {
  constexpr std::uint64_t segment = 256 + 1;
  std::unique_ptr<table> in_place = std::move(*baseline_of("cceh-in-place")->make({}));
  EXPECT_EQ(cost_of_first_growth(*in_place), (cost{segment + 1 + 1 + 1 + 1, 1 + 1 + 1 + 1 + 1}));
  std::unique_ptr<table> copying = std::move(*baseline_of("cceh-copying")->make({}));
  EXPECT_EQ(cost_of_first_growth(*copying), (cost{2 * segment + 1 + 1 + 1, 1 + 1 + 1 + 1}));
}

// As published the meta word's line alone is written back; mended, the slot's, too.
TEST(BaselineCost, TurboHashAsPublishedWritesOneLineForAnything) {
  expect_costs("turbo-published", {{1, 1}, {1, 1}, {1, 1}});
}

// Two buckets in place of one, each of four lines; the descriptor's place, then its version.
TEST(BaselineCost, TurboHashAsPublishedWritesTwiceTheBucketsToGrow) {
  request wanted;
  wanted.capacity = 16;
  std::unique_ptr<table> t = std::move(*baseline_of("turbo-published")->make(wanted));
  EXPECT_EQ(cost_of_first_growth(*t), (cost{2 * 4 + 1 + 1 + 1, 1 + 1 + 1 + 1}));
  EXPECT_EQ(figure(*t, "records_moved"), 13);
}

// Slots 0 and 1 share the tokens' line. An update takes slot 1, and sets two tokens in one word.
TEST(BaselineCost, LevelAsItsPaperHasItWritesOneLineInRoomyBuckets) {
  expect_costs("level-paper", {{1, 1}, {1, 1}, {1, 1}});
}

// 24 slots: 8 buckets above of two lines. The state, the interim level's word and its lines. For
// each item the copy and the old token. Three words of the root in a line, and two words more.
TEST(BaselineCost, LevelAsItsPaperHasItWritesEachItemOfTheBottomToGrow) {
  request wanted;
  wanted.capacity = 24;
  std::unique_ptr<table> t = std::move(*baseline_of("level-paper")->make(wanted));
  std::uint64_t k = 1;
  while (figure(*t, "grows") == 0) {
    const auto moved_before = figure(*t, "displacements");
    cost found = counted(*t, [&] { ASSERT_EQ(t->insert(k, k), status::ok); });
    ++k;
    if (figure(*t, "grows") == 0) continue;
    const auto rehashed = static_cast<std::uint64_t>(figure(*t, "records_moved"));
    ASSERT_EQ(figure(*t, "displacements"), moved_before);
    EXPECT_GT(rehashed, 3u);
    // The first two items of a bucket are written with their token, others before it. So are those
    // of the insertion.
    const std::uint64_t fixed = 1 + 16 + 1 + 1 + 2, fences = 1 + 1 + 1 + 1 + 2;
    EXPECT_GE(found.lines, fixed + 2 * rehashed + 1);
    EXPECT_LE(found.lines, fixed + 3 * rehashed + 2);
    EXPECT_EQ(found.lines - fixed, found.fences - fences);
  }
  EXPECT_EQ(figure(*t, "grows"), 1);
}

// Level figure 2: each decision fills more, and all of them over 90 %.
TEST(BaselineLoadFactorPaper, RisesWithEachOfLevelsDecisions) {
  double last = 0;
  for (const auto& [name, full] : level_load_factors(1 << 16, 1)) {
    std::printf("%s: %.3f\n", name.c_str(), full);
    EXPECT_GT(full, last) << name;
    last = full;
  }
  EXPECT_GT(last, 0.9);
}

// The record, then the line of its bucket that has the bitmap.
TEST(BaselineCost, DashWritesTheRecordAndTheBitmap) {
  expect_costs("dash-eh", {{2, 2}, {1, 1}, {1, 1}});
}

// A segment is 66 buckets of four lines and that of its state. Old state; new segment, when it is
// made; the old one's link; new state; the new segment with what moved, the old one without. Then
// the new directory, and a transaction of two words: entries, begin, words, end. Both states.
TEST(BaselineCost, DashWritesThreeSegmentsAndATransactionToDouble) {
  constexpr std::uint64_t segment = 66 * 4 + 1, transaction = 1 + 1 + 2 + 1;
  request wanted;
  wanted.capacity = 64 * 14;
  std::unique_ptr<table> t = std::move(*baseline_of("dash-eh")->make(wanted));
  EXPECT_EQ(cost_of_first_growth(*t),
            (cost{1 + segment + 1 + 1 + 2 * segment + 1 + transaction + 2 + 2,
                  1 + 1 + 1 + 1 + 2 + 1 + 4 + 2 + 2}));
}

// A record that makes way: the copy and its bitmap, then the new record and its bitmap.
TEST(BaselineCost, EachDisplacementOfDashWritesTwoLinesMore) {
  request wanted;
  wanted.capacity = 64 * 14;
  std::unique_ptr<table> t = std::move(*baseline_of("dash-eh")->make(wanted));
  constexpr std::uint64_t many = 760;
  cost found = counted(*t, [&] {
    for (std::uint64_t k = 1; k <= many; ++k) ASSERT_EQ(t->insert(k, k), status::ok);
  });
  const auto moved = static_cast<std::uint64_t>(figure(*t, "displacements"));
  EXPECT_GT(moved, 3u);
  EXPECT_EQ(figure(*t, "grows"), 0);
  EXPECT_EQ(found, (cost{2 * many + 2 * moved, 2 * many + 2 * moved}));
}

// The item; the word of the context, as published; the slot.
TEST(BaselineCost, ClevelWritesItemContextAndSlot) {
  expect_costs("clevel", {{3, 3}, {3, 3}, {1, 1}});
}

// Eight buckets and the words of a level, its link, a context and the root's word. The insertion.
// Then the items of a bucket move: the new word, the old one, and the cursor.
TEST(BaselineCost, ClevelWritesALevelAndMovesABucketToGrow) {
  request wanted;
  wanted.capacity = 48;
  std::unique_ptr<table> t = std::move(*baseline_of("clevel")->make(wanted));
  cost found = cost_of_first_growth(*t);
  const auto moved = static_cast<std::uint64_t>(figure(*t, "records_moved"));
  EXPECT_GT(moved, 0u);
  EXPECT_EQ(found, (cost{8 + 1 + 1 + 2 + 3 + 2 * moved + 1, 1 + 1 + 2 + 3 + 2 * moved + 1}));
}

// The item; the slot's word. Who reads it first writes it back once more.
TEST(BaselineCost, SephWritesItemAndSlotAndItsFirstReaderTheSlotAgain) {
  expect_costs("seph", {{2, 2}, {2, 2}, {1, 1}, {1, 1}});
}

// Half a bottom's 64 buckets of four lines, marked as copied; two new tops; the new directory and
// the root's word; two entries. The insertion.
TEST(BaselineCost, SephWritesTwoTopsAndMarksAThirdToDouble) {
  constexpr std::uint64_t segment = 64 * 4;
  std::unique_ptr<table> t = std::move(*baseline_of("seph")->make({}));
  EXPECT_EQ(cost_of_first_growth(*t),
            (cost{segment / 2 + 2 * segment + 1 + 1 + 1 + 2, 32 + 1 + 1 + 1 + 1 + 2}));
}

// A movement is an insertion and a deletion: the copy, its token, the old token.
TEST(BaselineCost, EachMovementOfACuckooTableWritesThreeLinesMore) {
  request wanted;
  wanted.capacity = 4096;
  for (std::string_view name : {"bucketized-cuckoo", "pfht"}) {
    std::unique_ptr<table> t = std::move(*baseline_of(name)->make(wanted));
    constexpr std::uint64_t many = 3700;  // 90 %
    cost found = counted(*t, [&] {
      for (std::uint64_t k = 1; k <= many; ++k) ASSERT_EQ(t->insert(k, k), status::ok);
    });
    auto moved = static_cast<std::uint64_t>(figure(*t, "displacements"));
    EXPECT_GT(moved, 20u) << name;
    EXPECT_EQ(figure(*t, "grows"), 0) << name;
    EXPECT_EQ(found, (cost{2 * many + 3 * moved, 2 * many + 3 * moved})) << name;
  }
}

// Level figure 8: over 90 % for all; 94.2 % for path hashing.
TEST(BaselineLoadFactorPaper, IsOverNinetyPercentBeforeTheFirstGrowth) {
  request wanted;
  wanted.capacity = 1 << 16;
  for (std::string_view name : {"bucketized-cuckoo", "pfht", "path-hashing"}) {
    std::unique_ptr<table> t = std::move(*baseline_of(name)->make(wanted));
    double peak = 0;
    for (std::uint64_t k = 1; figure(*t, "grows") == 0; ++k) {
      peak = t->load_factor();
      ASSERT_EQ(t->insert(k, k), status::ok);
    }
    std::printf("%s: %.3f\n", std::string(name).c_str(), peak);
    EXPECT_GT(peak, 0.90) << name;
  }
}

}  // namespace
}  // namespace durahash::baselines
