// A slab: cells of one size, one bit each. A lane (persist/heap_lanes.hpp) may own it: then the
// holder of the lane's lock alone takes cells from it, and what others free is noted in
// `returned`, until the owner takes it back.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <span>

#include "base/bits.hpp"
#include "base/check.hpp"
#include "persist/size_class.hpp"

namespace durahash {

class slab {
 public:
  slab(std::uint64_t offset, std::uint64_t cell_bytes)
      : offset_(offset),
        cell_bytes_(static_cast<std::uint32_t>(cell_bytes)),
        cells_(static_cast<std::uint16_t>(slab_bytes / cell_bytes)),
        words_(static_cast<std::uint16_t>((cells_ + 63) / 64)),
        bits_(words_ == 1 ? few_ : new std::uint64_t[2 * std::size_t{words_}]()) {
    // cells that do not exist are never free
    if (cells_ % 64 != 0) bits_[words_ - 1] = ~low_bits(cells_ % 64);
  }
  ~slab() {
    if (bits_ != few_) delete[] bits_;
  }
  slab(const slab&) = delete;

  std::uint64_t offset() const noexcept { return offset_; }
  std::uint32_t cell_bytes() const noexcept { return cell_bytes_; }
  std::uint32_t cells() const noexcept { return cells_; }
  std::uint32_t used() const noexcept {
    return used_.load(std::memory_order_relaxed) - returned_cells_;
  }
  bool full() const noexcept { return used() == cells_; }

  /// Whether a cell begins there, and which.
  bool has_cell_at(std::uint64_t offset, std::uint64_t cell_bytes,
                   std::uint32_t& index) const noexcept {
    const auto behind = static_cast<std::uint32_t>(offset - offset_);
    index = behind / cell_bytes_;
    return cell_bytes == cell_bytes_ && behind % cell_bytes_ == 0 && index < cells_;
  }
  bool in_use(std::uint32_t index) const noexcept {
    return ((word(index / 64) & ~returned(index / 64)) >> (index % 64) & 1) != 0;
  }

  /// Takes a free cell and returns its offset; 0: there is none. By who owns the slab.
  std::uint64_t take() noexcept {
    for (std::uint32_t at = first_room_; at < words_; ++at)
      if (~word(at) != 0) return first_room_ = at, take_at_hand();
    return 0;
  }
  /// The same without a search; 0: there is none where the last one was.
  [[gnu::always_inline]] std::uint64_t take_at_hand() noexcept {
    const std::uint64_t at = first_room_, taken = word(at);
    if (~taken == 0) [[unlikely]]
      return 0;
    set_word(at, taken | (taken + 1));
    used_.store(used_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    const std::uint64_t index = at * 64 + static_cast<unsigned>(__builtin_ctzll(~taken));
    return offset_ + index * cell_bytes_;
  }
  /// A cell that is free, and is in use from here on.
  void take(std::uint32_t index) noexcept {
    set_word(index / 64, word(index / 64) | std::uint64_t{1} << (index % 64));
    used_.store(used_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  /// What became of a cell: it was free before; its owner takes it back later; it is free, or all
  /// of them are.
  enum class freed : std::uint8_t { was_free, for_the_owner, one, the_last };
  [[gnu::always_inline]] freed free(std::uint32_t index) noexcept {
    const std::uint64_t bit = std::uint64_t{1} << (index % 64), in_use = word(index / 64);
    if (owned) {
      if ((in_use & ~returned(index / 64) & bit) == 0) return freed::was_free;
      returned(index / 64) |= bit;
      ++returned_cells_;
      return freed::for_the_owner;
    }
    if ((in_use & bit) == 0) return freed::was_free;
    set_word(index / 64, in_use ^ bit);
    first_room_ = std::min(first_room_, index / 64);
    const std::uint32_t left = used_.load(std::memory_order_relaxed) - 1;
    used_.store(left, std::memory_order_relaxed);
    return left == 0 ? freed::the_last : freed::one;
  }
  /// What was freed while it was owned is free. Under the heap's lock and the owner's.
  void take_back_returned() noexcept {
    if (returned_cells_ == 0) return;
    for (std::uint32_t i = 0; i < words_; ++i) {
      set_word(i, word(i) & ~returned(i));
      returned(i) = 0;
    }
    used_.store(used(), std::memory_order_relaxed);
    returned_cells_ = 0;
    first_room_ = 0;
  }

  /// The bitmap, for saving it and reading it back: 1 = in use, or no cell.
  std::span<const std::uint64_t> bits() const noexcept { return {bits_, words_}; }
  /// Returns false when it says that there are more cells than there are, or fewer.
  bool restore(const std::uint64_t* bits) noexcept {
    const std::uint64_t absent = std::uint64_t{words_} * 64 - cells_;
    if (std::popcount(bits_[words_ - 1] & bits[words_ - 1]) != static_cast<int>(absent))
      return false;
    std::copy_n(bits, words_, bits_);
    std::uint64_t set = 0;
    for (std::uint64_t each : this->bits()) set += static_cast<unsigned>(std::popcount(each));
    used_.store(static_cast<std::uint32_t>(set - absent), std::memory_order_relaxed);
    return true;
  }

  // Guarded by the heap's lock.
  bool from_before = false;  // existed at open, and recovery is not done
  bool listed = false;       // among those with room
  bool owned = false;        // by a lane

 private:
  std::uint64_t word(std::size_t i) const noexcept {
    return __atomic_load_n(&bits_[i], __ATOMIC_RELAXED);
  }
  void set_word(std::size_t i, std::uint64_t value) noexcept {
    __atomic_store_n(&bits_[i], value, __ATOMIC_RELAXED);
  }

  // guarded by the heap's lock; 0 where nobody owns the slab
  std::uint64_t& returned(std::size_t i) const noexcept { return bits_[words_ + i]; }

  std::uint64_t offset_;
  std::uint32_t cell_bytes_;
  std::uint16_t cells_, words_;
  // changed by the owner; without one under the heap's lock
  std::uint32_t first_room_ = 0;  // no word in front of this one has a free cell
  std::atomic<std::uint32_t> used_{0};
  std::uint64_t few_[2] = {};  // the bits of a slab of up to 64 cells: no memory of its own
  std::uint64_t* bits_;        // words_ of cells in use, and as many of returned ones
  // guarded by the heap's lock
  std::uint32_t returned_cells_ = 0;
};

}  // namespace durahash
