// The heap: lanes, so that threads that write records do not wait for each other. Part of
// persist/heap.hpp.
//
// A lane owns a slab of each class that its threads need, takes cells from it under its own lock
// and without any other, and keeps what they retire until it is worth the heap's lock. What the
// root reaches is still the truth: a lane is no more than an order in which cells are taken.
//
// Lanes are closed while recovery or compaction runs: then all cells come from the front of the
// pool. Where there is no space what lanes hold goes back first.
#pragma once

#include "persist/heap.hpp"

namespace durahash {

/// The calling thread's; null: it has not been here before.
template <medium M>
[[gnu::always_inline]] inline auto heap<M>::own_lane() noexcept -> lane* {
  // under the explorer one thread runs at a time, and all do the same in every run
  if constexpr (!reads_plainly<M>)
    if (turns::current() != nullptr) return &lanes_[0];
  if (!epochs::thread_is_known()) [[unlikely]]
    return nullptr;
  return &lanes_[epochs::known_thread_number() % lanes_.size()];
}

/// Locks a lane: the calling thread's, or that of another one. `taken`: its own, which is in use
/// just now; null: it has not been here before.
template <medium M>
[[gnu::noinline]] auto heap<M>::lock_lane_beside(lane* taken) noexcept -> lane& {
  if (taken == nullptr) {
    taken = &lanes_[epochs::thread_number() % lanes_.size()];
    if (taken->lock.try_lock()) return *taken;
  }
  lane& other = lanes_[(static_cast<std::size_t>(taken - lanes_.data()) + 1) % lanes_.size()];
  if (other.lock.try_lock()) return other;
  taken->lock.lock();
  return *taken;
}

/// Returns the cell's offset; 0 where lanes are closed, or no slab is to be had. A call that needs
/// no frame, so that who writes records keeps its registers.
template <medium M>
[[gnu::noinline]] std::uint64_t heap<M>::allocate_in_lane(unsigned small_class) {
  lane* const l = own_lane();
  if (l == nullptr || !l->lock.try_lock()) [[unlikely]]
    return allocate_beside(small_class);
  slab* const s = l->owned[small_class];  // of a closed lane: none
  if (s != nullptr) [[likely]]
    if (const std::uint64_t offset = s->take_at_hand(); offset != 0) [[likely]] {
      add(l->taken_bytes, s->cell_bytes());
      l->lock.unlock();
      return offset;
    }
  return allocate_locked(*l, small_class);
}
/// Where the thread's own lane is in use just now, or not known.
template <medium M>
[[gnu::noinline]] std::uint64_t heap<M>::allocate_beside(unsigned small_class) {
  return allocate_locked(lock_lane_beside(own_lane()), small_class);
}
/// From the slab that the lane owns, or another one. Unlocks the lane.
template <medium M>
[[gnu::noinline]] std::uint64_t heap<M>::allocate_locked(lane& l, unsigned small_class) {
  std::scoped_lock lock(std::adopt_lock, l.lock);
  slab* s = l.owned[small_class];
  std::uint64_t offset = s != nullptr ? s->take() : 0;
  if (offset == 0) {
    s = slab_for_lane(l, small_class);
    if (s == nullptr) return 0;
    offset = s->take();
    check(offset != 0, "a slab with room has a free cell");
  }
  add(l.taken_bytes, s->cell_bytes());
  return offset;
}

/// The one that it owns, if others have freed cells there; else the frontmost with room. Null: no
/// slab is to be had, or lanes are closed.
template <medium M>
[[gnu::noinline]] slab* heap<M>::slab_for_lane(lane& l, unsigned small_class) {
  if (!lanes_open()) return nullptr;
  std::scoped_lock lock(lock_);
  slab*& owned = l.owned[small_class];
  if (owned != nullptr) {
    owned->take_back_returned();
    if (!owned->full()) return owned;
    owned->owned = false;
    owned = nullptr;
  }
  const slab_set& candidates = with_room_[small_class];
  slab* s = candidates.empty() ? allocate_slab(small_cell_bytes[small_class])
                               : slabs_[candidates.front()].get();
  if (s == nullptr) return nullptr;
  unlist(*s);
  s->owned = true;
  return owned = s;
}

/// Where the thread's own lane is in use just now, or not known.
template <medium M>
[[gnu::noinline]] void heap<M>::retire_beside(cell c) noexcept {
  lane& l = lock_lane_beside(own_lane());
  if (!lanes_open()) return l.lock.unlock(), retire_slowly(c);
  if (keep(l, c)) return hand_over_and_unlock(l);
  l.lock.unlock();
}

template <medium M>
[[gnu::noinline]] void heap<M>::hand_over_and_unlock(lane& l) noexcept {
  const bool enough = hand_over_retired(l);
  l.lock.unlock();
  if (enough) reclaim_now(freed_by_a_write);
}

/// Returns whether enough waits to be worth a look at the readers.
template <medium M>
[[gnu::noinline]] bool heap<M>::hand_over_retired(lane& l) noexcept {
  if (l.retired == 0) return false;
  std::scoped_lock lock(lock_);
  l.retired_bytes.store(0, std::memory_order_relaxed);
  retire_now(std::span(l.retired_cells).first(l.retired));
  l.retired = 0;
  lane_retires_bytes_.store(enough_bytes() / 4, std::memory_order_relaxed);
  return enough_retired();
}

template <medium M>
void heap<M>::empty_lane(lane& l) noexcept {
  hand_over_retired(l);
  std::scoped_lock lock(lock_);
  for (slab*& s : l.owned) {
    if (s == nullptr) continue;
    s->take_back_returned();
    s->owned = false;
    if (!s->full()) list(*s);
    if (s->used() == 0) release_slab(*s);
    s = nullptr;
  }
}

/// The heap's lock is not held, nor a lane's.
template <medium M>
void heap<M>::empty_lanes() noexcept {
  for (lane& l : lanes_) {
    std::scoped_lock lock(l.lock);
    empty_lane(l);
  }
}

/// While there is a front_first, a lane that was emptied since stays empty.
template <medium M>
void heap<M>::change_front_first(int by) noexcept {
  std::scoped_lock lock(lock_);
  front_first_ += static_cast<unsigned>(by);
  set_lanes_open();
}

}  // namespace durahash
