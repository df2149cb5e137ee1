// BktCache (GPHash §3.3): what it holds is what the pool holds, whatever goes on beside a load; and
// how often it has what is looked for. docs/lab/performance.md quotes what this prints.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <random>
#include <thread>
#include <vector>

#include "test/engine/engine_rig.hpp"

namespace durahash::test {
namespace gphash_cache {

options with_copies(std::uint64_t percent, gphash::replacement_policy policy,
                    std::uint64_t capacity, std::uint64_t slots = 8) {
  options how;
  how.settings = {
      {"cache", percent}, {"cache_policy", static_cast<std::uint64_t>(policy)}, {"slots", slots}};
  how.capacity = capacity;
  return how;
}

/// Ranks with probability proportional to 1 / rank^0.99.
class zipf_ranks {
 public:
  explicit zipf_ranks(std::size_t count) : sums_(count) {
    double sum = 0;
    for (std::size_t rank = 0; rank < count; ++rank)
      sums_[rank] = sum += std::pow(static_cast<double>(rank + 1), -0.99);
  }
  std::size_t count() const noexcept { return sums_.size(); }
  template <class Random>
  std::size_t operator()(Random& random) const {
    double at = std::uniform_real_distribution<>(0, sums_.back())(random);
    return static_cast<std::size_t>(std::lower_bound(sums_.begin(), sums_.end(), at) -
                                    sums_.begin());
  }

