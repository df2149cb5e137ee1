// The allocator: cells never overlap, nothing leaks, and recovery by reachability finds the same
// state as a clean close saves.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "media/process_medium.hpp"
#include "persist/heap.hpp"
#include "persist/record.hpp"
#include "test/store/random.hpp"

namespace durahash::test {
namespace {

using M = process_medium;
constexpr std::uint64_t mib = 1 << 20;

/// A pool in memory, without an engine.
std::unique_ptr<pool<M>> new_pool(std::uint64_t max_bytes = 0, std::uint64_t incompat = 0) {
  auto map = mapping::open({.path = {},
                            .medium = medium_kind::memory,
                            .address_space_bytes = 512 * mib,
                            .max_bytes = max_bytes});
  superblock block = new_superblock(engine_kind::turbo, data_kind::bytes, data_kind::bytes,
                                    durability_level::process, {}, 4096);
  block.incompat |= incompat;
  auto made = pool<M>::create(std::move(*map), std::make_unique<M>(), block);
  EXPECT_TRUE(made);
  EXPECT_TRUE((*made)->may_change());
  return std::move(*made);
}

/// The cells that somebody has, by offset.
class cells {
 public:
  void add(std::uint64_t offset, std::uint64_t bytes) {
    auto next = all_.lower_bound(offset);
    if (next != all_.end()) {
      EXPECT_LE(offset + bytes, next->first) << "it overlaps the next one";
    }
    if (next != all_.begin()) {
      EXPECT_LE(std::prev(next)->first + std::prev(next)->second, offset) << "the one before";
    }
    all_.emplace_hint(next, offset, bytes);
    used_ += cell_bytes_for(bytes);
  }
  std::pair<std::uint64_t, std::uint64_t> take_any(random_stream& random) {
    auto at = all_.lower_bound(random.below(all_.rbegin()->first + 1));
    auto taken = *at;
    all_.erase(at);
    used_ -= cell_bytes_for(taken.second);
    return taken;
  }
  bool empty() const { return all_.empty(); }
  std::uint64_t used_bytes() const { return used_; }
  const std::map<std::uint64_t, std::uint64_t>& all() const { return all_; }

