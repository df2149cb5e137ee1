// The heap: cells of many sizes in slabs, large ones as extents of their own. Who uses a cell
// stands in DRAM only.
//
// Invariants
//   H1  A cell is in use exactly while the engine's root reaches it, while it is being filled, or
//       while it waits for readers.
//   H2  A slab holds cells of one class; its offset is a multiple of slab_bytes, so that an offset
//       names its slab.
//   H3  Nobody waits for readers in here, but in settle(), which no lock may be held around.
//
// crash at any point: the DRAM state is gone. Recovery tells the heap every cell that the root
// reaches (adopt); the rest is free. Nothing leaks (hole X3), and allocating costs no flush.
//
// no memory in the process: what throws std::bad_alloc has changed nothing. What must not fail
// (free, retire) does not throw: a cell that cannot be noted as free is `stranded`, in use and
// unreachable until the next opening collects the cells anew.
//
// While recovery runs, cells come from space that did not exist at open; cells of before are freed
// when it is done.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/spin_lock.hpp"
#include "persist/epochs.hpp"
#include "persist/pool.hpp"
#include "persist/size_class.hpp"

namespace durahash {

/// One slab's cells, one bit each: 1 = in use.
struct slab {
  std::uint64_t offset = 0;
  std::uint32_t cell_bytes = 0;
  std::uint32_t used = 0;
  bool from_before = false;  // existed at open, and recovery is not done
  bool listed = false;       // among those with room
  std::vector<std::uint64_t> bits;

  std::uint32_t cells() const { return static_cast<std::uint32_t>(slab_bytes / cell_bytes); }
  bool full() const { return used == cells(); }
};

template <medium M>
class heap {
 public:
  explicit heap(pool<M>& p) : pool_(p) {}
  heap(const heap&) = delete;

  /// Of this pool alone. Who looks at a cell that others may retire is under a guard of it.
  const epochs& readers() const noexcept { return readers_; }

  /// Returns   the offset of at least `bytes` bytes aligned to 16 (to a block, for multiples of
  ///           256), or nothing when there is no space: what no reader sees any more has been
  ///           reclaimed then.
  std::optional<std::uint64_t> allocate(std::uint64_t bytes);

  /// While it lives, cells are taken from a new slab if that lies in front of every slab with room.
  /// For compaction.
  class front_first {
   public:
    explicit front_first(heap& h) : heap_(h) { heap_.front_first_ = true; }
    ~front_first() { heap_.front_first_ = false; }
    front_first(const front_first&) = delete;

   private:
    heap& heap_;
  };

  /// Whether allocate(bytes), front first, would now answer with a place in front of `offset`.
  bool has_room_before(std::uint64_t offset, std::uint64_t bytes);

  /// At once: nobody can see the cell any more. Does not throw.
  void free(std::uint64_t offset, std::uint64_t bytes) noexcept;

  /// After the readers that may see it. A cell that is not in use is left alone: the pool is
  /// damaged, and check tells where. Does not throw, and does not wait.
  void retire(std::uint64_t offset, std::uint64_t bytes) noexcept;

  /// Frees what was retired and no reader sees any more. Does not wait.
  void reclaim() noexcept;

  /// Waits until all that was retired before is free: not long for a reader that stays, not at all
  /// in a thread that reads this pool. Nothing may be locked. Returns whether it is free.
  bool settle() noexcept;

  /// Gives slabs without a cell in use back to the pool.
  void release_idle_slabs() noexcept;

  // Recovery (heap_recovery.hpp)
  // ------------------------------------------------------------------------

  /// Begins: nothing below the pool's end is known to be free.
  void begin_recovery();
  /// The root reaches this cell. Returns false when it overlaps another one or does not fit its
  /// slab: the pool is damaged.
  bool adopt(std::uint64_t offset, std::uint64_t bytes);
  /// Not every reachable cell could be noted: what is in use is not known from here on.
  void know_no_more() noexcept { knows_ = false; }
  /// Whether the cell has been adopted or restored, as far as that is known.
  bool holds(std::uint64_t offset, std::uint64_t bytes);
  /// Every reachable cell has been adopted: what remains is free, but for what waits for readers.
  void end_recovery();

