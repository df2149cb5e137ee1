// Which parts of the pool are free. Lives in DRAM: the truth is what the engine's root reaches.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>

#include "base/bits.hpp"

namespace durahash {

/// Free extents, in whole pages, neighbours joined. Not thread-safe: its owner locks.
/// What throws std::bad_alloc has changed nothing.
class free_space {
  using extents = std::map<std::uint64_t, std::uint64_t>;  // offset -> bytes
  struct nodes {
    extents::node_type by_offset, of_order;
  };

 public:
  /// The memory that noting one more extent takes.
  class spare {
   public:
    spare() = default;
    bool empty() const noexcept { return nodes_.by_offset.empty(); }

   private:
    friend free_space;
    nodes nodes_;
  };
  /// May throw.
  static spare make_spare();

  /// Adds a free range. It must not overlap one that is free already. Uses the spare if it must.
  void give(std::uint64_t offset, std::uint64_t bytes, spare& memory) noexcept;
  /// The same, with memory of its own. May throw.
  void give(std::uint64_t offset, std::uint64_t bytes) {
    spare memory = make_spare();
    give(offset, bytes, memory);
  }

  /// Takes a range, near the pool's front, so that the tail can be given back; nothing only if no
  /// free extent holds it. May throw.
  /// Cost      logarithmic in the number of free extents; where a range is hard to find, linear.
  std::optional<std::uint64_t> take(std::uint64_t bytes, std::uint64_t alignment);

  /// Where `take` would find it. Does not throw.
  std::optional<std::uint64_t> find(std::uint64_t bytes, std::uint64_t alignment) const noexcept;

  /// Takes all that is free at or behind `offset` up to `end`, if [x, end) is free for some x. Returns
  /// the lowest such x, else `end`. Does not throw.
  std::uint64_t take_tail(std::uint64_t end) noexcept;

  std::uint64_t bytes() const noexcept { return bytes_; }

  template <class Visit>
  void for_each(Visit&& visit) const {
    for (auto [offset, bytes] : by_offset_) visit(offset, bytes);
  }

 private:
  static unsigned order_of(std::uint64_t bytes) noexcept;  // floor(log2(pages))
  void add(nodes n, std::uint64_t offset, std::uint64_t bytes) noexcept;
  nodes remove(extents::iterator at) noexcept;
  bool first_fit(const extents& candidates, int tries, std::uint64_t bytes, std::uint64_t alignment, std::uint64_t& found) const noexcept;

  extents by_offset_;
  std::array<extents, 52> of_order_;  // extents of [2^k, 2^(k+1)) pages
  std::uint64_t bytes_ = 0;
};

}  // namespace durahash
