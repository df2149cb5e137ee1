// Which parts of the pool are free. Lives in DRAM: the truth is what the engine's root reaches (CRASH.md X3).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "base/bits.hpp"

namespace durahash {

/// Free extents, in whole pages, neighbours joined. Not thread-safe: its owner locks.
class free_space {
 public:
  /// Adds a free range. It must not overlap one that is free already.
  void give(std::uint64_t offset, std::uint64_t bytes);

  /// Takes a range, as near the pool's front as it finds one, so that the tail can be given back.
  /// Cost      logarithmic in the number of free extents.
  std::optional<std::uint64_t> take(std::uint64_t bytes, std::uint64_t alignment);

  /// Takes all that is free at or behind `offset` up to `end`, if [x, end) is free for some x. Returns the lowest such x, else `end`.
  std::uint64_t take_tail(std::uint64_t end);

  std::uint64_t bytes() const noexcept { return bytes_; }
  void clear();

  template <class Visit>
  void for_each(Visit&& visit) const {
    for (auto [offset, bytes] : by_offset_) visit(offset, bytes);
  }

 private:
  using iterator = std::map<std::uint64_t, std::uint64_t>::iterator;
  static unsigned order_of(std::uint64_t bytes);  // floor(log2(pages))
  iterator add(std::uint64_t offset, std::uint64_t bytes);
  void remove(iterator at);
  iterator first_fit(unsigned order, std::uint64_t bytes, std::uint64_t alignment);
  std::uint64_t carve(iterator at, std::uint64_t start, std::uint64_t bytes);

  std::map<std::uint64_t, std::uint64_t> by_offset_;         // offset -> bytes
  std::array<std::set<std::uint64_t>, 52> offsets_of_order_;  // extents of [2^k, 2^(k+1)) pages
  std::uint64_t bytes_ = 0;
};

}  // namespace durahash
