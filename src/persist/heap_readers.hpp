// The heap: cells that readers may still see. Part of persist/heap.hpp.
//
// What was retired is gathered into batches, since a look at all readers is dear. A batch is freed
// when none of them began before it was closed.
#pragma once

#include "persist/heap.hpp"

namespace durahash {

/// What the calling thread's lane takes without more ado is done here, without a call.
template <medium M>
inline void heap<M>::retire(std::uint64_t offset, std::uint64_t bytes) noexcept {
  if (bytes > largest_small_bytes) [[unlikely]]
    return retire_slowly({offset, cell_bytes_for(bytes)});
  const cell c{offset, small_cells[(bytes + 15) / 16]};
  lane* const l = own_lane();
  if (l == nullptr || !l->lock.try_lock()) [[unlikely]]
    return retire_beside(c);
  if (!lanes_open()) [[unlikely]]
    return l->lock.unlock(), retire_slowly(c);
  if (keep(*l, c)) [[unlikely]]
    return hand_over_and_unlock(*l);
  l->lock.unlock();
}

/// The lane stays locked until the last one.
template <medium M>
class heap<M>::retiring {
 public:
  explicit retiring(heap& h) noexcept : heap_(h) {}
  retiring(const retiring&) = delete;
  ~retiring() { release(); }
  void operator()(std::uint64_t offset, std::uint64_t bytes) noexcept;
  /// The heap may be used until the next one.
  void release() noexcept {
    if (lane_ != nullptr) std::exchange(lane_, nullptr)->lock.unlock();
    if (std::exchange(enough_, false)) heap_.reclaim_now(freed_by_a_write);
  }