  /// Bytes in cells that are in use.
  std::uint64_t used_bytes() const { return used_bytes_.load(std::memory_order_relaxed); }
  /// Bytes retired, and waiting for readers or for company.
  std::uint64_t pending_bytes() const { return pending_bytes_.load(std::memory_order_relaxed); }
  /// Bytes in cells that the root reaches. Exact while nobody writes.
  std::uint64_t reachable_bytes();
  /// Bytes in cells of slabs that are not in use.
  std::uint64_t idle_cell_bytes();
  /// Bytes that readers keep back just now.
  std::uint64_t bytes_held_by_readers() noexcept;

  /// Visits each slab, and each extent in use by offset and bytes. The visitors may not call the
  /// heap.
  template <class OnSlab, class OnExtent>
  void for_each_extent(OnSlab&& on_slab, OnExtent&& on_extent) {
    std::scoped_lock lock(lock_);
    for (const auto& s : slabs_)
      if (s) on_slab(static_cast<const slab&>(*s));
    for (auto [offset, bytes] : large_) on_extent(offset, bytes);
  }

  // Saving at a clean close, and reading back (heap_recovery.hpp)
  // ---------------------------------------

  /// Slabs and large extents, as 64-bit words (docs/reference/format.md, "saved allocation state");
  /// nothing where they would say that a stranded cell is in use.
  std::optional<std::vector<std::uint64_t>> save();
  /// In place of adopting. Returns false when the words contradict each other.
  bool restore(const std::vector<std::uint64_t>& words);

 private:
  struct cell {
    std::uint64_t offset, bytes;
  };
  /// Cells that were unlinked before `epoch` began.
  struct retired_batch {
    std::vector<cell> cells;
    std::uint64_t bytes = 0, epoch = 0;
  };
  using slab_order = std::set<std::uint64_t>;  // by offset: the front of the pool fills first

  slab* slab_at(std::uint64_t offset) {
    std::uint64_t index = offset / slab_bytes;
    return index < slabs_.size() ? slabs_[index].get() : nullptr;
  }
  std::optional<std::uint64_t> allocate_now(std::uint64_t bytes);  // under lock_
  slab* make_slab(std::uint64_t offset, std::uint64_t cell_bytes);
  slab* allocate_slab(std::uint64_t cell_bytes);
  std::optional<std::uint64_t> allocate_cell(std::uint64_t cell_bytes);
  void free_now(cell c) noexcept;  // under lock_
  void free_cell(slab& s, std::uint64_t offset, std::uint64_t cell_bytes) noexcept;
  void list(slab& s) noexcept;
  void unlist(slab& s) noexcept;
  void release_slab(slab& s) noexcept;
  bool restore_slab(std::uint64_t offset, std::uint64_t cell_bytes, const std::uint64_t* bits);
  bool adopt_now(std::uint64_t offset, std::uint64_t bytes);  // under lock_
  void forget(cell c);                                        // under lock_
  bool is_of_before(std::uint64_t offset) const noexcept {
    return recovering_ && offset < end_at_open_;
  }
  bool in_use(std::uint64_t offset, std::uint64_t cell_bytes);  // under lock_
  bool overlaps(std::uint64_t offset, std::uint64_t bytes);     // under lock_
  void close_batch() noexcept;                                  // under lock_
  void strand(cell c) noexcept;                                 // under lock_

