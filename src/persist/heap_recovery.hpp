// The heap: what recovery tells it, and its state across a clean close. Part of persist/heap.hpp.
#pragma once

#include "persist/heap.hpp"

namespace durahash {

template <medium M>
void heap<M>::begin_recovery() {
  {
    std::scoped_lock lock(lock_);
    recovering_ = true;
    set_lanes_open();
  }
  empty_lanes();
  std::scoped_lock lock(lock_);
  slabs_.clear();
  large_.clear();
  for (slab_set& each : with_room_) each.clear();
  retired_ = {};
  waiting_.clear();
  freed_during_recovery_.clear();
  used_bytes_ = pending_bytes_ = 0;
  forgets_ = false;
  end_at_open_ = pool_.end();
}

template <medium M>
bool heap<M>::adopt(std::uint64_t offset, std::uint64_t bytes) {
  std::scoped_lock lock(lock_);
  return adopt_now(offset, bytes);
}

template <medium M>
bool heap<M>::adopt_now(std::uint64_t offset, std::uint64_t bytes) {
  const std::uint64_t end = pool_.end();
  if (offset < pool_.block().heap_offset || offset >= end || bytes > end - offset) return false;
  std::uint64_t cell_bytes = cell_bytes_for(bytes);
  // allocated since open, or of no pool
  if (offset >= end_at_open_) return in_use(offset, cell_bytes);
  if (cell_bytes > end_at_open_ - offset) return false;
  if (cell_bytes > largest_cell_bytes) {
    if (offset % page_bytes != 0 || overlaps(offset, cell_bytes)) return false;
    large_.emplace(offset, cell_bytes);
    add(used_bytes_, cell_bytes);
    return true;
  }
  std::uint64_t start = align_down(offset, slab_bytes);
  if (start < pool_.block().heap_offset || start + slab_bytes > end_at_open_) return false;
  slab* s = slab_at(offset);
  if (s == nullptr) {
    if (overlaps(start, slab_bytes)) return false;
    s = make_slab(start, cell_bytes);
    s->from_before = true;
  }
  std::uint32_t index = 0;
  if (!s->has_cell_at(offset, cell_bytes, index) || s->in_use(index)) return false;
  s->take(index);
  add(used_bytes_, cell_bytes);
  return true;
}

template <medium M>
bool heap<M>::overlaps(std::uint64_t offset, std::uint64_t bytes) {
  for (std::uint64_t index = offset / slab_bytes;
       index * slab_bytes < offset + bytes && index < slabs_.size(); ++index)
    if (slabs_[index]) return true;
  auto next = large_.lower_bound(offset);
  if (next != large_.end() && next->first < offset + bytes) return true;
  return next != large_.begin() && std::prev(next)->first + std::prev(next)->second > offset;
}

template <medium M>
[[gnu::always_inline]] inline bool heap<M>::in_use(std::uint64_t offset, std::uint64_t cell_bytes) {
  if (cell_bytes > largest_cell_bytes) {
    auto found = large_.find(offset);
    return found != large_.end() && found->second == cell_bytes;
  }
  slab* s = slab_at(offset);
  std::uint32_t index = 0;
  return s != nullptr && s->has_cell_at(offset, cell_bytes, index) && s->in_use(index);
}

template <medium M>
bool heap<M>::holds(std::uint64_t offset, std::uint64_t bytes) {
  std::scoped_lock lock(lock_);
  return holds_now(offset, bytes);
}

template <medium M>
void heap<M>::end_recovery() {
  std::scoped_lock lock(lock_);
  if (forgets_) throw std::bad_alloc();
  // What waits for readers, and was unlinked before it was adopted, is in use until they have left.
  auto keep_back = [&](retired_batch& b) {
    std::erase_if(b.cells, [&](cell c) {
      bool known =
          c.offset >= end_at_open_ || in_use(c.offset, c.bytes) || adopt_now(c.offset, c.bytes);
      // a damaged pool: it overlaps another one
      if (!known) add(pending_bytes_, -c.bytes);
      return !known;
    });
  };
  keep_back(retired_);
  for (retired_batch& b : waiting_) keep_back(b);
  // Under one lock with what follows: a cell that this makes free must not be handed out before its
  // turn in this list.
  for (cell c : freed_during_recovery_) forget(c);
  freed_during_recovery_.clear();
  recovering_ = false;

  std::uint64_t at = pool_.block().heap_offset;
  auto free_up_to = [&](std::uint64_t next, std::uint64_t skip) {
    if (next > at && !M::planted("allocated-and-never-linked")) pool_.found_free(at, next - at);
    at = std::max(at, next + skip);
  };
  auto extent = large_.begin();
  auto skip_extents_before = [&](std::uint64_t offset) {
    for (; extent != large_.end() && extent->first < offset; ++extent)
      free_up_to(extent->first, extent->second);
  };
  for (auto& s : slabs_) {
    if (!s || !s->from_before) continue;
    if (s->used() == 0) {
      s.reset();
      continue;
    }
    skip_extents_before(s->offset());
    free_up_to(s->offset(), slab_bytes);
    s->from_before = false;
    if (!s->full()) list(*s);
  }
  skip_extents_before(end_at_open_);
  free_up_to(end_at_open_, 0);
  set_lanes_open();
}

/// A cell of before that was retired while recovery ran. One that was unlinked before the scan saw
/// it was never adopted, and is free already.
template <medium M>
void heap<M>::forget(cell c) {
  if (!in_use(c.offset, c.bytes)) return;
  add(used_bytes_, -c.bytes);
  if (c.bytes > largest_cell_bytes) {
    large_.erase(c.offset);
    return;
  }
  slab& s = *slab_at(c.offset);
  std::uint32_t index = 0;
  if (s.has_cell_at(c.offset, c.bytes, index)) s.free(index);
}

// ------------------------------------------------------------------------------------- clean close

template <medium M>
std::optional<std::vector<std::uint64_t>> heap<M>::save() {
  empty_lanes();
  std::scoped_lock lock(lock_);
  if (stranded_ || pending_bytes() != 0) return std::nullopt;
  std::vector<std::uint64_t> words{0, large_.size()};
  for (auto [offset, bytes] : large_) words.insert(words.end(), {offset, bytes});
  for (auto& s : slabs_) {
    if (!s || s->used() == 0) continue;
    ++words[0];
    words.insert(words.end(), {s->offset(), s->cell_bytes()});
    words.insert(words.end(), s->bits().begin(), s->bits().end());
  }
  return words;
}

template <medium M>
bool heap<M>::restore(const std::vector<std::uint64_t>& words) {
  std::size_t at = 2;
  if (words.size() < 2 || words[1] > words.size() || words[0] > words.size()) return false;
  for (std::uint64_t n = 0; n < words[1]; ++n, at += 2)
    if (at + 2 > words.size() || words[at + 1] <= largest_cell_bytes ||
        !adopt(words[at], words[at + 1]))
      return false;
  for (std::uint64_t n = 0; n < words[0]; ++n) {
    if (at + 2 > words.size()) return false;
    std::uint64_t offset = words[at], cell_bytes = words[at + 1];
    if (cell_bytes == 0 || cell_bytes > largest_cell_bytes ||
        cell_bytes_for(cell_bytes) != cell_bytes)
      return false;
    std::size_t bitmap_words = (slab_bytes / cell_bytes + 63) / 64;
    at += 2;
    if (at + bitmap_words > words.size() || !restore_slab(offset, cell_bytes, &words[at]))
      return false;
    at += bitmap_words;
  }
  return at == words.size();
}

template <medium M>
bool heap<M>::restore_slab(std::uint64_t offset, std::uint64_t cell_bytes,
                           const std::uint64_t* bits) {
  std::scoped_lock lock(lock_);
  if (offset % slab_bytes != 0 || offset < pool_.block().heap_offset || offset >= end_at_open_ ||
      end_at_open_ - offset < slab_bytes || overlaps(offset, slab_bytes))
    return false;
  slab& s = *make_slab(offset, cell_bytes);
  s.from_before = true;
  if (!s.restore(bits)) return false;
  add(used_bytes_, std::uint64_t{s.used()} * cell_bytes);
  return true;
}

}  // namespace durahash
