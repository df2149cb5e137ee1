// A level that is written in the background before it is needed, to be the next top.
//
//   It is whole or being filled; who adds it takes a whole one. Where it is changes only under the
//   levels' lock, and not while it is being filled.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/turns.hpp"
#include "engine/level/format.hpp"
#include "persist/heap.hpp"

namespace durahash::level {

template <medium M>
class prepared_level {
 public:
  prepared_level(heap<M>& h, const level::shape& s) noexcept : heap_(h), shape_(s) {}

  /// Whether nobody has asked before for one that is not begun.
  bool ask() noexcept { return !asked_.exchange(true); }
  void take_up() noexcept { asked_ = false; }
  /// Until none is being filled.
  void await() const { await_change(filling_, true); }

  // under the levels' lock
  bool is_there() const noexcept { return offset_ != 0; }
  std::uint64_t cell_bytes() const noexcept { return is_there() ? cell_bytes_for(bytes()) : 0; }
  void begin(loose_cell<M> place, unsigned log2) noexcept {
    offset_ = place.keep();
    log2_ = log2;
    filling_ = true;
  }
  /// A whole one of this size.
  std::optional<loose_cell<M>> take(unsigned log2) noexcept {
    if (!is_there() || log2_ != log2 || filling_) return std::nullopt;
    return std::optional<loose_cell<M>>(std::in_place, heap_, std::exchange(offset_, 0), bytes());
  }
  /// One that is being filled stays.
  void drop() noexcept {
    if (is_there() && !filling_) heap_.free(std::exchange(offset_, 0), bytes());
  }
  void drop_other_than(unsigned log2) noexcept {
    if (log2_ != log2) drop();
  }

  /// By who has filled it, or has given up.
  void end() noexcept {
    filling_ = false;
    filling_.notify_all();
  }

 private:
  std::uint64_t bytes() const noexcept { return shape_.level_bytes(log2_); }

  heap<M>& heap_;
  const level::shape& shape_;
  std::uint64_t offset_ = 0;  // or 0: there is none
  unsigned log2_ = 0;
  std::atomic<bool> asked_{false}, filling_{false};
};

}  // namespace durahash::level