 private:
  std::vector<double> sums_;
};

/// The library's loads run in a thread of their own.
template <class Rig>
void await_loads(Rig& r, double loads) {
  while (figures(r)["cache_loads"] < loads) std::this_thread::yield();
}

struct looked {
  // of the buckets that searches look at; 256-byte blocks of the pool that a search reads
  double hit_rate = 0, blocks = 0;
};
looked look(std::uint64_t percent, gphash::replacement_policy policy, const zipf_ranks& ranks,
            std::uint64_t warming = 700'000) {
  std::uint64_t records = ranks.count();
  auto r =
      make_rig<counted_medium, word_records, gphash_engine>(with_copies(percent, policy, records));
  for (std::uint64_t n = 0; n < records; ++n) EXPECT_EQ(r->put(random_key(n), n), status::ok);
  std::mt19937_64 random(1);
  auto search = [&](std::uint64_t count) {
    for (std::uint64_t n = 0; n < count; ++n) {
      std::uint64_t rank = ranks(random);
      EXPECT_EQ(r->get(random_key(rank)), rank);
    }
  };
  search(warming);
  if (percent != 0) await_loads(*r, 3);
  double looks = 0, hits = 0;
  auto add = [&](double sign) {
    auto known = figures(*r);
    looks += sign * known["cache_looks"],
        hits += sign * known["cache_looks"] * known["cache_hit_rate"];
  };
  if (percent != 0) add(-1);
  constexpr std::uint64_t measured = 200'000;
  std::uint64_t before = r->m->counts().media_read_blocks;
  search(measured);
  looked seen;
  seen.blocks = static_cast<double>(r->m->counts().media_read_blocks - before) / measured;
  if (percent != 0) add(1), seen.hit_rate = hits / looks;
  return seen;
}

/// §3.3, figure 11: LFU and LRU before Random; most of the gain from the first tenth.
TEST(GphashCachePaper, HitRatesAndWhatASearchReadsFromThePool) {
  const zipf_ranks ranks(100'000);
  looked none = look(0, gphash::replacement_policy::lfu, ranks);
  std::printf("no copies: %.2f blocks read\n", none.blocks);
  double last = 0;
  for (unsigned percent : {10u, 20u, 40u}) {
    looked of[3];
    for (auto policy : {gphash::replacement_policy::lfu, gphash::replacement_policy::lru,
                        gphash::replacement_policy::random})
      of[static_cast<int>(policy)] = look(percent, policy, ranks);
    std::printf(
        "copies of %u %% of the buckets: hit rate and blocks read: LFU %.3f %.2f, LRU %.3f %.2f, "
        "random %.3f %.2f\n",
        percent, of[0].hit_rate, of[0].blocks, of[1].hit_rate, of[1].blocks, of[2].hit_rate,
        of[2].blocks);
    EXPECT_GT(of[0].hit_rate, of[2].hit_rate + 0.2);
    EXPECT_GT(of[0].hit_rate, of[1].hit_rate - 0.02);
    EXPECT_NEAR(of[2].hit_rate, percent / 100.0, 0.1);
    // it was 1.1 while a look without copies read four buckets: now that ends at the key
    EXPECT_LT(of[0].blocks, none.blocks * (1.2 - of[0].hit_rate));
    EXPECT_GT(of[0].hit_rate, last);
    last = of[0].hit_rate;
  }
  EXPECT_GT(last, 0.75);
}

/// As many records as the paper's tables have, and as many searches again.
TEST(GphashCachePaper, DISABLED_HitRatesOfLargeTables) {
  for (std::size_t records : {std::size_t{1} << 20, std::size_t{1} << 24}) {
    const zipf_ranks ranks(records);
    for (unsigned percent : {10u, 20u, 40u}) {
      looked seen = look(percent, gphash::replacement_policy::lfu, ranks, 2 * records);
      std::printf(
          "%zu records, copies of %u %% of the buckets: hit rate and blocks read: LFU %.3f %.2f\n",
          records, percent, seen.hit_rate, seen.blocks);
      EXPECT_GT(seen.hit_rate, 0.5);
    }
  }
}

/// One thread, all operations, from empty through growth, with loads all the time, and back.
TEST(GphashCache, AgreesWithAModel) {
  for (auto policy : {gphash::replacement_policy::lfu, gphash::replacement_policy::lru,
                      gphash::replacement_policy::random})
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      SCOPED_TRACE(std::to_string(seed));
      auto r = make_rig<plain_medium, word_records, gphash_engine>(with_copies(50, policy, 0, 2));
      std::mt19937_64 random(seed);
      model wanted;
      double loads = 0;
      for (unsigned n = 0; n < 60'000; ++n) {
        std::uint64_t key = random() % 1000 * (random() % 4 == 0 ? 1 : 0x9e3779b97f4a7c15),
                      value = random();
        std::uint64_t drawn = random() % 8;
        if (drawn == 0) {
          wanted.erase(key), r->erase(key);
        } else if (drawn == 1) {
          wanted[key] = value;
          ASSERT_EQ(r->put(key, value), status::ok);
        } else {
          auto found = r->get(key);
          auto at = wanted.find(key);
          ASSERT_EQ(found.has_value(), at != wanted.end());
          if (found) {
            ASSERT_EQ(*found, at->second);
          }
        }
        if (n % 20'000 == 19'999) {
          while (figures(*r)["cache_loads"] == 0)  // ends: searches make it time for one
            for (const auto& [k, v] : wanted) ASSERT_EQ(r->get(k), v);
          // the larger or smaller table has a cache of its own
          loads += figures(*r)["cache_loads"];
          ASSERT_EQ(r->t->compact(), status::ok);
        }
      }
      EXPECT_EQ(difference(*r, wanted), "");
      EXPECT_GT(loads, 0);
    }
}

/// Values of a key only grow, and a search that begins after a write has returned finds it: in
/// small tables, whose loads follow one another.
TEST(GphashCache, NoSearchFindsWhatWasOverwritten) {
  constexpr std::uint64_t keys = 24, enough = 400'000;
  for (auto policy : {gphash::replacement_policy::lfu, gphash::replacement_policy::random}) {
    auto r =
        make_rig<plain_medium, word_records, gphash_engine>(with_copies(40, policy, 2 * keys, 2));
    std::vector<std::atomic<std::uint64_t>> written(keys);
    for (std::uint64_t k = 0; k < keys; ++k) ASSERT_EQ(r->put(random_key(k), 0), status::ok);
    std::atomic<bool> over{false};
    std::atomic<std::uint64_t> wrong{0}, searches{0};
    auto write = [&](std::uint64_t first) {
      std::mt19937_64 random(first);
      for (std::uint64_t n = 1; !over; ++n) {
        std::uint64_t k = random() % (keys / 2) * 2 + first, value = written[k].load() + 1;
        if (n % 16 == 0) r->erase(random_key(k));
        r->put(random_key(k), value);
        written[k].store(value);
      }
    };
    auto read = [&](std::uint64_t seed) {
      std::mt19937_64 random(seed);
      while (!over) {
        std::uint64_t k = random() % keys, before = written[k].load();
        auto found = r->get(random_key(k));
        if (found && (*found < before || *found > written[k].load() + 1)) ++wrong;
        ++searches;
      }
    };
    std::vector<std::thread> threads;
    threads.emplace_back(write, 0), threads.emplace_back(write, 1);
    threads.emplace_back(read, 10), threads.emplace_back(read, 11);
    await_loads(*r, 30);
    while (searches < enough) std::this_thread::yield();
    over = true;
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(wrong, 0u);
    // how many depends on who comes when; so many searches were answered by a copy
    EXPECT_GT(figures(*r)["cache_hit_rate"] * static_cast<double>(searches), 5000);
    check_report report;
    r->t->check(report);
    EXPECT_TRUE(report.ok);
    EXPECT_EQ(r->t->size(), keys);
  }
}

TEST(GphashCache, IsForWordsAlone) {
  options how = with_copies(20, gphash::replacement_policy::lfu, 0);
  auto plan = gphash::table<plain_medium, byte_records>::plan(how);
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.failure().message.find("cache"), std::string::npos);
  how.settings["cache"] = 91;
  EXPECT_FALSE((gphash::table<plain_medium, word_records>::plan(how)));
}

}  // namespace gphash_cache
}  // namespace durahash::test
