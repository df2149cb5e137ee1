// Which parts of the pool are free. Lives in DRAM: the truth is what the engine's root reaches.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "base/bits.hpp"

namespace durahash {

/// Free extents, in whole pages, neighbours joined. Not thread-safe: its owner locks.
/// What throws std::bad_alloc has changed nothing.
class free_space {
  using extents = std::map<std::uint64_t, std::uint64_t>;  // offset -> bytes
  using size_class = unsigned;
  using classified = std::map<std::pair<size_class, std::uint64_t>, std::uint64_t>;
  struct nodes {
    extents::node_type by_offset;
    classified::node_type by_class;
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

  /// Takes a range in the frontmost extent that holds it, so that the tail can be given back.
  /// May throw.
  /// Cost      logarithmic in the number of free extents. Long or aligned ranges also pass by each
  ///           extent of about their size that lies in front and does not hold them.
  std::optional<std::uint64_t> take(std::uint64_t bytes, std::uint64_t alignment);

  /// Where `take` would find it. Does not throw.
  std::optional<std::uint64_t> find(std::uint64_t bytes, std::uint64_t alignment) const noexcept;

  /// Takes all that is free at or behind `offset` up to `end`, if [x, end) is free for some x.
  /// Returns the lowest such x, else `end`. Does not throw.
  std::uint64_t take_tail(std::uint64_t end) noexcept;

  std::uint64_t bytes() const noexcept { return bytes_; }

  template <class Visit>
  void for_each(Visit&& visit) const {
    for (auto [offset, bytes] : by_offset_) visit(offset, bytes);
  }

 private:
  /// Up to 15 pages: how many; from there on eight classes for each power of two.
  static size_class class_of(std::uint64_t bytes) noexcept;
  static std::uint64_t min_bytes(size_class c) noexcept;
  void add(nodes n, std::uint64_t offset, std::uint64_t bytes) noexcept;
  nodes remove(extents::iterator at) noexcept;
  classified::const_iterator first_from(size_class c) const noexcept {
    return by_class_.lower_bound({c, 0});
  }

  extents by_offset_;
  classified by_class_;
  std::uint64_t bytes_ = 0;
};

}  // namespace durahash
