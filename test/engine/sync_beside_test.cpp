// P3 (persist/pool.hpp): nothing that the root reaches changes while the root says clean. Each
// store to the engine's own area is watched beside syncs that follow each other without a pause.
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include "test/engine/engine_rig.hpp"

namespace durahash::test {
namespace sync_beside {

/// Watches the stores to the engine's own area, and what the root says meanwhile.
class store_watch {
 public:
  /// As long as the rig is there.
  void begin(auto& r) {
    base_ = r.p->memory().base();
    const superblock& block = r.p->block();
    from_ = block.engine_offset, to_ = block.engine_offset + block.engine_bytes;
    r.m->on_read = [this](std::uint64_t) { dawdle(); };
    r.m->before_store = [this](std::uint64_t offset) { look_at(offset); };
    r.m->after_store = [this](std::uint64_t offset) {
      if (offset == selector_offset) note_root();
    };
  }

  /// The calling thread takes its time over `run`, so that others get in between two of its steps.
  template <class Run>
  status taking_time(Run&& run) {
    dawdling() = true;
    status answer = run();
    dawdling() = false;
    return answer;
  }
  std::uint64_t stores() const { return all_stores_.load(); }
  std::uint64_t stores_under_a_clean_root() const { return stores_.load(); }
  std::uint64_t clean_roots() const { return clean_roots_.load(); }

 private:
  static bool& dawdling() noexcept {
    thread_local bool here = false;
    return here;
  }
  void dawdle() noexcept {
    constexpr std::uint64_t seldom = 199;  // a prime: not always at the same step
    if (dawdling() && ++reads_ % seldom == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  void look_at(std::uint64_t offset) noexcept {
    if (offset < from_ || offset >= to_) return;
    ++all_stores_;
    if (clean_.load()) ++stores_;
  }
  void note_root() noexcept {
    std::uint64_t sequence;
    std::memcpy(&sequence, base_ + selector_offset, sizeof sequence);
    pool_state state;
    std::memcpy(&state, base_ + root_offsets[sequence % 2] + offsetof(root_record, state),
                sizeof state);
    clean_ = state == pool_state::clean;
    clean_roots_ += clean_;
  }

  const std::byte* base_ = nullptr;
  std::uint64_t from_ = 0, to_ = 0;
  std::uint64_t reads_ = 0;  // of the thread that takes its time
  std::atomic<bool> clean_{false};
  std::atomic<std::uint64_t> all_stores_{0}, stores_{0}, clean_roots_{0};
};

enum class shaping { reserve, compact };

template <class Kind, class Engine>
void sync_beside(shaping what) {
  store_watch watch;
  auto r = make_rig<hooked_medium, Kind, Engine>(options{});
  watch.begin(*r);
  for (std::uint64_t n = 0; n < 5000; ++n) ASSERT_EQ(put(*r, random_key(n), n), status::ok);
  std::atomic<bool> over{false};
  std::thread syncs([&] {
    while (!over && r->t->sync() == status::ok) continue;
  });
  auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  for (std::uint64_t room = 10'000;
       std::chrono::steady_clock::now() < until && watch.stores_under_a_clean_root() == 0;
       room = room > 100'000 ? 10'000 : 2 * room) {
    if (what == shaping::reserve) {
      EXPECT_EQ(watch.taking_time([&] { return r->t->reserve(room); }), status::ok);
    }
    if (what == shaping::compact || room > 100'000) {
      EXPECT_EQ(watch.taking_time([&] { return r->t->compact(); }), status::ok);
    }
    for (std::uint64_t n = 0; what == shaping::compact && n < 2000;
         ++n) {  // so that there is something to move and to shrink
      EXPECT_EQ(put(*r, random_key(10'000 + n), n), status::ok);
      if (n % 2 == 0) {
        EXPECT_EQ(erase(*r, random_key(10'000 + n)), status::ok);
      }
    }
  }
  over = true;
  syncs.join();
  EXPECT_EQ(watch.stores_under_a_clean_root(), 0u)
      << "a power cut between such a store and the next would be believed";
  EXPECT_GT(watch.clean_roots(), 1u) << "the syncs came to nothing, so this test shows nothing";
  for (std::uint64_t n = 0; n < 5000; ++n) ASSERT_EQ(get(*r, random_key(n)), n);
  check_report report;
  r->t->check(report);
  EXPECT_TRUE(report.ok);
}

template <class Engine>
void sync_beside_of_both_kinds(shaping what) {
  with_both_kinds([&](auto kind) { sync_beside<decltype(kind), Engine>(what); });
}

TEST(SyncBeside, TurboReservesUnderARootThatSaysChanging) {
  sync_beside_of_both_kinds<turbo_engine>(shaping::reserve);
}
TEST(SyncBeside, TurboCompactsUnderARootThatSaysChanging) {
  sync_beside_of_both_kinds<turbo_engine>(shaping::compact);
}
TEST(SyncBeside, CcehReservesUnderARootThatSaysChanging) {
  sync_beside_of_both_kinds<cceh_engine>(shaping::reserve);
}
TEST(SyncBeside, CcehCompactsUnderARootThatSaysChanging) {
  sync_beside_of_both_kinds<cceh_engine>(shaping::compact);
}
TEST(SyncBeside, LevelReservesUnderARootThatSaysChanging) {
  sync_beside_of_both_kinds<level_engine>(shaping::reserve);
}
TEST(SyncBeside, LevelCompactsUnderARootThatSaysChanging) {
  sync_beside_of_both_kinds<level_engine>(shaping::compact);
}
TEST(SyncBeside, GphashReservesUnderARootThatSaysChanging) {
  sync_beside_of_both_kinds<gphash_engine>(shaping::reserve);
}
TEST(SyncBeside, GphashCompactsUnderARootThatSaysChanging) {
  sync_beside_of_both_kinds<gphash_engine>(shaping::compact);
}

/// A compact that finds room for the directory alone: no segment that moves marks the pool before.
TEST(SyncBeside, CcehMovesTheDirectoryUnderARootThatSaysChanging) {
  options how;
  how.settings["segment"] = 12;  // segments are larger than the room
  store_watch watch;
  auto r = make_rig<hooked_medium, byte_records, cceh_engine>(how);
  watch.begin(*r);
  auto room = r->p->allocate(slab_bytes, slab_bytes);
  ASSERT_TRUE(room);
  // more than half of each segment: none can be merged
  for (std::uint64_t n = 0; n < 300'000; ++n) ASSERT_EQ(put(*r, random_key(n), n), status::ok);
  ASSERT_EQ(r->t->compact(), status::ok);
  ASSERT_EQ(r->t->sync(), status::ok);
  r->p->free(*room, slab_bytes);
  std::uint64_t before = watch.stores();
  ASSERT_EQ(r->t->compact(), status::ok);
  EXPECT_GT(watch.stores(), before) << "the directory did not move, so this test shows nothing";
  EXPECT_EQ(watch.stores_under_a_clean_root(), 0u);
}

}  // namespace sync_beside
}  // namespace durahash::test
