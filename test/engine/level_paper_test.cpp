// The facts of Level hashing's paper about load factors, movements, resizes and search order (§3.1
// to §3.3, §4.2; figures 4, 6, 8, 9, 13), measured. Nothing here depends on time; the bounds are
// what a change must not leave. docs/lab/performance.md quotes what this prints. What an operation
// costs: level_cost_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <unordered_set>

#include "test/engine/level_rig.hpp"

namespace durahash::test {
namespace level_paper {

/// Distinct keys: random words, or drawn as in figure 9.
class key_source {
 public:
  explicit key_source(std::uint64_t seed, double sigma = 0) : random_(seed), sigma_(sigma) {}

  std::uint64_t next() {
    if (sigma_ == 0) return random_();
    while (true) {  // ends: the integers within reach are many times the keys that are asked for
      constexpr double scale = 1 << 22;
      auto key = static_cast<std::uint64_t>(std::exp(sigma_ * normal_(random_)) * scale);
      if (seen_.insert(key).second) return key;
    }
  }

 private:
  std::mt19937_64 random_;
  double sigma_;  // of the normal distribution whose exponential is drawn; 0: uniform
  std::normal_distribution<> normal_;
  std::unordered_set<std::uint64_t> seen_;
};

/// Up to the insertion that needs a third level. Returns the load factor before it.
template <class Rig>
double fill_until_it_grows(Rig& r, key_source& keys, std::uint64_t records = 0) {
  std::uint64_t slots = r.t->slots();
  for (; r.t->slots() == slots; ++records) EXPECT_EQ(put_short(r, keys.next()), status::ok);
  return static_cast<double>(records - 1) / static_cast<double>(slots);
}

template <class Rig>
void fill(Rig& r, double load, key_source& keys) {
  std::uint64_t slots = r.t->slots();
  auto wanted = static_cast<std::uint64_t>(load * static_cast<double>(slots));
  for (std::uint64_t n = r.t->size(); n < wanted; ++n)
    ASSERT_EQ(put_short(r, keys.next()), status::ok);
  ASSERT_EQ(r.t->slots(), slots) << "the table grew before load factor " << load;
}

/// Of several tables.
struct peak {
  double mean = 0, least = 1;
};
template <class Kind>
peak peak_load(unsigned slots, unsigned top_log2, double sigma) {
  constexpr int runs = 8;
  peak p;
  for (unsigned run = 0; run < runs; ++run) {
    key_source keys(100 * top_log2 + run, sigma);
    auto r = make_level<hooked_medium, Kind>(level_with_top(top_log2, slots));
    EXPECT_EQ(r->t->slots(), 3 * slots << (top_log2 - 1));
    double now = fill_until_it_grows(*r, keys);
    p.mean += now / runs, p.least = std::min(p.least, now);
  }
  return p;
}

/// Figures 2, 8, 9: the share of the slots that are full when an insertion first finds no room;
/// 0.9 with 4 slots, whatever the keys. The larger the table, the sooner some bucket is full.
TEST(LevelPaper, LoadFactorWhenAThirdLevelIsNeeded) {
  for (unsigned slots : {4u, 7u})
    for (unsigned top : {12u, 13u, 14u}) {
      peak of[] = {peak_load<word_records>(slots, top, 0), peak_load<word_records>(slots, top, 1),
                   peak_load<word_records>(slots, top, 0.25),
                   peak_load<byte_records>(slots, top, 0)};
      std::printf(
          "slots %u, top of 2^%u buckets: grows at load factor %.3f (uniform), %.3f (log-normal, "
          "sigma 1), %.3f (sigma 1/4), %.3f (strings)\n",
          slots, top, of[0].mean, of[1].mean, of[2].mean, of[3].mean);
      for (peak p : of) {
        EXPECT_GT(p.mean, slots == 4 ? 0.89 : 0.955);
        EXPECT_GT(p.least, slots == 4 ? 0.85 : 0.935);
        EXPECT_NEAR(p.mean, of[0].mean, 0.02) << "the distribution of the keys does not matter";
      }
    }
}

/// Figure 8: the more slots in a bucket, the fuller the table gets.
TEST(LevelPaper, LoadFactorBySlotsOfABucket) {
  double last = 0;
  for (unsigned slots : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 10u, 14u}) {
    peak p = peak_load<word_records>(slots, 12, 0);
    std::printf("slots %2u: grows at load factor %.3f\n", slots, p.mean);
    EXPECT_GT(p.mean, last);
    last = p.mean;
  }
  EXPECT_GT(last, 0.98);
}

/// §3.1: at most one movement for an insertion, and few insertions need it.
TEST(LevelPaper, FewInsertionsMoveARecord) {
  for (unsigned slots : {4u, 7u}) {
    double movements = 0, records = 0;
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      key_source keys(seed);
      auto r = make_level<plain_medium, word_records>(level_with_top(13, slots));
      fill_until_it_grows(*r, keys);
      movements += figures(*r)["movements"], records += static_cast<double>(r->t->size());
    }
    std::printf("slots %u: until the table grows, %.2f %% of the insertions move a record\n", slots,
                100 * movements / records);
    EXPECT_GT(movements, 0);
    EXPECT_LT(movements / records, 0.012) << "the paper's share";
  }
}

