// What an operation of Level hashing reads and writes: buckets, flushes, fences. Counted, not
// timed. docs/lab/performance.md quotes what this prints.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <thread>
#include <unordered_set>
#include <vector>

#include "base/background.hpp"
#include "base/turns.hpp"
#include "media/pmem_medium.hpp"
#include "test/engine/level_rig.hpp"

namespace durahash::test {
namespace level_cost {

/// Of so many bytes, those that were read from.
std::size_t units(const std::vector<std::uint64_t>& reads, std::uint64_t bytes) {
  std::unordered_set<std::uint64_t> distinct;
  for (std::uint64_t at : reads) distinct.insert(at / bytes);
  return distinct.size();
}

/// What searches look at, on average, and the most buckets of any.
struct traced {
  double buckets = 0, lines = 0;
  std::size_t most = 0;
};
traced trace(level_rig<hooked_medium, word_records>& r, const std::vector<std::uint64_t>& keys,
             bool there) {
  constexpr std::uint64_t bucket_bytes = 128;
  traced t;
  std::vector<std::uint64_t> reads;
  r.m->on_read = [&](std::uint64_t offset) { reads.push_back(offset); };
  for (std::uint64_t key : keys) {
    reads.clear();
    EXPECT_EQ(r.get(key).has_value(), there);
    std::size_t buckets = units(reads, bucket_bytes);
    t.buckets += static_cast<double>(buckets) / static_cast<double>(keys.size());
    t.lines += static_cast<double>(units(reads, line_bytes)) / static_cast<double>(keys.size());
    t.most = std::max(t.most, buckets);
  }
  r.m->on_read = nullptr;
  return t;
}

/// §3.1: a search looks at four buckets at most. The addresses of its loads say which.
TEST(LevelCost, BucketsThatASearchLooksAt) {
  for (unsigned slots : {4u, 7u})
    for (bool dynamic : {false, true})
      for (double load : {0.6, 0.8}) {
        auto r = make_level<hooked_medium, word_records>(
            level_with_top(12, slots, {{"dynamic", dynamic}}));
        std::vector<std::uint64_t> present, absent;
        for (auto n = static_cast<std::uint64_t>(load * static_cast<double>(r->t->slots())); n > 0;
             --n) {
          present.push_back(random_key(2 * n)), absent.push_back(random_key(2 * n + 1));
          ASSERT_EQ(r->put(present.back(), 1), status::ok);
        }
        auto known = figures(*r);
        ASSERT_EQ(known["levels"], 2);
        traced hits = trace(*r, present, true), misses = trace(*r, absent, false);
        std::printf(
            "slots %u, %s order, load factor %.1f: a hit looks at %.3f buckets (%.3f lines), at "
            "most %zu; a miss at %.3f (%.3f lines), at most %zu\n",
            slots, dynamic ? "dynamic" : "static", load, hits.buckets, hits.lines, hits.most,
            misses.buckets, misses.lines, misses.most);
        EXPECT_LE(hits.most, 4u);
        EXPECT_LE(misses.most, 4u);
        EXPECT_NEAR(hits.buckets, known["positive_probe_mean"], 1e-9) << "what stats says";
        EXPECT_NEAR(misses.buckets, known["negative_probe_mean"], 0.05);
        EXPECT_LT(hits.buckets, load < 0.7 ? 1.6 : 1.9);
        EXPECT_LT(misses.buckets, load < 0.7 ? 2.1 : 2.7);
      }
}

/// Flushed lines and fences.
struct cost {
  double flushes = 0, fences = 0;
  friend cost operator/(cost c, double count) { return {c.flushes / count, c.fences / count}; }
};

/// Of each operation, on average.
struct costs {
  // insertions up to load factor 0.5, and from there to 0.85
  cost insert_early, insert_late, update, removal, rehash;
};
template <class Kind>
costs measure(unsigned slots, bool in_place) {
  auto r = make_level<counted_medium, Kind>(level_with_top(12, slots, {{"in_place", in_place}}));
  std::vector<std::uint64_t> keys;
  auto of = [&](auto&& work) {
    media_counts before = r->m->counts();
    work();
    media_counts after = r->m->counts();
    return cost{static_cast<double>(after.flushes - before.flushes),
                static_cast<double>(after.fences - before.fences)};
  };
  auto insert_to = [&](double load) {
    std::size_t first = keys.size();
    keys.resize(static_cast<std::size_t>(load * static_cast<double>(r->t->slots())));
    for (std::size_t n = first; n < keys.size(); ++n) keys[n] = random_key(n);
    cost all = of([&] {
      for (std::size_t n = first; n < keys.size(); ++n)
        EXPECT_EQ(put_short(*r, keys[n]), status::ok);
    });
    return all / static_cast<double>(keys.size() - first);
  };
  auto of_all = [&](auto&& work) {
    cost all = of([&] {
      for (std::uint64_t key : keys) EXPECT_EQ(work(key), status::ok);
    });
    return all / static_cast<double>(keys.size());
  };
  costs c;
  insert_to(0.01);  // the first change of all marks the pool
  c.insert_early = insert_to(0.5);
  c.insert_late = insert_to(0.85);
  c.update = of_all([&](std::uint64_t key) { return put_short(*r, key, 2); });
  c.removal = of_all([&](std::uint64_t key) { return r->erase(item<Kind>(key)); });
  for (std::uint64_t key : keys) EXPECT_EQ(put_short(*r, key), status::ok);
  cost resize =
      of([&] { EXPECT_EQ(r->t->reserve(level_with_top(13, slots).capacity), status::ok); });
  resize.flushes -= 1 << 13;  // the new level's lines
  c.rehash = resize / figures(*r)["rehashed"];
  return c;
}
void print(const char* what, cost c) { std::printf("  %s %.2f %.2f", what, c.flushes, c.fences); }

/// §3.3
TEST(LevelCost, FlushesAndFencesOfAnOperation) {
  for (bool bytes : {false, true})
    for (unsigned slots : {4u, 7u})
      for (bool in_place : {true, false}) {
        costs c =
            bytes ? measure<byte_records>(slots, in_place) : measure<word_records>(slots, in_place);
        std::printf("%s, slots %u, in_place=%d: flushes and fences", bytes ? "bytes" : "words",
                    slots, in_place);
        print("insert", c.insert_early), print("above load factor 0.5", c.insert_late),
            print("update", c.update);
        print("removal", c.removal), print("rehashed record", c.rehash);
        std::printf("\n");
        EXPECT_LT(c.insert_early.fences, bytes ? 2.01 : 1.5);
        EXPECT_LT(c.insert_late.fences, 2.1) << "slot and token; few insertions move a record";
        EXPECT_LT(c.insert_late.flushes, bytes ? 4.1 : 2.3);
        EXPECT_EQ(c.removal.flushes, 1);
        EXPECT_EQ(c.removal.fences, 1);
        EXPECT_LT(c.rehash.flushes, 2);
        EXPECT_LT(c.rehash.fences, 1.5) << "the records of a bucket move together";
        EXPECT_LE(c.update.fences, (in_place ? 1 : 3) + 1.01 * bytes)
            << "value; log, value, end of the log; and the record";
        EXPECT_LE(c.update.flushes, (in_place ? 1 : 3) + 2 * bytes);
      }
}

/// Flushes and fences as on persistent memory.
struct flushing_medium : pmem_medium {
  explicit flushing_medium(const std::byte*) : pmem_medium(persistence_domain::memory_bus) {}
};

/// A table of load factor 0.85, made twice as large in place, and by inserting its records into a
/// new one of that size.
template <class M, class Measure>
std::pair<double, double> larger_in_place_and_anew(unsigned top, unsigned slots,
                                                   Measure&& measure) {
  auto old = make_level<M, word_records>(level_with_top(top, slots));
  auto records = static_cast<std::uint64_t>(0.85 * static_cast<double>(old->t->slots()));
  for (std::uint64_t n = 0; n < records; ++n) EXPECT_EQ(put_short(*old, random_key(n)), status::ok);
  double in_place = measure(*old, [&] {
    EXPECT_EQ(old->t->reserve(level_with_top(top + 1, slots).capacity), status::ok);
  });
  EXPECT_EQ(figures(*old)["expansions"], 1);
  auto anew = make_level<M, word_records>(level_with_top(top + 1, slots));
  return {in_place, measure(*anew, [&] {
            for (std::uint64_t n = 0; n < records; ++n)
              EXPECT_EQ(put_short(*anew, random_key(n)), status::ok);
          })};
}

/// §3.2, §4.2, figure 15: the paper measured 4.3 times the speed of a full rehash, at load factor
/// 0.85.
TEST(LevelCost, AResizeAgainstAFullRehash) {
  for (unsigned slots : {4u, 7u}) {
    auto [flushes, all_flushes] =
        larger_in_place_and_anew<counted_medium>(14, slots, [](auto& r, auto&& work) {
          media_counts before = r.m->counts();
          work();
          return static_cast<double>(r.m->counts().flushes - before.flushes);
        });
    std::vector<double> ratios;
    for (int run = 0; run < 5; ++run) {
      auto [seconds, all_seconds] =
          larger_in_place_and_anew<flushing_medium>(15, slots, [](auto&, auto&& work) {
            auto began = std::chrono::steady_clock::now();
            work();
            return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
          });
      ratios.push_back(all_seconds / seconds);
    }
    std::sort(ratios.begin(), ratios.end());
    std::printf(
        "slots %u: a full rehash flushes %.2f times as many lines as a resize, the new level's "
        "zeros among these, and takes %.2f times as long (%.2f to %.2f)\n",
        slots, all_flushes / flushes, ratios[2], ratios.front(), ratios.back());
    EXPECT_GT(all_flushes, 1.2 * flushes);
  }
}

/// Counts what the thread does that asks.
struct own_medium : direct_access {
  static constexpr bool visible_is_durable = false;
  explicit own_medium(const std::byte*) {}
  void flush(const void* at, std::size_t bytes) noexcept {
    auto first = align_down(reinterpret_cast<std::uintptr_t>(at), line_bytes);
    mine.flushes +=
        (reinterpret_cast<std::uintptr_t>(at) + bytes - first + line_bytes - 1) / line_bytes;
  }
  void fence() noexcept { ++mine.fences; }
  media_counts counts() const noexcept { return mine; }

