#include "bench/operations.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

namespace durahash::bench {
namespace {

constexpr std::uint64_t records = 2000, seed = 5;

drawing asked(workload_kind workload, std::uint64_t ops, unsigned threads) {
  return {workload, traits_of(workload).distribution, 0.99, records, ops, threads, seed};
}

std::set<std::uint64_t> loaded_keys() {
  std::set<std::uint64_t> keys;
  for (std::uint64_t i = 0; i < records; ++i) keys.insert(key_space(seed).key(i));
  return keys;
}

TEST(Operations, KeysOfALoadAreDistinctAndSharedOutWhole) {
  std::set<std::uint64_t> seen;
  for (unsigned t = 0; t < 3; ++t)
    for (std::uint64_t key : draw(asked(workload_kind::insert, records, 3), t).keys)
      EXPECT_TRUE(seen.insert(key).second);
  EXPECT_EQ(seen, loaded_keys());
}

TEST(Operations, NegativeKeysAreNeverPresent) {
  std::unordered_set<std::uint64_t> present;
  constexpr std::uint64_t many = 200'000;
  for (std::uint64_t i = 0; i < many; ++i) {
    present.insert(key_space(seed).key(i));
    present.insert(key_space(seed).key(key_space::fresh + i));
  }
  EXPECT_EQ(present.size(), 2 * many);
  drawing what = asked(workload_kind::negative, many, 1);
  what.records = many;
  for (distribution_kind kind : {distribution_kind::uniform, distribution_kind::zipfian}) {
    what.distribution = kind;
    operations drawn = draw(what, 0);
    EXPECT_EQ(drawn.keys.size(), many);
    for (std::uint64_t key : drawn.keys) ASSERT_FALSE(present.contains(key));
  }
}

TEST(Operations, PositiveUpdateAndMixesAskForLoadedKeysOnly) {
  std::set<std::uint64_t> loaded = loaded_keys();
  for (workload_kind workload :
       {workload_kind::positive, workload_kind::update, workload_kind::ycsb_a,
        workload_kind::ycsb_b, workload_kind::ycsb_c, workload_kind::ycsb_f, workload_kind::dlrm,
        workload_kind::pagerank})
    for (std::uint64_t key : draw(asked(workload, 5000, 1), 0).keys)
      ASSERT_TRUE(loaded.contains(key));
}

TEST(Operations, EraseTakesEachLoadedKeyOnce) {
  std::set<std::uint64_t> erased;
  for (unsigned t = 0; t < 2; ++t)
    for (std::uint64_t key : draw(asked(workload_kind::erase, records, 2), t).keys)
      EXPECT_TRUE(erased.insert(key).second);
  EXPECT_EQ(erased, loaded_keys());
}

TEST(Operations, MixesHaveTheirShares) {
  for (const workload_traits& traits : all_workloads()) {
    if (traits.second_share == 0) continue;
    // Each loaded record is erased once at most: every other operation of churn.
    const double ops = traits.kind == workload_kind::churn ? 2 * records : 100'000;
    operations drawn = draw(asked(traits.kind, static_cast<std::uint64_t>(ops), 1), 0);
    ASSERT_EQ(drawn.kinds.size(), drawn.keys.size());
    std::map<operation_kind, double> counts;
    for (operation_kind kind : drawn.kinds) ++counts[kind];
    EXPECT_EQ(counts.size(), 2u) << traits.name;
    EXPECT_NEAR(counts[traits.second] / ops, traits.second_share, 0.01) << traits.name;
  }
}

TEST(Operations, LatestAsksOnlyForWhatIsThereByThenAndMostlyForTheNewest) {
  std::set<std::uint64_t> there = loaded_keys();
  operations drawn = draw(asked(workload_kind::ycsb_d, 50'000, 1), 0);
  std::uint64_t reads = 0, of_the_hundred_newest = 0;
  std::vector<std::uint64_t> newest;
  for (std::uint64_t i = 0; i < records; ++i) newest.push_back(key_space(seed).key(i));
  for (std::size_t i = 0; i < drawn.keys.size(); ++i) {
    if (drawn.kinds[i] == operation_kind::insert) {
      ASSERT_TRUE(there.insert(drawn.keys[i]).second);
      newest.push_back(drawn.keys[i]);
      continue;
    }
    ASSERT_TRUE(there.contains(drawn.keys[i]));
    ++reads;
    of_the_hundred_newest +=
        std::find(newest.end() - 100, newest.end(), drawn.keys[i]) != newest.end();
  }
  EXPECT_GT(of_the_hundred_newest, reads / 2);
}

TEST(Operations, ThreadsInsertDifferentKeysInYcsbD) {
  std::set<std::uint64_t> inserted;
  for (unsigned t = 0; t < 4; ++t) {
    operations drawn = draw(asked(workload_kind::ycsb_d, 10'000, 4), t);
    for (std::size_t i = 0; i < drawn.keys.size(); ++i) {
      if (drawn.kinds[i] == operation_kind::insert) {
        EXPECT_TRUE(inserted.insert(drawn.keys[i]).second);
      }
    }
  }
  EXPECT_GT(inserted.size(), 100u);
}

TEST(Operations, AnIterationOfPagerankSearches36TimesAndUpdatesEveryVertexOnce) {
  constexpr std::uint64_t vertices = 1024, iteration = 37 * vertices;  // records is 2000
  operations drawn = draw(asked(workload_kind::pagerank, 2 * iteration, 1), 0);
  std::set<std::uint64_t> updated;
  for (std::size_t i = 0; i < iteration; ++i) {
    // the second iteration goes through the same edges
    ASSERT_EQ(drawn.keys[i], drawn.keys[iteration + i]);
    ASSERT_EQ(drawn.kinds[i], i % 37 == 36 ? operation_kind::update : operation_kind::get);
    if (drawn.kinds[i] == operation_kind::update) {
      EXPECT_TRUE(updated.insert(drawn.keys[i]).second);
    }
  }
  EXPECT_EQ(updated.size(), vertices);
  for (std::uint64_t key : drawn.keys) ASSERT_TRUE(updated.contains(key));
}

TEST(Operations, ATraceIsTheSameHoweverManyThreadsShareIt) {
  for (workload_kind workload : {workload_kind::dlrm, workload_kind::pagerank}) {
    operations whole = draw(asked(workload, 10'000, 1), 0), pieces;
    for (const operations& part : draw_all(asked(workload, 10'000, 3))) {
      pieces.keys.insert(pieces.keys.end(), part.keys.begin(), part.keys.end());
      pieces.kinds.insert(pieces.kinds.end(), part.kinds.begin(), part.kinds.end());
    }
    EXPECT_EQ(pieces.keys, whole.keys);
    EXPECT_EQ(pieces.kinds, whole.kinds);
  }
}

TEST(Operations, TheSameSeedDrawsTheSameAndAnotherDoesNot) {
  for (workload_kind workload :
       {workload_kind::ycsb_a, workload_kind::dlrm, workload_kind::pagerank}) {
    drawing what = asked(workload, 1000, 1);
    operations first = draw(what, 0), again = draw(what, 0);
    EXPECT_EQ(first.keys, again.keys);
    EXPECT_EQ(first.kinds, again.kinds);
    what.seed = seed + 1;
    EXPECT_NE(draw(what, 0).keys, first.keys);
  }
}

TEST(Operations, ValuesTellOtherKeysApart) {
  key_space space(seed);
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    std::uint64_t key = space.key(i), value = value_of(key, static_cast<generation>(i));
    EXPECT_TRUE(value_belongs(key, value));
    EXPECT_FALSE(value_belongs(space.key(i + 1), value));
  }
}

TEST(Workloads, ListsAreSortedIntoRunningOrderAndUnknownNamesAreNamed) {
  std::string unknown;
  using enum workload_kind;
  EXPECT_EQ(workloads_named("erase,insert,positive,insert", unknown),
            (std::vector{insert, positive, erase}));
  EXPECT_TRUE(unknown.empty());
  EXPECT_EQ(workloads_named("all", unknown).size(), all_workloads().size());
  EXPECT_TRUE(workloads_named("positive,ycsb-e", unknown).empty());
  EXPECT_EQ(unknown, "ycsb-e");
}

TEST(Workloads, TheTableIsIndexedByKind) {
  for (const workload_traits& traits : all_workloads())
    EXPECT_EQ(traits_of(traits.kind).name, traits.name);
}

}  // namespace
}  // namespace durahash::bench
