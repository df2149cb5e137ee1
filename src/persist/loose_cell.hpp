// A cell between its allocation and the commit that names it.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "persist/heap.hpp"

namespace durahash {

/// A cell that nothing refers to yet: it is free again unless it is kept.
template <medium M>
class loose_cell {
 public:
  loose_cell(heap<M>& h, std::uint64_t offset, std::uint64_t bytes) noexcept
      : heap_(&h), offset_(offset), bytes_(bytes) {}
  loose_cell(loose_cell&& other) noexcept
      : heap_(std::exchange(other.heap_, nullptr)), offset_(other.offset_), bytes_(other.bytes_) {}
  loose_cell& operator=(loose_cell&&) = delete;
  ~loose_cell() {
    if (heap_ != nullptr) heap_->free(offset_, bytes_);
  }
  std::uint64_t offset() const noexcept { return offset_; }
  std::uint64_t keep() noexcept { return heap_ = nullptr, offset_; }

 private:
  heap<M>* heap_;
  std::uint64_t offset_, bytes_;
};

template <medium M>
std::optional<loose_cell<M>> allocate_loose(heap<M>& h, std::uint64_t bytes) {
  auto offset = h.allocate(bytes);
  return offset ? std::optional<loose_cell<M>>(std::in_place, h, *offset, bytes) : std::nullopt;
}

}  // namespace durahash
