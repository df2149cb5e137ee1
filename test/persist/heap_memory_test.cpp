// The heap while the process has no memory.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <new>

#include "media/mapping.hpp"
#include "media/process_medium.hpp"
#include "persist/heap.hpp"

namespace {
thread_local bool has_memory = true;
}

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  void* got = has_memory ? std::malloc(bytes) : nullptr;
  if (got == nullptr) throw std::bad_alloc();
  return got;
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return has_memory ? std::malloc(bytes) : nullptr;
}
[[gnu::noinline]] void operator delete(void* at) noexcept { std::free(at); }
[[gnu::noinline]] void operator delete(void* at, std::size_t) noexcept { std::free(at); }

namespace durahash::test {
namespace {

using M = process_medium;

struct no_memory {
  no_memory() { has_memory = false; }
  ~no_memory() { has_memory = true; }
};

std::unique_ptr<pool<M>> small_pool() {
  auto map = std::move(
      *mapping::open({.path = {}, .medium = medium_kind::memory, .address_space_bytes = 64 << 20}));
  return std::move(
      *pool<M>::create(std::move(map), std::make_unique<M>(),
                       new_superblock(engine_kind::turbo, data_kind::bytes, data_kind::bytes,
                                      durability_level::process, {}, page_bytes)));
}

/// A pool with two cells, and a heap that recovers it.
struct recovering {
  std::unique_ptr<pool<M>> p = small_pool();
  std::uint64_t kept, unlinked;
  std::unique_ptr<heap<M>> h;
  recovering() {
    heap<M> before(*p);
    kept = *before.allocate(100), unlinked = *before.allocate(100);
    while (p->free_bytes() != 0) (void)p->allocate(page_bytes, page_bytes);  // as at an opening
    h = std::make_unique<heap<M>>(*p);
    h->begin_recovery();
  }
};

/// A record is replaced before the count comes to it, a reader has found it, and it cannot be noted
/// that it waits for that one.
TEST(HeapMemory, WhatWasUnlinkedDuringRecoveryIsNotHandedOutToo) {
  recovering r;
  epochs::guard reader(r.h->readers());
  EXPECT_TRUE(r.h->adopt(r.kept, 100));
  {
    no_memory none;
    r.h->retire(r.unlinked, 100);
  }
  r.h->end_recovery();
  for (int n = 0; n < 1000; ++n) ASSERT_NE(*r.h->allocate(100), r.unlinked);
  EXPECT_FALSE(r.h->save()) << "a stranded cell is nobody's";
}

/// Not even that it is in use: what is free is not known then.
TEST(HeapMemory, ARecoveryThatForgetsWhatIsInUseHasNotEnded) {
  recovering r;
  epochs::guard reader(r.h->readers());
  {
    no_memory none;  // for the cell's slab, either
    r.h->retire(r.unlinked, 100);
  }
  EXPECT_TRUE(r.h->adopt(r.kept, 100));
  EXPECT_THROW(r.h->end_recovery(), std::bad_alloc);
}

}  // namespace
}  // namespace durahash::test
