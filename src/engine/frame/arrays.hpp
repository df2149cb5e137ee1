// Arrays of an engine: when an opening believes that one is there, and how one goes.
#pragma once

#include <cstdint>

#include "persist/heap.hpp"

namespace durahash {

template <medium M>
bool lies_in_heap(const pool<M>& p, std::uint64_t offset, std::uint64_t bytes) noexcept {
  return offset >= p.block().heap_offset && bytes <= p.end() && offset <= p.end() - bytes;
}

/// Why what is named there cannot be; or null, and the heap knows of it. `restored`: it knew from a
/// clean close what is in use, not by whom.
template <medium M>
const char* fault_of_place(const pool<M>& p, heap<M>& h, std::uint64_t offset, std::uint64_t bytes,
                           bool restored) {
  if (!lies_in_heap(p, offset, bytes)) return "points outside the pool";
  const bool is_its_own = restored ? h.holds(offset, bytes) : h.adopt(offset, bytes);
  return is_its_own ? nullptr : "names space that is not its own";
}

/// One that nothing names any more, neither on the medium nor in DRAM, and readers may still see.
template <class Kind, medium M>
void give_back_array(pool<M>& p, heap<M>& h, std::uint64_t offset, std::uint64_t bytes) noexcept {
  p.readers().before_reuse();
  if constexpr (Kind::in_slot) h.free(offset, bytes);  // readers notice; the bytes stay mapped
  else h.retire(offset, bytes);
}

}  // namespace durahash
