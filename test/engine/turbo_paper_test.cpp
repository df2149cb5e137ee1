// The paper's facts about load factor and probing (§2, §4.5, §4.6), measured. Nothing here depends
// on time; the bounds are what a change must not leave. docs/lab/performance.md quotes what this
// prints.
#include <gtest/gtest.h>

#include <cstdio>
#include <random>

#include "test/engine/instances.hpp"

namespace durahash::test {
namespace turbo_paper {

using words = rig<plain_medium, word_records>;

/// Shards of so many buckets, which the records below make larger only here and there.
options shards_of(std::uint64_t shards, std::uint64_t buckets) {
  options how;
  how.settings = {{"shards", shards}, {"collect_distance", 0}};
  // the engine plans for a load factor of 0.7
  how.capacity = shards * buckets * turbo::slots_per_bucket * 69 / 100;
  return how;
}

double figure(words& r, const std::string& name) {
  table_stats stats;
  r.t->describe(stats);
  for (auto& [n, value] : stats.figures)
    if (n == name) return value;
  ADD_FAILURE() << "no figure " << name;
  return 0;
}

/// Several tables of two arrays of 128 buckets each, filled alike: large enough for long paths, and
/// small enough to be filled to 0.8.
class filled_tables {
 public:
  explicit filled_tables(std::map<std::string, std::uint64_t> settings)
      : settings_(std::move(settings)) {}

  /// To a load factor, with new random keys. A table whose arrays grow on the way is given up, and
  /// another one tried.
  void fill(double load_factor) {
    tables_.clear();
    while (tables_.size() < wanted)
      if (auto r = make(); fill_one(*r, load_factor)) tables_.push_back(std::move(r));
  }
  void refill(double load_factor) {
    for (auto& r : tables_) {
      erase_all(*r);
      fill_one(*r, load_factor);
    }
  }
  void collect() {
    for (auto& r : tables_) ASSERT_EQ(r->t->compact(), status::ok);
  }
  double sum_of(const std::string& name) {
    double sum = 0;
    for (auto& r : tables_) sum += figure(*r, name);
    return sum;
  }

  struct probing {
    double load_factor = 0, mean = 0, most = 0;
  };
  probing measure(const char* what) {
    probing p;
    for (auto& r : tables_) {
      p.load_factor +=
          static_cast<double>(r->t->size()) / static_cast<double>(r->t->slots()) / wanted;
      p.mean += figure(*r, "negative_probe_mean") / wanted;
      p.most = std::max(p.most, figure(*r, "negative_probe_max"));
    }
    std::printf("%-52s load factor %.3f, negative search: %.2f buckets on average, %.0f at most\n",
                what, p.load_factor, p.mean, p.most);
    return p;
  }

 private:
  static constexpr std::size_t wanted = 8;
  static constexpr std::uint64_t slots = 2 * 128 * turbo::slots_per_bucket;

  std::unique_ptr<words> make() {
    options how = shards_of(2, 128);
    for (auto& [name, value] : settings_) how.settings[name] = value;
    return make_rig<plain_medium, word_records>(how);
  }
  bool fill_one(words& r, double load_factor) {
    while (static_cast<double>(r.t->size()) < load_factor * static_cast<double>(slots)) {
      EXPECT_EQ(r.put(random_(), 1), status::ok);
      if (r.t->slots() > slots) return false;
    }
    return true;
  }
  static void erase_all(words& r) {
    std::vector<std::uint64_t> keys;
    for (cursor at; !at.done;)
      r.t->scan(at, 1000, [&](std::uint64_t key, std::uint64_t) { keys.push_back(key); });
    for (std::uint64_t key : keys) EXPECT_EQ(r.erase(key), status::ok);
  }

  std::map<std::string, std::uint64_t> settings_;
  std::mt19937_64 random_{2};
  std::vector<std::unique_ptr<words>> tables_;
};

/// Load factor of a shard when a record first finds no room in it, over eight shards.
double load_factor_at_first_resize(std::uint64_t buckets, std::uint64_t scope,
                                   std::mt19937_64& random) {
  constexpr int runs = 8;
  double sum = 0;
  for (int run = 0; run < runs; ++run) {
    options how = shards_of(2, buckets);
    how.settings["scope"] = scope;
    auto r = make_rig<plain_medium, word_records>(how);
    std::uint64_t slots = buckets * turbo::slots_per_bucket, records = 0;
    while (r->t->slots() <= 2 * slots) {
      std::uint64_t key = random();
      // the other shard stays empty
      if (word_hash(key, {0x0123456789abcdef, 0x9e3779b97f4a7c15}) >> 63 != 0) continue;
      EXPECT_EQ(r->put(key, 1), status::ok);
      ++records;
      if (r->t->slots() > slots) break;
    }
    sum += static_cast<double>(records - 1) / static_cast<double>(slots);
  }
  return sum / runs;
}

TEST(TurboPaper, PeakLoadFactorByScopeAndArray) {
  std::mt19937_64 random(1);
  for (std::uint64_t scope : {2, 4, 8, 16, 32}) {
    std::printf("scope %2d: load factor at the first resize", static_cast<int>(scope));
    double last = 1;
    for (std::uint64_t buckets : {16, 32, 64, 128, 1024}) {
      double peak = load_factor_at_first_resize(buckets, scope, random);
      std::printf("  %d buckets %.3f", static_cast<int>(buckets), peak);
      EXPECT_LT(peak, 13.0 / 14 + 1e-9) << "one slot of each bucket stays empty";
      EXPECT_LT(peak, last + 0.04) << "the larger the array, the sooner some scope is full";
      EXPECT_GT(peak, scope == 16 ? 0.74 : 0.4);
      last = peak;
    }
    std::printf("\n");
  }
}

TEST(TurboPaper, NegativeSearchesLookAtFewBuckets) {
  filled_tables tables({{"collect_distance", 0}});
  double last = 1;
  for (double load_factor : {0.5, 0.6, 0.7, 0.75, 0.8}) {
    tables.fill(load_factor);
    auto p = tables.measure("loaded");
    EXPECT_NEAR(p.load_factor, load_factor, 0.01);
    EXPECT_GE(p.mean, last);
    EXPECT_LE(p.mean, load_factor < 0.72 ? 1.6 : 3.5);
    last = p.mean;
  }
}

TEST(TurboPaper, DeletedSlotsLengthenPathsAndCollectionShortensThem) {
  for (double load_factor : {0.75, 0.8}) {
    filled_tables tables({{"collect_distance", 0}});
    tables.fill(load_factor);
    auto fresh = tables.measure("collect_distance=0: loaded");
    tables.refill(load_factor);
    auto reloaded = tables.measure("  all deleted, and as many others loaded");
    tables.collect();
    auto collected = tables.measure("  after garbage collection");
    EXPECT_GT(reloaded.mean, fresh.mean + 1);
    EXPECT_NEAR(collected.mean, fresh.mean, 0.6);
  }
}

TEST(TurboPaper, CollectionRunsByItselfWhenPathsGrowLong) {
  filled_tables tables({{"collect_distance", 4}});
  tables.fill(0.7);
  for (int round = 0; round < 3; ++round) tables.refill(0.7);
  auto p = tables.measure("collect_distance=4: three times deleted and loaded");
  EXPECT_GT(tables.sum_of("collections"), 0);
  EXPECT_LT(p.mean, 3);
}

}  // namespace turbo_paper
}  // namespace durahash::test