 private:
  std::map<std::uint64_t, std::uint64_t> all_;
  std::uint64_t used_ = 0;
};

std::uint64_t any_size(random_stream& random) {
  switch (random.below(10)) {
    case 0: return 1 + random.below(200 << 10);  // extents of their own
    case 1: return 1 + random.below(32 << 10);
    default: return 1 + random.below(500);
  }
}

/// Allocates and gives back at random. With `retire` by way of the readers.
void churn(heap<M>& h, const pool<M>& p, cells& mine, random_stream& random, int steps,
           bool retire) {
  for (int i = 0; i < steps; ++i) {
    if (mine.empty() || !random.one_in(3)) {
      const std::uint64_t bytes = any_size(random);
      auto offset = h.allocate(bytes);
      ASSERT_TRUE(offset);
      EXPECT_EQ(*offset % 16, 0u);
      if (bytes % 256 == 0) {
        EXPECT_EQ(*offset % 256, 0u);
      }
      EXPECT_GE(*offset, p.block().heap_offset);
      EXPECT_LE(*offset + bytes, p.end());
      std::memset(p.at(*offset), 0xee, bytes);
      mine.add(*offset, bytes);
    } else {
      auto [offset, bytes] = mine.take_any(random);
      retire ? h.retire(offset, bytes) : h.free(offset, bytes);
    }
  }
  if (retire) {
    EXPECT_TRUE(h.settle());
  }
  EXPECT_EQ(h.used_bytes(), mine.used_bytes());
  EXPECT_EQ(h.pending_bytes(), 0u);
}

TEST(Heap, CellsNeverOverlapAndNothingLeaks) {
  for (bool retire : {false, true}) {
    random_stream random(stream_seed("Heap.CellsNeverOverlap"));
    auto p = new_pool();
    heap<M> h(*p);
    cells mine;
    churn(h, *p, mine, random, 8000, retire);
    while (!mine.empty()) {
      auto [offset, bytes] = mine.take_any(random);
      h.free(offset, bytes);
    }
    h.release_idle_slabs();
    EXPECT_EQ(h.used_bytes(), 0u);
    EXPECT_EQ(h.idle_cell_bytes(), 0u);
    EXPECT_EQ(p->free_bytes(), p->end() - p->block().heap_offset)
        << "all space is the pool's again";
  }
}

TEST(Heap, ThreadsShareIt) {
  auto p = new_pool();
  heap<M> h(*p);
  cells everybodys[4];
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      random_stream random(stream_seed("Heap.ThreadsShareIt") + static_cast<std::uint64_t>(t));
      for (int i = 0; i < 4000; ++i) {
        cells& mine = everybodys[t];
        if (mine.empty() || !random.one_in(3)) {
          const std::uint64_t bytes = 1 + random.below(500);
          auto offset = h.allocate(bytes);
          ASSERT_TRUE(offset);
          mine.add(*offset, bytes);
        } else {
          auto [offset, bytes] = mine.take_any(random);
          h.retire(offset, bytes);
        }
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_TRUE(h.settle());
  cells all;
  for (const cells& some : everybodys)
    for (auto [offset, bytes] : some.all()) all.add(offset, bytes);
  EXPECT_EQ(h.used_bytes(), all.used_bytes());
}

TEST(Heap, WhatAReaderMaySeeIsNotHandedOutAgain) {
  auto p = new_pool();
  heap<M> h(*p);
  const std::uint64_t bytes = 64;
  const std::uint64_t seen = *h.allocate(bytes);
  {
    epochs::guard reader(h.readers());
    h.retire(seen, bytes);
    h.reclaim();
    EXPECT_EQ(h.bytes_held_by_readers(), 64u);
    for (int i = 0; i < 5000; ++i) EXPECT_NE(*h.allocate(bytes), seen);
    EXPECT_FALSE(h.settle()) << "this thread reads: to wait for it would be for ever";
  }
  EXPECT_TRUE(h.settle());
  EXPECT_EQ(h.bytes_held_by_readers(), 0u);
}

TEST(Heap, RecoveryByReachabilityIsWhatACleanCloseSaves) {
  random_stream random(stream_seed("Heap.Recovery"));
  auto p = new_pool();
  cells mine;
  std::vector<std::uint64_t> saved;
  std::uint64_t free_before = 0;
  {
    heap<M> h(*p);
    churn(h, *p, mine, random, 4000, true);
    h.release_idle_slabs();
    saved = *h.save();
    free_before = p->free_bytes();
  }
  p->end();
  for (bool by_saved_state : {true, false}) {
    auto map = mapping::open(
        {.path = {}, .medium = medium_kind::memory, .address_space_bytes = 512 * mib});
    ASSERT_EQ((*map)->grow(p->end()), status::ok);
    root_record root{};
    root.pool_bytes = p->end();
    root.state = pool_state::changing;
    pool<M> again(std::move(*map), std::make_unique<M>(), p->block(), root);
    heap<M> h(again);
    h.begin_recovery();
    if (by_saved_state) {
      EXPECT_TRUE(h.restore(saved));
    } else
      for (auto [offset, bytes] : mine.all()) EXPECT_TRUE(h.adopt(offset, bytes));
    h.end_recovery();
    EXPECT_EQ(h.used_bytes(), mine.used_bytes());
    EXPECT_EQ(again.free_bytes(), free_before);
    EXPECT_EQ(*h.save(), saved);
    for (auto [offset, bytes] : mine.all()) EXPECT_TRUE(h.holds(offset, bytes));
    cells more = mine;
    churn(h, again, more, random, 1000, false);
  }
}

TEST(Heap, ADamagedPoolIsNotBelieved) {
  auto p = new_pool();
  std::uint64_t small = 0, large = 0;
  std::vector<std::uint64_t> saved;
  {
    heap<M> h(*p);
    small = *h.allocate(100);
    large = *h.allocate(100 << 10);
    saved = *h.save();
  }
  heap<M> h(*p);
  h.begin_recovery();
  EXPECT_TRUE(h.adopt(small, 100));
  EXPECT_FALSE(h.adopt(small, 100)) << "reached twice";
  EXPECT_FALSE(h.adopt(small + 16, 100)) << "between two cells";
  EXPECT_FALSE(h.adopt(small, 1000)) << "of another class";
  EXPECT_FALSE(h.adopt(align_down(small, slab_bytes), 100 << 10)) << "an extent over a slab";
  EXPECT_FALSE(h.adopt(0, 100)) << "in front of the heap";
  EXPECT_FALSE(h.adopt(p->end(), 100)) << "behind the end";
  EXPECT_TRUE(h.adopt(large, 100 << 10));
  EXPECT_FALSE(h.adopt(large + page_bytes, 100 << 10)) << "two extents overlap";
  // A saved state of which any word is changed is refused, or says the same of what is in use.
  for (std::size_t i = 0; i < saved.size(); ++i) {
    heap<M> other(*p);
    other.begin_recovery();
    auto changed = saved;
    changed[i] ^= std::uint64_t{1} << 50;
    EXPECT_FALSE(other.restore(changed) && other.used_bytes() > p->end()) << "word " << i;
  }
}

/// Sizes and places that no heap has saved, and whose sums pass the end of 64 bits.
TEST(Heap, AForgedStateIsNotBelieved) {
  const std::uint64_t all_bits = ~std::uint64_t{0};
  {
    auto p = new_pool();
    heap<M> h(*p);
    const std::uint64_t large = *h.allocate(100 << 10);
    for (std::uint64_t bytes :
         {all_bits, all_bits - 15, all_bits - large, std::uint64_t{p->end()}}) {
      heap<M> other(*p);
      other.begin_recovery();
      EXPECT_FALSE(other.restore({0, 1, large, bytes})) << bytes;
      EXPECT_FALSE(other.adopt(large, bytes)) << bytes;
    }
  }
  superblock block = new_superblock(engine_kind::turbo, data_kind::bytes, data_kind::bytes,
                                    durability_level::process, {}, 16);
  block.heap_offset = engine_area_offset + page_bytes;
  auto map =
      mapping::open({.path = {}, .medium = medium_kind::memory, .address_space_bytes = 512 * mib});
  auto p = std::move(*pool<M>::create(std::move(*map), std::make_unique<M>(), block));
  heap<M> h(*p);
  h.begin_recovery();
  ASSERT_LT(p->end(), slab_bytes) << "a pool without a slab";
  EXPECT_FALSE(h.restore({1, 0, 16 * mib, 16384, all_bits << 4 | 1})) << "a slab behind the end";
  h.end_recovery();
  EXPECT_LE(p->free_bytes(), p->end());
}

/// Who writes does not free at once all that a reader kept back.
TEST(Heap, AWriteFreesABoundedShareOfWhatReadersLeft) {
  auto p = new_pool();
  heap<M> h(*p);
  constexpr std::uint64_t bytes = 2000, cells = 20'000;
  std::vector<std::uint64_t> all;
  for (std::uint64_t n = 0; n < cells; ++n) all.push_back(*h.allocate(bytes));
  {
    epochs::guard reader(h.readers());
    for (std::uint64_t offset : all) h.retire(offset, bytes);
    EXPECT_EQ(h.pending_bytes(), cells * cell_bytes_for(bytes));
  }
  const std::uint64_t more = *h.allocate(bytes);
  for (int n = 0; n < 512; ++n) h.retire(n == 0 ? more : *h.allocate(bytes), bytes);
  EXPECT_LT(h.pending_bytes(), cells * cell_bytes_for(bytes)) << "it has begun";
  EXPECT_GT(h.pending_bytes(), cells / 4 * cell_bytes_for(bytes)) << "and has gone on to the end";
  EXPECT_TRUE(h.settle());
  EXPECT_EQ(h.pending_bytes(), 0u);
}

TEST(Heap, AFullPoolAnswersAndGoesOnWhenSomethingIsGivenBack) {
  auto p = new_pool(8 * mib);
  heap<M> h(*p);
  std::vector<std::uint64_t> all;
  while (auto offset = h.allocate(1000)) all.push_back(*offset);
  EXPECT_GT(all.size(), 7 * mib / 1024) << "nearly all of it was used";
  h.retire(all.back(), 1000);
  EXPECT_TRUE(h.allocate(1000)) << "no reader is there: it is reclaimed at once";
  EXPECT_FALSE(h.allocate(1000));
}

TEST(Heap, ALooseCellGoesBackUnlessItIsKept) {
  auto p = new_pool();
  heap<M> h(*p);
  { auto loose = allocate_loose(h, 100); }
  EXPECT_EQ(h.used_bytes(), 0u);
  std::uint64_t kept = 0;
  {
    auto loose = allocate_loose(h, 100);
    auto moved = std::move(*loose);
    kept = moved.keep();
  }
  EXPECT_EQ(h.used_bytes(), cell_bytes_for(100));
  h.free(kept, 100);
}

TEST(SizeClasses, HoldWhatIsAskedForAndWasteAFifthAtMost) {
  for (std::uint64_t bytes = 1; bytes <= largest_cell_bytes; ++bytes) {
    const std::uint64_t cell = cell_bytes_for(bytes);
    ASSERT_GE(cell, bytes);
    ASSERT_EQ(cell_bytes_for(cell), cell);
    ASSERT_EQ(cell % 16, 0u);
    if (bytes % block_bytes == 0) {
      ASSERT_EQ(cell % block_bytes, 0u);
    }
    ASSERT_LT(class_of(cell), class_count);
    if (bytes > 128) {
      ASSERT_LE((cell - bytes) * 5, cell) << bytes;
    }
    if (bytes > 1) {
      ASSERT_GE(class_of(cell), class_of(cell_bytes_for(bytes - 1)));
    }
  }
}

/// Of a pool that may have short headers, or of one that may not.
class RecordForm : public testing::TestWithParam<bool> {
 protected:
  std::unique_ptr<pool<M>> made() const { return new_pool(0, GetParam() ? has_short_records : 0); }
};
INSTANTIATE_TEST_SUITE_P(, RecordForm, testing::Bool(), [](const auto& its) {
  return std::string(its.param ? "short_headers" : "long_headers");
});

TEST_P(RecordForm, IsReadBackAndAChangedByteIsNoticed) {
  random_stream random(stream_seed("Record"));
  auto p = made();
  M& m = p->medium();
  heap<M> h(*p);
  for (int round = 0; round < 200; ++round) {
    std::string key(random.below(40), 'k'), value(random.below(400), 'v');
    for (char& c : key) c = static_cast<char>(random.next());
    for (char& c : value) c = static_cast<char>(random.next());
    flushed started;
    auto offset = write_record<false>(m, h, *p, key, value, started);
    ASSERT_NE(offset, 0u);
    auto record = record_at(m, *p, offset);
    ASSERT_TRUE(record);
    EXPECT_EQ(record->key, key);
    EXPECT_EQ(record->value, value);
    EXPECT_EQ(record->bytes(), (GetParam() ? 8 : 16) + key.size() + value.size());
    EXPECT_TRUE(is_whole(*record));
    std::byte* const at = p->at(offset);
    for (std::uint64_t n = 0; n < record->bytes(); ++n) {  // each byte of it, the header's too
      at[n] ^= std::byte{4};
      const auto changed = record_at(m, *p, offset);
      EXPECT_FALSE(changed && is_whole(*changed)) << n;
      at[n] ^= std::byte{4};
    }
    EXPECT_TRUE(is_whole(*record));
  }
}

TEST_P(RecordForm, WhoseKeyLiesElsewhereIsOfThatKeyAlone) {
  auto p = made();
  M& m = p->medium();
  heap<M> h(*p);
  flushed started;
  auto offset = write_record<true>(m, h, *p, "sixteen bytes 01", "the value", started);
  ASSERT_NE(offset, 0u);
  auto record = record_at(m, *p, offset);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->key, "");
  EXPECT_EQ(record->value, "the value");
  EXPECT_FALSE(is_whole(*record));
  record->key = "sixteen bytes 02";
  EXPECT_FALSE(is_whole(*record));
  record->key = "sixteen bytes 01";
  EXPECT_TRUE(is_whole(*record));
  EXPECT_EQ(record->bytes(), (GetParam() ? 8 : 16) + record->value.size());
}

/// The longest ones that a short header can tell of, and those a byte longer.
TEST_P(RecordForm, HasALongHeaderWhereAShortOneIsTooShort) {
  auto p = made();
  M& m = p->medium();
  heap<M> h(*p);
  for (std::size_t key_bytes : {127, 128, 65536})
    for (std::size_t value_bytes :
         {std::size_t{0}, std::size_t{1 << 24} - 1, std::size_t{1 << 24}}) {
      const std::string key(key_bytes, 'k'), value(value_bytes, 'v');
      flushed started;
      auto offset = write_record<false>(m, h, *p, key, value, started);
      ASSERT_NE(offset, 0u);
      auto record = record_at(m, *p, offset);
      ASSERT_TRUE(record);
      const bool is_short = GetParam() && key_bytes == 127 && value_bytes < (1 << 24);
      EXPECT_EQ(record->bytes(), (is_short ? 8 : 16) + key_bytes + value_bytes);
      EXPECT_TRUE(record->key == key && record->value == value && is_whole(*record));
    }
}

TEST(Record, NoOffsetLeadsOutOfThePool) {
  auto p = new_pool();
  M& m = p->medium();
  random_stream random(stream_seed("Record.NoOffset"));
  std::memset(p->at(p->block().heap_offset), 0xff, p->end() - p->block().heap_offset);
  for (std::uint64_t offset :
       {std::uint64_t{0}, std::uint64_t{8}, p->end(), p->end() - 8, ~std::uint64_t{15}})
    EXPECT_FALSE(record_at(m, *p, offset)) << offset;
  for (int i = 0; i < 1000; ++i)
    if (auto record = record_at(m, *p, random.next() & ~std::uint64_t{15})) {
      EXPECT_LE(record->bytes(), p->end());
    }
}

}  // namespace
}  // namespace durahash::test
