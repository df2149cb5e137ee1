// Tables that were killed are counted in the background while writers go on: whatever moves
// meanwhile, each record of bytes has its cell adopted once, and gphash's sweep empties no slot
// that is claimed anew. Here the count dawdles, so that all that can overtake it does.
#include <atomic>
#include <chrono>
#include <thread>

#include "engine/place.hpp"
#include "test/engine/engine_rig.hpp"

namespace durahash::test {
namespace recount_beside_writers {

/// Reads of threads that did not say they are the test's take their time: each so many of those
/// between two offsets of the pool.
struct dawdling {
  static inline thread_local bool of_the_test = false;
  static inline thread_local std::uint64_t reads = 0;
  std::uint64_t from = 0, to = ~std::uint64_t{0}, every = 100, pause_us = 50;
  std::atomic<bool> over{false};

  void read(std::uint64_t offset) const {
    if (!over && !of_the_test && offset >= from && offset < to && ++reads % every == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
  }
};

/// A thread's records: numbers [first, last), each in a key that names the thread.
struct window {
  std::uint64_t thread = 0, first = 0, last = 0;
  std::uint64_t key(std::uint64_t n) const { return thread << 40 | n; }
  std::uint64_t size() const { return last - first; }
};

template <class Engine, class Kind = byte_records>
struct program {
  using rig_type = rig<hooked_medium, Kind, Engine>;
  std::unique_ptr<dawdling> count;
  std::unique_ptr<rig_type> r;
  std::vector<window> windows;

  program(const options& how, std::uint64_t threads)
      : r(make_rig<hooked_medium, Kind, Engine>(how)) {
    dawdling::of_the_test = true;
    for (std::uint64_t t = 0; t < threads; ++t) windows.push_back({t});
  }
  void put_up_to(window& w, std::uint64_t records) {
    for (; w.size() < records; ++w.last)
      ASSERT_EQ(put_short(*r, w.key(w.last), w.last), status::ok);
  }
  void erase_down_to(window& w, std::uint64_t records) {
    for (; w.size() > records; ++w.first) ASSERT_EQ(erase(*r, w.key(w.first)), status::ok);
  }
  void fill(std::uint64_t records_of_each) {
    for (window& w : windows) put_up_to(w, records_of_each);
  }

  /// As the process died and another one opened the pool; the count begins.
  void kill_and_reopen() {
    const std::byte* base = r->p->memory().base();
    std::vector<std::byte> image(base, base + r->p->end());
    const superblock block = r->p->block();
    r.reset();
    count = std::make_unique<dawdling>();
    if (Engine::which == engine_kind::cceh) {  // between two segments: there the count holds no
                                               // lock, and the next read is one of the directory
      checked_place directory;
      std::memcpy(&directory.word, &image[block.engine_offset], sizeof directory.word);
      count->from = directory.offset();
      count->to = directory.offset() + (std::uint64_t{8} << directory.exponent());
      count->every = 1, count->pause_us = 300;
    }
    r = after_power_cut<hooked_medium, Kind, Engine>(image, [this](hooked_medium& m) {
      m.on_read = [slow = count.get()](std::uint64_t offset) { slow->read(offset); };
    });
    ASSERT_TRUE(r);
  }

  template <class Work>
  void run(Work work) {
    std::vector<std::thread> threads;
    for (window& w : windows)
      threads.emplace_back([&] {
        dawdling::of_the_test = true;
        work(w);
      });
    for (std::thread& thread : threads) thread.join();
    count->over = true;
  }

  void expect_sound(const std::string& when) {
    std::uint64_t records = 0, lost = 0;
    for (const window& w : windows) {
      for (std::uint64_t n = w.first; n < w.last; ++n) lost += get(*r, w.key(n)) != n;
      records += w.size();
    }
    EXPECT_EQ(lost, 0u) << when << ", acknowledged records of " << records;
    EXPECT_EQ(r->t->size(), records) << when;
    check_report report;
    r->t->check(report);
    EXPECT_TRUE(report.ok) << when << ", " << report.violations.size() << " violations, the first: "
                           << (report.ok ? "" : report.violations.front());
  }

