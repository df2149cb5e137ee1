// The heap: how cells are found, and slabs made and given back. Part of persist/heap.hpp.
//
// What a lane has at hand is taken there (heap_lanes.hpp). All else is done under the heap's lock:
// from the frontmost slab with room, else from a new one, else from what others hold or retired.
#pragma once

#include "persist/heap.hpp"

namespace durahash {

template <medium M>
inline std::optional<std::uint64_t> heap<M>::allocate(std::uint64_t bytes) {
  if (bytes <= largest_small_bytes) [[likely]]
    if (std::uint64_t offset = allocate_in_lane(small_class_of(bytes)); offset != 0) [[likely]]
      return offset;
  return allocate_slowly(bytes);
}

template <medium M>
[[gnu::noinline]] std::optional<std::uint64_t> heap<M>::allocate_slowly(std::uint64_t bytes) {
  {
    std::scoped_lock lock(lock_);
    if (auto offset = allocate_now(bytes)) return offset;
  }
  empty_lanes();  // of other threads
  if (pending_bytes() != 0) reclaim();
  else if (!has_lanes_) return std::nullopt;
  {
    std::scoped_lock lock(lock_);
    if (auto offset = allocate_now(bytes)) return offset;
  }
  return has_lanes_ ? allocate_alone(bytes) : std::nullopt;
}

/// With all lanes held: what they give back no other thread takes meanwhile.
template <medium M>
std::optional<std::uint64_t> heap<M>::allocate_alone(std::uint64_t bytes) {
  std::array<std::unique_lock<spin_lock>, std::tuple_size_v<decltype(lanes_)>> held;
  for (std::size_t n = 0; n < lanes_.size(); ++n)
    held[n] = std::unique_lock(lanes_[n].lock), empty_lane(lanes_[n]);
  reclaim_now();
  std::scoped_lock lock(lock_);
  return allocate_now(bytes);
}

template <medium M>
std::optional<std::uint64_t> heap<M>::allocate_now(std::uint64_t bytes) {
  std::uint64_t cell_bytes = cell_bytes_for(bytes);
  if (cell_bytes <= largest_cell_bytes) return allocate_cell(cell_bytes);
  decltype(large_) noted;
  noted.emplace(0, cell_bytes);
  auto offset = pool_.allocate(cell_bytes, page_bytes);
  if (!offset) return std::nullopt;
  auto node = noted.extract(noted.begin());
  node.key() = *offset;
  large_.insert(std::move(node));
  add(used_bytes_, cell_bytes);
  return offset;
}

template <medium M>
std::optional<std::uint64_t> heap<M>::allocate_cell(std::uint64_t cell_bytes) {
  const slab_set& candidates = with_room_[class_of(cell_bytes)];
  bool another = front_first_ && !candidates.empty() &&
                 pool_.has_room_before(candidates.front() * slab_bytes, slab_bytes, slab_bytes);
  slab* s = !candidates.empty() && !another ? slabs_[candidates.front()].get()
                                            : allocate_slab(cell_bytes);
  if (s == nullptr) return std::nullopt;
  const std::uint64_t offset = s->take();
  check(offset != 0, "a slab with room has a free cell");
  if (s->full()) unlist(*s);
  add(used_bytes_, cell_bytes);
  return offset;
}

template <medium M>
slab* heap<M>::allocate_slab(std::uint64_t cell_bytes) {
  auto offset = pool_.allocate(slab_bytes, slab_bytes);
  if (!offset) return nullptr;
  try {
    slab* made = make_slab(*offset, cell_bytes);
    list(*made);
    return made;
  } catch (const std::bad_alloc&) {
    pool_.free(*offset, slab_bytes);
    throw;
  }
}

template <medium M>
bool heap<M>::has_room_before(std::uint64_t offset, std::uint64_t bytes) {
  std::uint64_t cell_bytes = cell_bytes_for(bytes);
  std::scoped_lock lock(lock_);
  if (cell_bytes > largest_cell_bytes) return pool_.has_room_before(offset, cell_bytes, page_bytes);
  const slab_set& candidates = with_room_[class_of(cell_bytes)];
  std::uint64_t own = align_down(offset, slab_bytes);
  return (!candidates.empty() && candidates.front() * slab_bytes < own) ||
         pool_.has_room_before(own, slab_bytes, slab_bytes);
}

template <medium M>
slab* heap<M>::make_slab(std::uint64_t offset, std::uint64_t cell_bytes) {
  std::uint64_t index = offset / slab_bytes;
  if (index >= slabs_.size()) slabs_.resize(std::max<std::size_t>(index + 1, slabs_.size() * 2));
  with_room_[class_of(cell_bytes)].cover(slabs_.size());
  slabs_[index] = std::make_unique<slab>(offset, cell_bytes);
  return slabs_[index].get();
}

template <medium M>
void heap<M>::free(std::uint64_t offset, std::uint64_t bytes) noexcept {
  std::scoped_lock lock(lock_);
  free_now({offset, cell_bytes_for(bytes)});
}

template <medium M>
void heap<M>::free_now(cell c) noexcept {
  if (is_of_before(c.offset)) {
    try {
      freed_during_recovery_.push_back(c);
    } catch (const std::bad_alloc&) {
      if (in_use(c.offset, c.bytes)) strand(c);  // else nobody will adopt it
    }
    return;
  }
  if (c.bytes > largest_cell_bytes) {
    check(large_.erase(c.offset) == 1, "a large extent is freed once");
    add(used_bytes_, -c.bytes);
    pool_.free(c.offset, c.bytes);
    return;
  }
  slab* s = slab_at(c.offset);
  std::uint32_t index = 0;
  check(s != nullptr && s->has_cell_at(c.offset, c.bytes, index),
        "a freed cell belongs to a slab of its size");
  check(free_in(*s, index), "a cell is freed once");
  add(used_bytes_, -c.bytes);
}

/// Returns whether the cell was in use. The slab may be no more.
template <medium M>
[[gnu::always_inline]] inline bool heap<M>::free_in(slab& s, std::uint32_t index) noexcept {
  const slab::freed made = s.free(index);
  if (made == slab::freed::was_free) return false;
  if (made == slab::freed::for_the_owner) return true;
  if (!s.listed) [[unlikely]]
    list(s);
  if (made == slab::freed::the_last) [[unlikely]]
    release_slab(s);
  return true;
}

template <medium M>
void heap<M>::list(slab& s) noexcept {
  with_room_[class_of(s.cell_bytes())].insert(s.offset() / slab_bytes);
  s.listed = true;
}

template <medium M>
void heap<M>::unlist(slab& s) noexcept {
  if (s.listed) with_room_[class_of(s.cell_bytes())].erase(s.offset() / slab_bytes);
  s.listed = false;
}

template <medium M>
void heap<M>::release_slab(slab& s) noexcept {
  // the last one with room stays: no slab comes and goes with every cell
  if (s.listed && with_room_[class_of(s.cell_bytes())].size() == 1) return;
  unlist(s);
  std::uint64_t offset = s.offset();
  slabs_[offset / slab_bytes].reset();
  pool_.free(offset, slab_bytes);
}

template <medium M>
void heap<M>::release_idle_slabs() noexcept {
  empty_lanes();
  std::scoped_lock lock(lock_);
  for (auto& s : slabs_) {
    if (!s || s->used() != 0 || s->from_before || s->owned) continue;
    unlist(*s);
    pool_.free(s->offset(), slab_bytes);
    s.reset();
  }
}

template <medium M>
std::uint64_t heap<M>::idle_cell_bytes() {
  std::scoped_lock lock(lock_);
  std::uint64_t sum = 0;
  for (auto& s : slabs_)
    if (s) sum += slab_bytes - std::uint64_t{s->used()} * s->cell_bytes();
  return sum;
}

}  // namespace durahash