  static thread_local media_counts mine;
};
thread_local media_counts own_medium::mine;

/// Another thread does background work between operations: no load of the machine makes one do it.
class prompt_helper : turns {
 public:
  prompt_helper() { install(this); }
  ~prompt_helper() override { install(nullptr); }
  void pass() override { std::this_thread::yield(); }
  bool has_background() const override { return true; }
  void submit(background& owner, std::function<void(const background&)> job) override {
    jobs_.push_back([&owner, job] { job(owner); });
  }
  void drop_jobs(background&) override { jobs_.clear(); }
  void work() {
    if (jobs_.empty()) return;
    std::thread([&] {
      for (; !jobs_.empty(); jobs_.pop_front()) jobs_.front()();
    }).join();
  }

 private:
  std::deque<std::function<void()>> jobs_;
};

/// The most that one of the operations did.
struct longest {
  std::uint64_t flushes = 0, fences = 0;

  template <class Rig, class Work>
  void watch(Rig& r, prompt_helper& helper, Work&& work) {
    media_counts before = r.m->counts();
    ASSERT_EQ(work(), status::ok);
    media_counts after = r.m->counts();
    flushes = std::max(flushes, after.flushes - before.flushes),
    fences = std::max(fences, after.fences - before.fences);
    helper.work();
  }
};

/// From empty to 2^16 buckets and back, as long as writes go on. A write drains a bucket or three;
/// and none writes a level of more than 1 MiB by itself, unless the table is full soon after it was
/// nearly full, as with 4 slots.
TEST(LevelCost, NoOperationWaitsForAResize) {
  constexpr std::uint64_t max_lines_at_once = (1 << 20) / 128;
  prompt_helper helper;
  for (unsigned slots : {4u, 7u}) {
    auto r = make_level<own_medium, word_records>(level_with_top(2, slots));
    const std::uint64_t at_first = r->t->slots();
    std::vector<std::uint64_t> keys(300'000);
    longest growing, shrinking;
    for (std::size_t n = 0; n < keys.size(); ++n)
      growing.watch(*r, helper, [&] { return put_short(*r, keys[n] = random_key(n)); });
    const std::uint64_t most = r->t->slots();
    double expansions = figures(*r)["expansions"];
    for (std::uint64_t key : keys) shrinking.watch(*r, helper, [&] { return r->erase(key); });
    const std::uint64_t emptied = r->t->slots();
    std::size_t more = 0;
    for (; more < 10 * keys.size() && r->t->slots() > at_first; ++more) {
      std::uint64_t key = keys[more % keys.size()];
      shrinking.watch(*r, helper, [&] { return put_short(*r, key); });
      shrinking.watch(*r, helper, [&] { return r->erase(key); });
    }
    std::printf(
        "slots %u: an operation does at most %.0f fences and %.0f flushes in %.0f expansions, %.0f "
        "and %.0f in %.0f shrinks; %.0f slots for 300,000 "
        "records, %.0f when all are gone, %.0f after %.0f writes more\n",
        slots, static_cast<double>(growing.fences), static_cast<double>(growing.flushes),
        expansions, static_cast<double>(shrinking.fences), static_cast<double>(shrinking.flushes),
        figures(*r)["shrinks"], static_cast<double>(most), static_cast<double>(emptied),
        static_cast<double>(r->t->slots()), static_cast<double>(2 * more));
    EXPECT_GE(expansions, 13);
    EXPECT_EQ(r->t->slots(), at_first);
    EXPECT_LE(growing.fences, 16u);
    EXPECT_LE(shrinking.fences, 16u);
    EXPECT_LE(growing.flushes, slots == 4 ? most / slots : max_lines_at_once + 64)
        << "an operation has written a large level by itself";
    EXPECT_LE(shrinking.flushes, max_lines_at_once + 64);
  }
}

}  // namespace level_cost
}  // namespace durahash::test