  /// Counted, closed, opened again.
  void finish() {
    expect_sound("beside the recount");
    if (testing::Test::HasFailure()) return;
    ASSERT_EQ(r->t->close(), status::ok);
    EXPECT_EQ(r->p->root().state, pool_state::clean) << "close does not mark the pool clean";
    const std::byte* base = r->p->memory().base();
    std::vector<std::byte> image(base, base + r->p->end());
    r = after_power_cut<hooked_medium, Kind, Engine>(image);
    ASSERT_TRUE(r);
    expect_sound("after close and reopen");
  }
};

options settings(std::map<std::string, std::uint64_t> all, std::uint64_t capacity = 0) {
  options how;
  how.settings = std::move(all);
  how.capacity = capacity;
  return how;
}

/// Erase almost all, put as many, several times over.
template <class Engine, class Kind = byte_records>
void sweep_beside_the_recount(const options& how, std::uint64_t records, int sweeps = 3) {
  constexpr std::uint64_t threads = 4;
  program<Engine, Kind> p(how, threads);
  ASSERT_NO_FATAL_FAILURE(p.fill(records / threads));
  ASSERT_NO_FATAL_FAILURE(p.kill_and_reopen());
  p.run([&](window& w) {
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      p.erase_down_to(w, records / threads / 20);
      p.put_up_to(w, records / threads);
    }
  });
  p.finish();
}

TEST(RecountBesideWriters, CcehMergesSegmentsThatAreCountedWithOthersThatAreNot) {
  sweep_beside_the_recount<cceh_engine>(settings({{"segment", 5}}), 60'000, 10);
}
TEST(RecountBesideWriters, LevelKeepsItsRecordsThroughSweeps) {
  sweep_beside_the_recount<level_engine>(settings({}), 100'000);
}
TEST(RecountBesideWriters, TurboKeepsItsRecordsThroughSweeps) {
  sweep_beside_the_recount<turbo_engine>(settings({{"shards", 64}}), 60'000);
}
TEST(RecountBesideWriters, GphashKeepsItsRecordsThroughSweeps) {
  sweep_beside_the_recount<gphash_engine>(settings({}), 60'000);
}
TEST(RecountBesideWriters, GphashKeepsItsWordsThroughSweeps) {
  sweep_beside_the_recount<gphash_engine, word_records>(settings({}), 200'000);
}

/// Erase one, put one, in a table that is almost full: a movement carries a record from a stripe
/// that is not counted into one that is.
template <class Engine>
void pairs_beside_the_recount(const options& how, double load) {
  constexpr std::uint64_t threads = 2, least = 40'000;
  program<Engine> p(how, threads);
  auto loaded = static_cast<std::uint64_t>(static_cast<double>(p.r->t->slots()) * load);
  ASSERT_NO_FATAL_FAILURE(p.fill(std::max(loaded, least) / threads));
  ASSERT_NO_FATAL_FAILURE(p.kill_and_reopen());
  p.run([&](window& w) {
    std::uint64_t records = w.size();
    for (int pair = 0; pair < 10'000; ++pair) {
      p.erase_down_to(w, records - 1);
      p.put_up_to(w, records);
    }
  });
  p.finish();
}

TEST(RecountBesideWriters, LevelMovesRecordsBetweenStripesThatAreCountedAndOthersThatAreNot) {
  pairs_beside_the_recount<level_engine>(settings({}, 60'000), 0.93);
}
TEST(RecountBesideWriters, CcehKeepsItsRecordsThroughPairs) {
  pairs_beside_the_recount<cceh_engine>(settings({}, 60'000), 0.4);
}
TEST(RecountBesideWriters, TurboKeepsItsRecordsThroughPairs) {
  pairs_beside_the_recount<turbo_engine>(settings({}, 60'000), 0.6);
}
TEST(RecountBesideWriters, GphashKeepsItsRecordsThroughPairs) {
  pairs_beside_the_recount<gphash_engine>(settings({}, 60'000), 0.6);
}

}  // namespace recount_beside_writers
}  // namespace durahash::test