/// A table that grows by insertions, resize after resize.
struct resize {
  double load_factor = 0;  // before it
  double rehashed = 0;     // share of the records that were there
};
std::vector<resize> resizes(std::size_t count, unsigned slots, bool bottom_to_top,
                            std::uint64_t seed) {
  key_source keys(seed);
  auto r = make_level<plain_medium, word_records>(
      level_with_top(9, slots, {{"bottom_to_top", bottom_to_top}}));
  std::vector<resize> seen;
  double rehashed = 0;
  while (seen.size() < count) {
    std::uint64_t before = r->t->slots();
    resize now{fill_until_it_grows(*r, keys, r->t->size()), 0};
    auto records = static_cast<double>(r->t->size());
    for (std::uint64_t slots_now = r->t->slots(); slots_now != 2 * before;
         slots_now = r->t->slots()) {
      EXPECT_EQ(put_short(*r, keys.next()), status::ok);
      EXPECT_LE(r->t->slots(), slots_now) << "a fourth level";
    }
    double total = figures(*r)["rehashed"];
    EXPECT_LE(total - rehashed, static_cast<double>(before) / 3)
        << "more than the lowest level can hold";
    now.rehashed = (total - rehashed) / records;
    rehashed = total;
    seen.push_back(now);
  }
  check_report report;
  r->t->check(report);
  EXPECT_TRUE(report.ok) << report.violations.front();
  return seen;
}

/// §3.2, figure 4. A resize rehashes the records of the lowest level alone, which has a third of
/// the slots: less than a third of the records the first time, a little more when that level was
/// the top. And the movement from the bottom to the top makes up for bottom levels that are full
/// from the start.
TEST(LevelPaper, SixResizes) {
  constexpr std::size_t count = 6;
  constexpr unsigned runs = 8;
  for (unsigned slots : {4u, 7u}) {
    double load[2][count] = {}, rehashed[2][count] = {};
    for (unsigned upwards : {0u, 1u}) {
      for (unsigned run = 0; run < runs; ++run) {
        auto seen = resizes(count, slots, upwards, run);
        for (std::size_t n = 0; n < count; ++n)
          load[upwards][n] += seen[n].load_factor / runs,
              rehashed[upwards][n] += seen[n].rehashed / runs;
      }
      std::printf("slots %u, bottom_to_top=%u: resizes at load factor", slots, upwards);
      for (double f : load[upwards]) std::printf(" %.3f", f);
      std::printf(", of the records rehash");
      for (double f : rehashed[upwards]) std::printf(" %.3f", f);
      std::printf("\n");
      EXPECT_LT(rehashed[upwards][0], 1.0 / 3) << "bottom buckets are the emptier ones, at first";
      for (double f : rehashed[upwards]) EXPECT_LT(f, 0.4);
    }
    EXPECT_NEAR(load[0][0], load[1][0], 0.005);
    for (std::size_t n = 1; n < count; ++n) {
      EXPECT_GT(load[1][n], load[0][n] + 0.01);
      EXPECT_GT(load[1][n], slots == 4 ? 0.88 : 0.95);
    }
  }
}