 private:
  heap& heap_;
  lane* lane_ = nullptr;  // locked
  bool enough_ = false;   // waits to be worth a look at the readers
};

template <medium M>
[[gnu::always_inline]] inline void heap<M>::retiring::operator()(std::uint64_t offset,
                                                                 std::uint64_t bytes) noexcept {
  if (lane_ == nullptr || bytes > largest_small_bytes) [[unlikely]] {
    release();
    if (bytes > largest_small_bytes) return heap_.retire(offset, bytes);
    lane* const own = heap_.own_lane();
    if (own == nullptr || !own->lock.try_lock()) return heap_.retire(offset, bytes);
    lane_ = own;
    if (!heap_.lanes_open()) return release(), heap_.retire(offset, bytes);
  }
  if (heap_.keep(*lane_, {offset, small_cells[(bytes + 15) / 16]})) [[unlikely]]
    enough_ |= heap_.hand_over_retired(*lane_);
}

template <medium M>
[[gnu::noinline]] void heap<M>::retire_slowly(cell c) noexcept {
  bool enough = false;
  {
    std::scoped_lock lock(lock_);
    retire_now({&c, 1});
    enough = enough_retired();
  }
  if (enough) reclaim_now(freed_by_a_write);
}

template <medium M>
void heap<M>::retire_now(std::span<const cell> cells) noexcept {
  std::uint64_t bytes = 0;
  for (const cell& c : cells) bytes += c.bytes;
  try {
    retired_.cells.insert(retired_.cells.end(), cells.begin(), cells.end());
    retired_.bytes += bytes;
    add(pending_bytes_, bytes);
  } catch (const std::bad_alloc&) {
    std::uint64_t epoch = readers_.close_epoch();
    const bool unread = readers_.oldest_reader() >= epoch;
    for (const cell& c : cells) {
      if (!unread) strand(c);
      else add(used_bytes_, -free_if_in_use(c, slabs_, recovering_));
    }
  }
}

template <medium M>
void heap<M>::reclaim() noexcept {
  for (lane& l : lanes_) {
    std::scoped_lock lock(l.lock);
    hand_over_retired(l);
  }
  reclaim_now();
}

/// `most`: cells that it frees, about.
template <medium M>
void heap<M>::reclaim_now(std::size_t most) noexcept {
  {
    std::scoped_lock lock(lock_);
    close_batch();
    if (waiting_.empty()) return;
  }
  std::uint64_t oldest =
      M::planted("readers-without-epochs") ? ~std::uint64_t{0} : readers_.oldest_reader();
  constexpr std::size_t few = 16;  // others want the lock, too
  // ends: each round frees cells, or finds that none can be freed
  for (std::size_t done = 0; done < most; done += few) {
    std::scoped_lock lock(lock_);
    while (!waiting_.empty() && waiting_.front().cells.empty()) waiting_.pop_front();
    if (waiting_.empty() || waiting_.front().epoch > oldest) return;
    std::vector<cell>& cells = waiting_.front().cells;
    const std::size_t left = cells.size() - std::min(cells.size(), few);
    std::uint64_t freed = 0, waited = 0;
    const bool recovering = recovering_;
    const slab_list slabs(slabs_);
    for (const cell& c : std::span(cells).subspan(left)) {
      freed += free_if_in_use(c, slabs, recovering);
      waited += c.bytes;
    }
    cells.resize(left);
    add(used_bytes_, -freed);
    add(pending_bytes_, -waited);
  }
}

/// A cell that is not in use is left alone: the pool is damaged. Returns the bytes that are in use
/// no more, and not counted yet.
template <medium M>
[[gnu::always_inline]] inline std::uint64_t heap<M>::free_if_in_use(cell c, slab_list slabs,
                                                                    bool recovering) noexcept {
  if (c.bytes > largest_cell_bytes || recovering) [[unlikely]] {
    if (is_of_before(c.offset) || in_use(c.offset, c.bytes)) free_now(c);
    return 0;
  }
  slab* const s = slab_among(slabs, c.offset);
  std::uint32_t index = 0;
  if (s == nullptr || !s->has_cell_at(c.offset, c.bytes, index)) return 0;
  return free_in(*s, index) ? c.bytes : 0;
}

/// What has been retired so far waits for the readers that are there now.
template <medium M>
void heap<M>::close_batch() noexcept {
  if (retired_.cells.empty()) return;
  try {
    waiting_.emplace_back();
  } catch (const std::bad_alloc&) {
    return;  // it stays open
  }
  retired_.epoch = readers_.close_epoch();
  std::swap(waiting_.back(), retired_);
}

/// In use for good, as far as this opening goes. One of before that recovery has not come to must
/// be known to be in use, or recovery would find it free: it was unlinked, and may be read.
template <medium M>
void heap<M>::strand(cell c) noexcept {
  stranded_ = true;
  if (is_of_before(c.offset) && !in_use(c.offset, c.bytes)) try {
      if (!adopt_now(c.offset, c.bytes)) return;  // a damaged pool: it overlaps another one
    } catch (const std::bad_alloc&) {
      forgets_ = true;
      return;
    }
  add(pending_bytes_, c.bytes);
}

template <medium M>
bool heap<M>::settle() noexcept {
  constexpr auto patience = std::chrono::milliseconds(200);
  auto began = std::chrono::steady_clock::now();
  // ends: what is retired from here on waits behind, and patience is short
  for (int tries = 0;; ++tries) {
    reclaim();
    {
      std::scoped_lock lock(lock_);
      if (retired_.cells.empty() && waiting_.empty()) return true;
    }
    if (readers_.read_by_this_thread()) return false;
    if (turns::current() == nullptr && std::chrono::steady_clock::now() - began > patience)
      return false;
    await_holder(tries);
  }
}

template <medium M>
std::uint64_t heap<M>::bytes_held_by_readers() noexcept {
  reclaim();
  std::scoped_lock lock(lock_);
  std::uint64_t sum = 0;
  for (const retired_batch& b : waiting_)
    for (cell c : b.cells) sum += c.bytes;
  return sum;
}

}  // namespace durahash
