// Lanes of the heap: what threads take and give back beside each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "media/mapping.hpp"
#include "media/process_medium.hpp"
#include "persist/heap.hpp"

namespace durahash::test {
namespace {

constexpr std::uint64_t record_bytes = 132;  // of a key of 16 bytes and a value of 100

/// A heap in memory, of a pool that may grow to so many bytes.
struct rig {
  std::unique_ptr<pool<process_medium>> p;
  std::optional<heap<process_medium>> h;

  explicit rig(std::uint64_t space = std::uint64_t{1} << 30, data_kind kind = data_kind::bytes) {
    auto map = std::move(
        *mapping::open({.path = {}, .medium = medium_kind::memory, .address_space_bytes = space}));
    superblock block =
        new_superblock(engine_kind::turbo, kind, kind, durability_level::process, {}, page_bytes);
    p = std::move(
        *pool<process_medium>::create(std::move(map), std::make_unique<process_medium>(), block));
    h.emplace(*p);
  }
};

void in_threads(int count, const std::function<void(int)>& run) {
  std::vector<std::thread> threads;
  for (int n = 0; n < count; ++n) threads.emplace_back([&run, n] { run(n); });
  for (std::thread& t : threads) t.join();
}

/// Other threads free what one has taken, through readers or at once: no cell has two owners, and
/// what is counted comes out even.
TEST(HeapLanes, NoCellIsTwoThreadsAndEachIsCountedOnce) {
  rig r;
  constexpr int threads = 4, rounds = 20'000;
  std::mutex handing;
  std::vector<std::uint64_t> handed;  // from whom to whom does not matter
  std::atomic<std::uint64_t> taken_twice{0};
  std::vector<std::atomic<std::uint8_t>> owners((256 << 20) / 16);
  in_threads(threads, [&](int n) {
    std::uint64_t chance = static_cast<std::uint64_t>(n) + 1;
    for (int i = 0; i < rounds; ++i) {
      chance = chance * 6364136223846793005u + 1442695040888963407u;
      const std::uint64_t offset = *r.h->allocate(record_bytes);
      taken_twice += owners.at(offset / 16).exchange(1);
      std::uint64_t other = 0;
      {
        std::scoped_lock lock(handing);
        handed.push_back(offset);
        std::swap(handed[(chance >> 33) % handed.size()], handed.back());
        if (handed.size() > 1000) other = handed.back(), handed.pop_back();
      }
      if (other == 0) continue;
      owners.at(other / 16) = 0;
      if ((chance >> 40 & 1) != 0) r.h->retire(other, record_bytes);
      else r.h->free(other, record_bytes);
    }
  });
  EXPECT_EQ(taken_twice, 0u);
  EXPECT_EQ(std::set(handed.begin(), handed.end()).size(), handed.size());
  EXPECT_EQ(r.h->reachable_bytes(), handed.size() * cell_bytes_for(record_bytes));
  for (std::uint64_t offset : handed) r.h->retire(offset, record_bytes);
  EXPECT_EQ(r.h->reachable_bytes(), 0u);
  EXPECT_TRUE(r.h->settle());
  EXPECT_EQ(r.h->used_bytes(), 0u);
  EXPECT_EQ(r.h->pending_bytes(), 0u);
  r.h->release_idle_slabs();
  EXPECT_EQ(r.h->idle_cell_bytes(), 0u);
}

/// What lanes of other threads hold is had before no_space is answered.
TEST(HeapLanes, NoSpaceIsAnsweredOnlyWhenNoLaneHasACell) {
  rig r(std::uint64_t{4} << 20);
  in_threads(3, [&](int) { (void)r.h->allocate(record_bytes); });  // a slab each, but for one cell
  std::uint64_t cells = 3;
  while (r.h->allocate(record_bytes)) ++cells;
  EXPECT_EQ(r.h->used_bytes(), cells * cell_bytes_for(record_bytes));
  // what is left in a slab is too short for a cell
  const std::uint64_t in_slab = slab_bytes / cell_bytes_for(record_bytes);
  EXPECT_EQ(cells % in_slab, 0u);
  EXPECT_EQ(r.h->idle_cell_bytes(), cells / in_slab * (slab_bytes % cell_bytes_for(record_bytes)));
}

/// Each thread holds one cell at a time, and there are more: a lane of another thread may have them
/// at every moment.
TEST(HeapLanes, NoSpaceIsNeverAnsweredWhileCellsChangeHands) {
  rig r(std::uint64_t{4} << 20);
  std::vector<std::uint64_t> all;
  while (auto offset = r.h->allocate(record_bytes)) all.push_back(*offset);
  for (std::size_t n = 0; n < 8; ++n) r.h->free(all[n * all.size() / 8], record_bytes);
  std::atomic<int> none{0};
  in_threads(2, [&](int) {
    for (int n = 0; n < 200'000; ++n) {
      if (auto offset = r.h->allocate(record_bytes)) r.h->retire(*offset, record_bytes);
      else ++none;
    }
  });
  EXPECT_EQ(none, 0);
}

/// What is in use is never told as less than nothing, whoever gives cells back meanwhile.
TEST(HeapLanes, WhatIsInUseIsToldBesideThoseWhoGiveBack) {
  rig r;
  std::atomic<bool> over{false};
  std::uint64_t most = 0;
  std::thread asks([&] {
    while (!over) most = std::max(most, r.h->reachable_bytes());
  });
  in_threads(2, [&](int) {
    for (int n = 0; n < 100'000; ++n) r.h->retire(*r.h->allocate(record_bytes), record_bytes);
  });
  over = true;
  asks.join();
  EXPECT_LE(most, r.p->end());
}

/// One that ends does not open the lanes for the others.
TEST(HeapLanes, TwoCompactionsAtOnceTakeCellsFromTheFront) {
  rig r;
  std::vector<std::uint64_t> cells;
  for (int n = 0; n < 3000; ++n) cells.push_back(*r.h->allocate(record_bytes));
  for (std::size_t n = 0; n < 1170; ++n) r.h->free(cells[n], record_bytes);  // slabs in front
  r.h->release_idle_slabs();
  r.h->free(cells[2900], record_bytes);
  heap<process_medium>::front_first mine(*r.h);
  { heap<process_medium>::front_first another(*r.h); }
  ASSERT_TRUE(r.h->has_room_before(cells[2900], record_bytes));
  EXPECT_LT(*r.h->allocate(record_bytes), cells[1170]);
}

/// Compaction takes cells from the front, whatever lanes had.
TEST(HeapLanes, WhileCompactionRunsCellsComeFromTheFront) {
  rig r;
  std::vector<std::uint64_t> cells;
  for (int n = 0; n < 3000; ++n) cells.push_back(*r.h->allocate(record_bytes));
  const std::uint64_t front = cells.front();
  r.h->free(front, record_bytes);
  {
    heap<process_medium>::front_first compaction(*r.h);
    EXPECT_TRUE(r.h->has_room_before(cells.back(), record_bytes));
    EXPECT_EQ(r.h->allocate(record_bytes), front);
  }
  EXPECT_NE(*r.h->allocate(record_bytes), front);
  EXPECT_EQ(r.h->used_bytes(), (cells.size() + 1) * cell_bytes_for(record_bytes));
}

/// What a clean close saves is what lanes leave behind, and reads back.
TEST(HeapLanes, ASavedHeapHasNoLanes) {
  rig r;
  std::map<std::uint64_t, std::uint64_t> cells;
  for (std::uint64_t n = 0; n < 2000; ++n) {
    const std::uint64_t bytes = 16 + n * 37 % 2000;
    cells.emplace(*r.h->allocate(bytes), bytes);
  }
  auto words = r.h->save();
  ASSERT_TRUE(words);
  // as at an opening: what is free below the end is not known to be
  while (r.p->free_bytes() != 0) ASSERT_TRUE(r.p->allocate(page_bytes, page_bytes));
  heap<process_medium> again(*r.p);
  again.begin_recovery();
  ASSERT_TRUE(again.restore(*words));
  EXPECT_EQ(again.used_bytes(), r.h->used_bytes());
  for (auto [offset, bytes] : cells) EXPECT_TRUE(again.holds(offset, bytes));
  again.end_recovery();
  for (int n = 0; n < 5000; ++n) EXPECT_FALSE(cells.contains(*again.allocate(record_bytes)));
}

/// More than a lane keeps, some too large for lanes; and the heap may be used in between.
TEST(HeapLanes, CellsThatAreRetiredTogetherAreFreeAtTheEnd) {
  rig r;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> cells;
  for (std::uint64_t n = 0; n < 200; ++n) {
    const std::uint64_t bytes = n % 50 == 49 ? 100'000 : record_bytes;
    cells.emplace_back(*r.h->allocate(bytes), bytes);
  }
  {
    heap<process_medium>::retiring several(*r.h);
    for (std::size_t n = 0; n < cells.size(); ++n) {
      several(cells[n].first, cells[n].second);
      if (n % 90 != 89) continue;
      several.release();
      r.h->free(*r.h->allocate(record_bytes), record_bytes);
    }
  }
  EXPECT_TRUE(r.h->settle());
  EXPECT_EQ(r.h->used_bytes(), 0u);
}

/// Where lanes are closed each goes to the heap by itself.
TEST(HeapLanes, CellsAreRetiredTogetherWhileLanesAreClosed) {
  rig r;
  const std::uint64_t one = *r.h->allocate(record_bytes), two = *r.h->allocate(record_bytes);
  {
    heap<process_medium>::front_first compaction(*r.h);
    heap<process_medium>::retiring several(*r.h);
    several(one, record_bytes), several(two, record_bytes);
  }
  EXPECT_TRUE(r.h->settle());
  EXPECT_EQ(r.h->used_bytes(), 0u);
}

/// In a damaged pool two slots may name one record, or one that is gone: such a cell is left alone.
TEST(HeapLanes, ACellThatIsNotInUseIsNotRetired) {
  rig r;
  const std::uint64_t cell = *r.h->allocate(record_bytes), other = *r.h->allocate(record_bytes);
  r.h->retire(cell, record_bytes);
  EXPECT_TRUE(r.h->settle());
  r.h->retire(cell, record_bytes);
  r.h->retire(cell + 16, record_bytes);
  EXPECT_TRUE(r.h->settle());
  EXPECT_EQ(r.h->used_bytes(), cell_bytes_for(record_bytes));
  EXPECT_NE(r.h->allocate(record_bytes), other);
}

}  // namespace
}  // namespace durahash::test