/// Buckets of a hit, in a table that is filled to load factor 0.85 and made twice as large, four
/// times: before each resize, after it, and on the way to the next one. Mean of several tables.
struct search_orders {
  double before[4] = {}, after[4] = {}, later[4] = {};
};
search_orders search_by(bool dynamic, unsigned slots) {
  constexpr unsigned runs = 8;
  search_orders s;
  for (unsigned run = 0; run < runs; ++run) {
    key_source keys(run);
    auto r =
        make_level<plain_medium, word_records>(level_with_top(10, slots, {{"dynamic", dynamic}}));
    for (unsigned n = 0; n < 4; ++n) {
      fill(*r, 0.6, keys);
      s.later[n] += figures(*r)["positive_probe_mean"] / runs;
      fill(*r, 0.85, keys);
      s.before[n] += figures(*r)["positive_probe_mean"] / runs;
      EXPECT_EQ(r->t->reserve(level_with_top(11 + n, slots).capacity), status::ok);
      auto known = figures(*r);
      EXPECT_EQ(known["expansions"], n + 1);
      s.after[n] += known["positive_probe_mean"] / runs;
    }
  }
  std::printf(
      "slots %u, %s order, buckets of a hit at load factor 0.6, 0.85, and after the resize:", slots,
      dynamic ? "dynamic" : "static ");
  for (unsigned n = 0; n < 4; ++n)
    std::printf("  %.2f %.2f %.2f", s.later[n], s.before[n], s.after[n]);
  std::printf("\n");
  return s;
}

/// §3.2, §4.2.4, figure 13. Writers find out by samples when more records lie in the top again: a
/// small table may be late now and then.
TEST(LevelPaper, DynamicOrderLooksAtFewerBucketsAfterAResize) {
  for (unsigned slots : {4u, 7u}) {
    search_orders by_level = search_by(false, slots), dynamic = search_by(true, slots);
    for (unsigned n = 0; n < 4; ++n) {
      EXPECT_GT(by_level.after[n], by_level.before[n] + 0.3);
      EXPECT_LT(dynamic.after[n], by_level.after[n] - 0.2);
      EXPECT_LT(dynamic.later[n], by_level.later[n] + 1);
      EXPECT_LT(dynamic.before[n], by_level.before[n] + 0.25)
          << "the bottom is still searched first";
    }
  }
}

/// §3.3, figure 6(b): how many records have an empty slot beside them, so that their update in the
/// paper's manner needs no log.
TEST(LevelPaper, UpdatesThatNeedNoLog) {
  for (unsigned slots : {4u, 7u}) {
    key_source keys(slots);
    auto r = make_level<plain_medium, word_records>(level_with_top(13, slots));
    std::printf("slots %u, an empty slot beside, by load factor:", slots);
    for (double load : {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 2.0 / 3, 0.7, 0.8, 0.9}) {
      fill(*r, load, keys);
      double share = figures(*r)["free_beside"];
      std::printf("  %.2f: %.3f", load, share);
      EXPECT_GT(share, load < 0.35 ? 0.98 : 0.1) << "in the end there is room in the bottom alone";
      EXPECT_LT(share, load > 0.65 ? 0.35 : 1.01);
    }
    std::printf("\n");
  }
}

/// A multiplier that gathers numbers in older pools: the levels that would set them apart are
/// nearly empty, and are not made.
TEST(Level, NumbersAreRefusedWhereTheSeedsGatherThem) {
  const auto first_refused = [](std::uint32_t hash_id, std::uint64_t multiply) {
    superblock block = block_for<level_engine>(options{}, word_records::in_slot);
    block.hash_id = hash_id;
    block.seed_multiply = multiply;
    auto r = make_rig<plain_medium, word_records, level_engine>(block);
    std::uint64_t n = 0;
    while (n < 40'000 && put(*r, n % 2 == 0 ? n / 2 : ~(n / 2), n) == status::ok) ++n;
    return n;
  };
  for (std::uint64_t bad : {0xfffffbf525d015f1ull, 0x7fffff54fe71858bull, 0xc000004d4fde8b1bull}) {
    EXPECT_LT(first_refused(hash_id_folded, bad), 10'000u) << bad;
    EXPECT_EQ(first_refused(hash_id_spread, bad), 40'000u) << bad;
  }
}

}  // namespace level_paper
}  // namespace durahash::test
