// GPHash grows beside its writers: no write does the work of a whole level, and what else is done
// to a table with a level that is coming finds the table as it is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "engine/gphash/lease.hpp"
#include "test/engine/engine_rig.hpp"

namespace durahash::test {
namespace gphash_growth {

options growing(std::uint64_t stop_to_grow, std::uint64_t levels = 2) {
  options how;
  how.settings = {{"stop_to_grow", stop_to_grow}, {"levels", levels}};
  return how;
}

/// The most lines that one insertion flushes, of so many in a table that grows.
std::uint64_t most_flushes(std::uint64_t stop_to_grow, std::uint64_t records) {
  auto r = make_rig<counted_medium, word_records, gphash_engine>(growing(stop_to_grow));
  std::uint64_t most = 0;
  for (std::uint64_t n = 0; n < records; ++n) {
    const std::uint64_t before = r->m->counts().flushes;
    EXPECT_EQ(put_short(*r, random_key(n)), status::ok);
    most = std::max(most, r->m->counts().flushes - before);
  }
  EXPECT_GE(figures(*r)["resizes"], 8);
  EXPECT_EQ(r->t->size(), records);
  return most;
}

TEST(GphashGrowth, EachWriteCopiesAFewBuckets) {
  constexpr std::uint64_t records = 60'000;
  const std::uint64_t beside = most_flushes(0, records), stopped = most_flushes(1, records);
  std::printf("most lines that one of %llu insertions flushed: %llu; with stop_to_grow %llu\n",
              static_cast<unsigned long long>(records), static_cast<unsigned long long>(beside),
              static_cast<unsigned long long>(stopped));
  EXPECT_LE(beside, 48);  // four buckets that become 16, of two lines each; its own; the root's
  EXPECT_GE(stopped, 10'000);
}

/// Inserts until a level is coming, and is not the top yet. Returns how many records there are.
template <class Rig>
std::uint64_t fill_until_a_level_is_coming(Rig& r, model& wanted, std::uint64_t least) {
  std::uint64_t n = 0;
  auto insert = [&] {
    const std::uint64_t key = random_key(n++);
    EXPECT_EQ(put_short(r, key, n), status::ok);
    wanted[key] = n;
  };
  while (n < least) insert();
  // tables of words take space for levels alone
  const std::uint64_t slots = r.t->slots(), bytes = r.t->live_bytes();
  while (r.t->live_bytes() < bytes + slots * 16) insert();
  EXPECT_EQ(r.t->slots(), slots);
  return n;
}

struct coming {
  std::unique_ptr<rig<probing_medium, word_records, gphash_engine>> r =
      make_rig<probing_medium, word_records, gphash_engine>(growing(0));
  model wanted;
  std::uint64_t slots;
  explicit coming(std::uint64_t writes_since) {
    std::uint64_t n = fill_until_a_level_is_coming(*r, wanted, 5000);
    slots = r->t->slots();
    // some of the buckets are copied: changes of both halves
    for (auto& [key, value] : wanted) {
      if (writes_since-- == 0) break;
      value = ++n;
      EXPECT_EQ(put_short(*r, key, value), status::ok);
    }
    EXPECT_EQ(r->t->slots(), slots);
  }
};

TEST(GphashGrowth, AllThatIsDoneBesideFindsTheTableAsItIs) {
  {
    coming c(40);
    EXPECT_EQ(difference(*c.r, c.wanted), "");  // with check
    EXPECT_EQ(c.r->t->slots(), c.slots);
  }
  {
    coming c(40);
    EXPECT_EQ(c.r->t->sync(), status::ok);
    EXPECT_EQ(difference(*c.r, c.wanted), "");
    for (auto& [key, value] : c.wanted) EXPECT_EQ(put_short(*c.r, key, ++value), status::ok);
    EXPECT_EQ(c.r->t->slots(), 2 * c.slots);  // it goes on
    EXPECT_EQ(difference(*c.r, c.wanted), "");
  }
  {
    coming c(40);
    EXPECT_EQ(c.r->t->compact(), status::ok);
    EXPECT_EQ(difference(*c.r, c.wanted), "");
    EXPECT_LE(c.r->t->slots(), c.slots);
  }
  {
    coming c(40);
    EXPECT_EQ(c.r->t->reserve(c.slots * 4), status::ok);
    EXPECT_GE(c.r->t->slots(), c.slots * 4);
    EXPECT_EQ(difference(*c.r, c.wanted), "");
  }
  {
    coming c(40);
    gphash::lender lender(*c.r->t);
    ASSERT_TRUE(lender.lend().has_value());
    lender.take_back(0);
    EXPECT_EQ(difference(*c.r, c.wanted), "");
  }
  {
    coming c(40);
    const std::uint64_t live = c.r->t->live_bytes();
    EXPECT_EQ(c.r->t->close(), status::ok);
    EXPECT_LT(c.r->t->live_bytes(), live);  // it was given up
  }
}

TEST(GphashGrowth, APowerCutFindsTheOldLevels) {
  for (std::uint64_t writes : {0, 1, 7, 50}) {
    coming c(writes);
    auto found = after_power_cut<probing_medium, word_records, gphash_engine>(c.r->m->image());
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->t->slots(), c.slots);
    EXPECT_EQ(difference(*found, c.wanted), "");
  }
}

/// Of every shape: what is written to a bucket that is copied is in the level that becomes the top.
template <class Kind>
void writes_while_it_grows(std::uint64_t levels) {
  auto r = make_rig<plain_medium, Kind, gphash_engine>(growing(0, levels));
  model wanted;
  for (std::uint64_t n = 0; n < 6000; ++n) {
    const std::uint64_t key = n % 1000, of = n / 1000;  // each comes, changes, goes and comes again
    if (of % 3 == 2 && n % 2 == 0) {
      EXPECT_EQ(erase(*r, key), status::ok);
      wanted.erase(key);
      continue;
    }
    EXPECT_EQ(put_short(*r, n % 2 == 0 ? key : n, n), status::ok);
    wanted[n % 2 == 0 ? key : n] = n;
  }
  EXPECT_EQ(difference(*r, wanted), "") << levels << " levels";
  EXPECT_GE(figures(*r)["resizes"], 3);
}

TEST(GphashGrowth, TheNewTopHasWhatWasWrittenMeanwhile) {
  for (std::uint64_t levels : {1, 2}) {
    writes_while_it_grows<word_records>(levels);
    writes_while_it_grows<byte_records>(levels);
    writes_while_it_grows<fixed_keys<24>>(levels);
  }
}

}  // namespace gphash_growth
}  // namespace durahash::test