  pool<M>& pool_;
  epochs readers_;
  spin_lock lock_;                            // guards all below
  std::vector<std::unique_ptr<slab>> slabs_;  // by offset / slab_bytes
  std::array<slab_order, class_count> with_room_;
  std::map<std::uint64_t, std::uint64_t> large_;  // extents in use: offset -> bytes
  retired_batch retired_;                         // still open
  std::deque<retired_batch> waiting_;             // for readers, oldest first
  std::vector<cell> freed_during_recovery_;
  bool recovering_ = false, stranded_ = false;
  std::atomic<bool> knows_{true};
  std::uint64_t end_at_open_ = 0;
  std::atomic<bool> front_first_{false};
  std::atomic<std::uint64_t> used_bytes_{0};
  std::atomic<std::uint64_t> pending_bytes_{0};
};

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

// ------------------------------------------------------------------------------- allocate and free

template <medium M>
std::optional<std::uint64_t> heap<M>::allocate(std::uint64_t bytes) {
  {
    std::scoped_lock lock(lock_);
    if (auto offset = allocate_now(bytes)) return offset;
  }
  if (pending_bytes() == 0) return std::nullopt;
  reclaim();
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
  used_bytes_ += cell_bytes;
  return offset;
}

template <medium M>
std::optional<std::uint64_t> heap<M>::allocate_cell(std::uint64_t cell_bytes) {
  slab_order& candidates = with_room_[class_of(cell_bytes)];
  bool another = front_first_ && !candidates.empty() &&
                 pool_.has_room_before(*candidates.begin(), slab_bytes, slab_bytes);
  slab* s =
      !candidates.empty() && !another ? slab_at(*candidates.begin()) : allocate_slab(cell_bytes);
  if (s == nullptr) return std::nullopt;
  for (std::size_t word = 0; word < s->bits.size(); ++word) {
    if (~s->bits[word] == 0) continue;
    auto index = word * 64 + static_cast<std::size_t>(std::countr_one(s->bits[word]));
    s->bits[word] |= s->bits[word] + 1;
    if (++s->used == s->cells()) unlist(*s);
    used_bytes_ += cell_bytes;
    return s->offset + index * cell_bytes;
  }
  check(false, "a slab with room has a free cell");
  return std::nullopt;
}

template <medium M>
slab* heap<M>::allocate_slab(std::uint64_t cell_bytes) {
  auto offset = pool_.allocate(slab_bytes, slab_bytes);
  if (!offset) return nullptr;
  try {
    slab* made = make_slab(*offset, cell_bytes);
    list(*made);
    if (made->listed) return made;
    slabs_[*offset / slab_bytes].reset();
  } catch (const std::bad_alloc&) {
    pool_.free(*offset, slab_bytes);
    throw;
  }
  pool_.free(*offset, slab_bytes);
  throw std::bad_alloc();
}

template <medium M>
bool heap<M>::has_room_before(std::uint64_t offset, std::uint64_t bytes) {
  std::uint64_t cell_bytes = cell_bytes_for(bytes);
  std::scoped_lock lock(lock_);
  if (cell_bytes > largest_cell_bytes) return pool_.has_room_before(offset, cell_bytes, page_bytes);
  const slab_order& candidates = with_room_[class_of(cell_bytes)];
  std::uint64_t own = align_down(offset, slab_bytes);
  return (!candidates.empty() && *candidates.begin() < own) ||
         pool_.has_room_before(own, slab_bytes, slab_bytes);
}

template <medium M>
slab* heap<M>::make_slab(std::uint64_t offset, std::uint64_t cell_bytes) {
  std::uint64_t index = offset / slab_bytes;
  if (index >= slabs_.size()) slabs_.resize(std::max<std::size_t>(index + 1, slabs_.size() * 2));
  auto made = std::make_unique<slab>();
  made->offset = offset;
  made->cell_bytes = static_cast<std::uint32_t>(cell_bytes);
  std::uint32_t cells = made->cells();
  made->bits.assign((cells + 63) / 64, 0);
  // cells that do not exist are never free
  if (cells % 64 != 0) made->bits.back() = ~low_bits(cells % 64);
  slabs_[index] = std::move(made);
  return slabs_[index].get();
}

template <medium M>
void heap<M>::free(std::uint64_t offset, std::uint64_t bytes) noexcept {
  std::scoped_lock lock(lock_);
  free_now({offset, bytes});
}

template <medium M>
void heap<M>::free_now(cell c) noexcept {
  std::uint64_t cell_bytes = cell_bytes_for(c.bytes);
  if (is_of_before(c.offset)) {
    try {
      freed_during_recovery_.push_back(c);
    } catch (const std::bad_alloc&) {
      if (in_use(c.offset, cell_bytes)) strand(c);  // else nobody will adopt it
    }
    return;
  }
  if (cell_bytes > largest_cell_bytes) {
    check(large_.erase(c.offset) == 1, "a large extent is freed once");
    used_bytes_ -= cell_bytes;
    pool_.free(c.offset, cell_bytes);
    return;
  }
  slab* s = slab_at(c.offset);
  check(s != nullptr && s->cell_bytes == cell_bytes, "a freed cell belongs to a slab of its size");
  free_cell(*s, c.offset, cell_bytes);
}

template <medium M>
void heap<M>::free_cell(slab& s, std::uint64_t offset, std::uint64_t cell_bytes) noexcept {
  std::uint64_t index = (offset - s.offset) / cell_bytes;
  std::uint64_t bit = std::uint64_t{1} << (index % 64);
  check((s.bits[index / 64] & bit) != 0, "a cell is freed once");
  s.bits[index / 64] &= ~bit;
  used_bytes_ -= cell_bytes;
  --s.used;
  if (!s.listed) list(s);
  if (s.used == 0) release_slab(s);
}

/// Without memory for it the slab is not listed: the next cell that is freed there tries again.
template <medium M>
void heap<M>::list(slab& s) noexcept {
  try {
    with_room_[class_of(s.cell_bytes)].insert(s.offset);
    s.listed = true;
  } catch (const std::bad_alloc&) {}
}

template <medium M>
void heap<M>::unlist(slab& s) noexcept {
  if (s.listed) with_room_[class_of(s.cell_bytes)].erase(s.offset);
  s.listed = false;
}

template <medium M>
void heap<M>::release_slab(slab& s) noexcept {
  // the last one with room stays: no slab comes and goes with every cell
  if (s.listed && with_room_[class_of(s.cell_bytes)].size() == 1) return;
  unlist(s);
  std::uint64_t offset = s.offset;
  slabs_[offset / slab_bytes].reset();
  pool_.free(offset, slab_bytes);
}

template <medium M>
void heap<M>::release_idle_slabs() noexcept {
  std::scoped_lock lock(lock_);
  for (auto& s : slabs_) {
    if (!s || s->used != 0 || s->from_before) continue;
    unlist(*s);
    pool_.free(s->offset, slab_bytes);
    s.reset();
  }
}

// ----------------------------------------------------------------------------------------- readers

template <medium M>
void heap<M>::retire(std::uint64_t offset, std::uint64_t bytes) noexcept {
  constexpr std::size_t batch_cells = 512;
  constexpr std::uint64_t batch_bytes = 1 << 20;
  bool enough;
  {
    std::scoped_lock lock(lock_);
    if (!is_of_before(offset) && !in_use(offset, cell_bytes_for(bytes))) return;
    pending_bytes_ += cell_bytes_for(bytes);
    try {
      retired_.cells.push_back({offset, bytes});
      retired_.bytes += bytes;
    } catch (const std::bad_alloc&) {
      pending_bytes_ -= cell_bytes_for(bytes);
      std::uint64_t epoch = readers_.close_epoch();
      readers_.oldest_reader() >= epoch ? free_now({offset, bytes}) : strand({offset, bytes});
    }
    enough = retired_.cells.size() >= batch_cells ||
             retired_.bytes >= std::min(batch_bytes, used_bytes() / 16);
  }
  if (enough) reclaim();
}

template <medium M>
void heap<M>::reclaim() noexcept {
  {
    std::scoped_lock lock(lock_);
    close_batch();
    if (waiting_.empty()) return;
  }
  std::uint64_t oldest =
      M::planted("readers-without-epochs") ? ~std::uint64_t{0} : readers_.oldest_reader();
  while (true) {  // ends: each round frees a cell, or all that can be
    std::scoped_lock lock(lock_);
    for (int few = 16; few > 0; --few) {  // others want the lock, too
      while (!waiting_.empty() && waiting_.front().cells.empty()) waiting_.pop_front();
      if (waiting_.empty() || waiting_.front().epoch > oldest) return;
      std::vector<cell>& cells = waiting_.front().cells;
      cell c = cells.back();
      cells.pop_back();
      if (is_of_before(c.offset) || in_use(c.offset, cell_bytes_for(c.bytes))) free_now(c);
      pending_bytes_ -= cell_bytes_for(c.bytes);
    }
  }
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

/// In use for good, as far as this opening goes.
template <medium M>
void heap<M>::strand(cell c) noexcept {
  pending_bytes_ += cell_bytes_for(c.bytes);
  stranded_ = true;
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
    for (cell c : b.cells) sum += cell_bytes_for(c.bytes);
  return sum;
}

template <medium M>
std::uint64_t heap<M>::reachable_bytes() {
  std::scoped_lock lock(lock_);
  return used_bytes() - pending_bytes();
}

template <medium M>
std::uint64_t heap<M>::idle_cell_bytes() {
  std::scoped_lock lock(lock_);
  std::uint64_t sum = 0;
  for (auto& s : slabs_)
    if (s) sum += slab_bytes - std::uint64_t{s->used} * s->cell_bytes;
  return sum;
}

}  // namespace durahash

#include "persist/heap_recovery.hpp"
