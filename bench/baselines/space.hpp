// The memory of one baseline: a root of one page, then extents of whole lines. What is free is
// known in DRAM alone, and found anew by what recovery reaches.
//
// The papers' tables take memory from an allocator and leak it when a crash comes before it is
// linked. That is the allocator's matter and not compared here: nothing leaks, and an allocation
// costs no flush.
#pragma once

#include <algorithm>
#include <map>

#include "base/bits.hpp"
#include "media/mapping.hpp"
#include "persist/order.hpp"

namespace durahash::baselines {

template <class T>
concept lies_in_pool = std::is_standard_layout_v<T>;

class free_extents {
 public:
  /// Returns 0 where no extent is large enough.
  std::uint64_t take(std::uint64_t bytes) {
    for (auto e = free_.begin(); e != free_.end(); ++e) {
      if (e->second < bytes) continue;
      std::uint64_t at = e->first, left = e->second - bytes;
      free_.erase(e);
      if (left != 0) free_.emplace(at + bytes, left);
      return at;
    }
    return 0;
  }
  void give(std::uint64_t at, std::uint64_t bytes) {
    auto next = free_.lower_bound(at);
    if (next != free_.end() && at + bytes == next->first) {
      bytes += next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin() && std::prev(next)->first + std::prev(next)->second == at)
      std::prev(next)->second += bytes;
    else free_.emplace(at, bytes);
  }
  /// Takes just this extent. Returns false where it is not all free.
  bool take_at(std::uint64_t at, std::uint64_t bytes) {
    auto e = free_.upper_bound(at);
    if (e == free_.begin()) return false;
    --e;
    std::uint64_t begin = e->first, end = begin + e->second;
    if (at + bytes > end || at + bytes < at) return false;
    free_.erase(e);
    if (begin < at) free_.emplace(begin, at - begin);
    if (at + bytes < end) free_.emplace(at + bytes, end - at - bytes);
    return true;
  }
  void clear() { free_.clear(); }
  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (auto [at, count] : free_) sum += count;
    return sum;
  }

 private:
  std::map<std::uint64_t, std::uint64_t> free_;  // bytes by offset, no two of them adjacent
};

template <class M>
class space {
 public:
  space(mapping& memory, M& m) : memory_(memory), medium_(m) {}

  M& medium() const noexcept { return medium_; }

  template <lies_in_pool T>
  T& root() {
    static_assert(sizeof(T) <= page_bytes);
    return *reinterpret_cast<T*>(memory_.base());
  }
  template <lies_in_pool T>
  T* at(std::uint64_t offset) const {
    return reinterpret_cast<T*>(memory_.base() + offset);
  }
  std::uint64_t offset_of(const void* object) const {
    return static_cast<std::uint64_t>(static_cast<const std::byte*>(object) - memory_.base());
  }
  std::uint64_t end() const { return memory_.backed_bytes(); }
  std::uint64_t used_bytes() const { return end() - free_.bytes(); }

  /// The root's page, as zeros.
  status create() {
    if (status s = memory_.grow(page_bytes); s != status::ok) return s;
    fill(0, page_bytes, 0);
    (void)persist(medium_, extent{memory_.base(), page_bytes}, "baseline.create");
    return status::ok;
  }

  /// Whole lines of unknown content. Returns 0 where there is no room.
  std::uint64_t allocate(std::uint64_t bytes) {
    bytes = align_up(bytes, line_bytes);
    if (std::uint64_t at = free_.take(bytes)) return at;
    std::uint64_t from = end();
    if (memory_.grow(from + std::max(bytes, from / 4)) != status::ok &&
        memory_.grow(from + bytes) != status::ok)
      return 0;
    free_.give(from, end() - from);
    return free_.take(bytes);
  }
  void release(std::uint64_t at, std::uint64_t bytes) {
    free_.give(at, align_up(bytes, line_bytes));
  }

  /// Every byte becomes `byte`: visible, and flushed by the caller.
  void fill(std::uint64_t at, std::uint64_t bytes, unsigned char byte) {
    std::byte page[page_bytes];
    std::fill_n(page, page_bytes, std::byte{byte});
    std::byte* to = memory_.base() + at;
    for (std::uint64_t done = 0; done < bytes; done += page_bytes)
      store_bytes(medium_, to + done, page, std::min<std::uint64_t>(page_bytes, bytes - done));
  }

  /// Recovery: all but the root's page is free until it is reached.
  void forget() {
    free_.clear();
    if (end() > page_bytes) free_.give(page_bytes, end() - page_bytes);
  }
  /// Returns false where there is no such extent, or something else has been reached in it.
  bool reach(std::uint64_t at, std::uint64_t bytes) {
    return at % line_bytes == 0 && bytes != 0 && free_.take_at(at, align_up(bytes, line_bytes));
  }

  /// All that is visible becomes durable: of a process that was killed, the caches may hold what
  /// was never flushed.
  void settle() { (void)persist(medium_, extent{memory_.base(), end()}, "baseline.settle"); }

 private:
  mapping& memory_;
  M& medium_;
  free_extents free_;
};

/// A record of two words, as most of the papers' tables have it: it never crosses a line.
struct record {
  pm<std::uint64_t> key;
  pm<std::uint64_t> value;
};
static_assert(sizeof(record) == 16 && line_bytes % sizeof(record) == 0);

}  // namespace durahash::baselines
