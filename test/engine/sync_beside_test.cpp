// P3 (persist/pool.hpp): nothing that the root reaches changes while the root says clean. The
// medium watches each store to the engine's own area beside syncs that follow each other without a
// pause.
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include "test/engine/engine_rig.hpp"

namespace durahash::test {
namespace {

class watching_medium : public process_medium {
 public:
  explicit watching_medium(const std::byte* base) : base_(base) {}

  template <class T>
  T read(const T* at) noexcept {
    dawdle();
    return direct_access::read(at);
  }
  template <class T>
  void write(T* at, T value) noexcept {
    look_at(at);
    direct_access::write(at, value);
    if (offset_of(at) == selector_offset) note_root();
  }
  void write_bytes(void* at, const void* from, std::size_t bytes) noexcept {
    look_at(at);
    direct_access::write_bytes(at, from, bytes);
  }
  template <class T>
  bool exchange_if(T* at, T expected, T desired) noexcept {
    look_at(at);
    return direct_access::exchange_if(at, expected, desired);
  }

  /// The calling thread takes its time over `run`, so that others get in between two of its steps.
  template <class Run>
  status taking_time(Run&& run) {
    dawdling() = true;
    status answer = run();
    dawdling() = false;
    return answer;
  }
  void watch(const superblock& block) {
    from_ = block.engine_offset, to_ = block.engine_offset + block.engine_bytes;
  }
  std::uint64_t stores() const { return all_stores_.load(); }
  std::uint64_t stores_under_a_clean_root() const { return stores_.load(); }
  std::uint64_t clean_roots() const { return clean_roots_.load(); }

 private:
  std::uint64_t offset_of(const void* at) const {
    return static_cast<std::uint64_t>(static_cast<const std::byte*>(at) - base_);
  }
  static bool& dawdling() noexcept {
    thread_local bool here = false;
    return here;
  }
  void dawdle() noexcept {
    constexpr std::uint64_t seldom = 199;  // a prime: not always at the same step
    if (dawdling() && ++reads_ % seldom == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  void look_at(const void* at) noexcept {
    std::uint64_t offset = offset_of(at);
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

  const std::byte* base_;
  std::uint64_t from_ = 0, to_ = 0;
  std::uint64_t reads_ = 0;  // of the thread that takes its time
  std::atomic<bool> clean_{false};
  std::atomic<std::uint64_t> all_stores_{0}, stores_{0}, clean_roots_{0};
};

enum class shaping { reserve, compact };

template <class Kind, class Engine>
void sync_beside(shaping what) {
  auto r = make_rig<watching_medium, Kind, Engine>(options{});
  r->m->watch(r->p->block());
  for (std::uint64_t n = 0; n < 5000; ++n) ASSERT_EQ(put(*r, random_key(n), n), status::ok);
  std::atomic<bool> over{false};
  std::thread syncs([&] {
    while (!over && r->t->sync() == status::ok) continue;
  });
  auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  for (std::uint64_t room = 10'000;
       std::chrono::steady_clock::now() < until && r->m->stores_under_a_clean_root() == 0;
       room = room > 100'000 ? 10'000 : 2 * room) {
    if (what == shaping::reserve) {
      EXPECT_EQ(r->m->taking_time([&] { return r->t->reserve(room); }), status::ok);
    }
    if (what == shaping::compact || room > 100'000) {
      EXPECT_EQ(r->m->taking_time([&] { return r->t->compact(); }), status::ok);
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
  EXPECT_EQ(r->m->stores_under_a_clean_root(), 0u)
      << "a power cut between such a store and the next would be believed";
  EXPECT_GT(r->m->clean_roots(), 1u) << "the syncs came to nothing, so this test shows nothing";
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
  auto r = make_rig<watching_medium, byte_records, cceh_engine>(how);
  r->m->watch(r->p->block());
  auto room = r->p->allocate(slab_bytes, slab_bytes);
  ASSERT_TRUE(room);
  // more than half of each segment: none can be merged
  for (std::uint64_t n = 0; n < 300'000; ++n) ASSERT_EQ(put(*r, random_key(n), n), status::ok);
  ASSERT_EQ(r->t->compact(), status::ok);
  ASSERT_EQ(r->t->sync(), status::ok);
  r->p->free(*room, slab_bytes);
  std::uint64_t before = r->m->stores();
  ASSERT_EQ(r->t->compact(), status::ok);
  EXPECT_GT(r->m->stores(), before) << "the directory did not move, so this test shows nothing";
  EXPECT_EQ(r->m->stores_under_a_clean_root(), 0u);
}

}  // namespace
}  // namespace durahash::test
