// The heap: cells of many sizes in slabs, large ones as extents of their own. Who uses a cell stands in DRAM only.
//
// Invariants
//   H1  A cell is in use exactly while the engine's root reaches it, while it is being filled, or while it waits for readers.
//   H2  A slab holds cells of one class; its offset is a multiple of slab_bytes, so that an offset names its slab.
//
// crash at any point: the DRAM state is gone. Recovery tells the heap every cell that the root reaches (adopt); the rest is free. Nothing leaks
// (CRASH.md X3), and allocating costs no flush.
//
// While recovery runs, cells come from space that did not exist at open; cells of before are freed when it is done.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
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
  std::vector<std::uint64_t> bits;

  std::uint32_t cells() const { return static_cast<std::uint32_t>(slab_bytes / cell_bytes); }
  bool full() const { return used == cells(); }
};

template <medium M>
class heap {
 public:
  explicit heap(pool<M>& p) : pool_(p) {}
  ~heap() { settle(); }
  heap(const heap&) = delete;

  /// Returns   the offset of at least `bytes` bytes aligned to 16 (to a block, for multiples of 256), or nothing when there is no space.
  std::optional<std::uint64_t> allocate(std::uint64_t bytes);

  /// While it lives, cells are taken from a new slab if that lies in front of every slab with room. For compaction.
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

  /// At once: nobody can see the cell any more.
  void free(std::uint64_t offset, std::uint64_t bytes);

  /// After the readers that may see it. A cell that is not in use is left alone: the pool is damaged, and check tells where.
  void retire(std::uint64_t offset, std::uint64_t bytes);

  /// Gives slabs without a cell in use back to the pool.
  void release_idle_slabs();

  /// Waits until all that was retired is free; not in a thread that reads, of this pool or of another: it would wait for itself.
  void settle() {
    reclaim_retired(0);
    if (!under_epoch_guard()) reclaimer_.wait_idle();
  }

  // Recovery ------------------------------------------------------------------------------------------------------------

  /// Begins: nothing below the pool's end is known to be free.
  void begin_recovery();
  /// The root reaches this cell. Returns false when it overlaps another one or does not fit its slab: the pool is damaged.
  bool adopt(std::uint64_t offset, std::uint64_t bytes);
  /// Whether the cell has been adopted or restored.
  bool holds(std::uint64_t offset, std::uint64_t bytes);
  /// Every reachable cell has been adopted: what remains is free. Nothing retired since begin_recovery may be pending.
  void end_recovery();

  /// Bytes in cells that are in use.
  std::uint64_t used_bytes() const { return used_bytes_.load(std::memory_order_relaxed); }
  /// Bytes retired, and waiting for readers or for company.
  std::uint64_t pending_bytes() const { return pending_bytes_.load(std::memory_order_relaxed); }
  /// Bytes in cells of slabs that are not in use.
  std::uint64_t idle_cell_bytes();

  // Saving at a clean close, and reading back -----------------------------------------------------------------------------

  /// Slabs and large extents, as 64-bit words (docs/format.md, "saved allocation state").
  std::vector<std::uint64_t> save();
  /// In place of adopting. Returns false when the words contradict each other.
  bool restore(const std::vector<std::uint64_t>& words);

 private:
  struct cell {
    std::uint64_t offset, bytes;
  };
  using slab_order = std::set<std::uint64_t>;  // by offset: the front of the pool fills first

  slab* slab_at(std::uint64_t offset) {
    std::uint64_t index = offset / slab_bytes;
    return index < slabs_.size() ? slabs_[index].get() : nullptr;
  }
  slab* make_slab(std::uint64_t offset, std::uint64_t cell_bytes);
  std::optional<std::uint64_t> allocate_cell(std::uint64_t cell_bytes);
  void free_cell(slab& s, std::uint64_t offset, std::uint64_t cell_bytes);
  void release_slab(slab& s);
  bool restore_slab(std::uint64_t offset, std::uint64_t cell_bytes, const std::uint64_t* bits);
  void forget(cell c);                                              // under lock_
  bool awaits_recovery(cell c) {
    std::scoped_lock lock(lock_);
    return recovering_ && c.offset < end_at_open_;
  }
  bool in_use(std::uint64_t offset, std::uint64_t cell_bytes);     // under lock_
  bool overlaps(std::uint64_t offset, std::uint64_t bytes);        // under lock_
  void reclaim_retired(std::size_t room_for_next);

  pool<M>& pool_;
  spin_lock lock_;  // guards all below
  std::vector<std::unique_ptr<slab>> slabs_;  // by offset / slab_bytes
  std::array<slab_order, class_count> with_room_;
  std::map<std::uint64_t, std::uint64_t> large_;  // extents in use: offset -> bytes
  std::vector<cell> retired_;
  std::uint64_t retired_bytes_ = 0;
  std::vector<cell> freed_during_recovery_;
  std::atomic<bool> front_first_{false};
  bool recovering_ = false;
  std::uint64_t end_at_open_ = 0;
  std::atomic<std::uint64_t> used_bytes_{0};
  std::atomic<std::uint64_t> pending_bytes_{0};
  background reclaimer_;  // waits for readers, so that writers do not. Last: stopped before anything it uses goes
};

// ------------------------------------------------------------------------------------------------------- allocate and free

template <medium M>
std::optional<std::uint64_t> heap<M>::allocate(std::uint64_t bytes) {
  std::uint64_t cell_bytes = cell_bytes_for(bytes);
  std::scoped_lock lock(lock_);
  if (cell_bytes <= largest_cell_bytes) return allocate_cell(cell_bytes);
  auto offset = pool_.allocate(cell_bytes, page_bytes);
  if (!offset) return std::nullopt;
  large_.emplace(*offset, cell_bytes);
  used_bytes_ += cell_bytes;
  return offset;
}

template <medium M>
std::optional<std::uint64_t> heap<M>::allocate_cell(std::uint64_t cell_bytes) {
  slab_order& candidates = with_room_[class_of(cell_bytes)];
  slab* s = nullptr;
  bool another = front_first_ && !candidates.empty() && pool_.has_room_before(*candidates.begin(), slab_bytes, slab_bytes);
  if (!candidates.empty() && !another) {
    s = slab_at(*candidates.begin());
  } else {
    auto offset = pool_.allocate(slab_bytes, slab_bytes);
    if (!offset) return std::nullopt;
    s = make_slab(*offset, cell_bytes);
    candidates.insert(s->offset);
  }
  for (std::size_t word = 0; word < s->bits.size(); ++word) {
    if (~s->bits[word] == 0) continue;
    auto index = word * 64 + static_cast<std::size_t>(std::countr_one(s->bits[word]));
    s->bits[word] |= s->bits[word] + 1;
    if (++s->used == s->cells()) candidates.erase(s->offset);
    used_bytes_ += cell_bytes;
    return s->offset + index * cell_bytes;
  }
  check(false, "a slab with room has a free cell");
  return std::nullopt;
}

template <medium M>
bool heap<M>::has_room_before(std::uint64_t offset, std::uint64_t bytes) {
  std::uint64_t cell_bytes = cell_bytes_for(bytes);
  std::scoped_lock lock(lock_);
  if (cell_bytes > largest_cell_bytes) return pool_.has_room_before(offset, cell_bytes, page_bytes);
  const slab_order& candidates = with_room_[class_of(cell_bytes)];
  std::uint64_t own = align_down(offset, slab_bytes);
  return (!candidates.empty() && *candidates.begin() < own) || pool_.has_room_before(own, slab_bytes, slab_bytes);
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
  if (cells % 64 != 0) made->bits.back() = ~low_bits(cells % 64);  // cells that do not exist are never free
  slabs_[index] = std::move(made);
  return slabs_[index].get();
}

template <medium M>
void heap<M>::free(std::uint64_t offset, std::uint64_t bytes) {
  std::uint64_t cell_bytes = cell_bytes_for(bytes);
  std::scoped_lock lock(lock_);
  if (recovering_ && offset < end_at_open_) {
    freed_during_recovery_.push_back({offset, bytes});
    return;
  }
  if (cell_bytes > largest_cell_bytes) {
    check(large_.erase(offset) == 1, "a large extent is freed once");
    used_bytes_ -= cell_bytes;
    pool_.free(offset, cell_bytes);
    return;
  }
  slab* s = slab_at(offset);
  check(s != nullptr && s->cell_bytes == cell_bytes, "a freed cell belongs to a slab of its size");
  free_cell(*s, offset, cell_bytes);
}

template <medium M>
void heap<M>::free_cell(slab& s, std::uint64_t offset, std::uint64_t cell_bytes) {
  std::uint64_t index = (offset - s.offset) / cell_bytes;
  std::uint64_t bit = std::uint64_t{1} << (index % 64);
  check((s.bits[index / 64] & bit) != 0, "a cell is freed once");
  s.bits[index / 64] &= ~bit;
  used_bytes_ -= cell_bytes;
  if (s.full()) with_room_[class_of(cell_bytes)].insert(s.offset);
  if (--s.used == 0) release_slab(s);
}

template <medium M>
void heap<M>::release_slab(slab& s) {
  slab_order& candidates = with_room_[class_of(s.cell_bytes)];
  if (candidates.size() == 1) return;  // the last one with room stays: no slab comes and goes with every cell
  candidates.erase(s.offset);
  std::uint64_t offset = s.offset;
  slabs_[offset / slab_bytes].reset();
  pool_.free(offset, slab_bytes);
}

template <medium M>
void heap<M>::release_idle_slabs() {
  std::scoped_lock lock(lock_);
  for (auto& s : slabs_) {
    if (!s || s->used != 0 || s->from_before) continue;
    with_room_[class_of(s->cell_bytes)].erase(s->offset);
    pool_.free(s->offset, slab_bytes);
    s.reset();
  }
}

template <medium M>
void heap<M>::retire(std::uint64_t offset, std::uint64_t bytes) {
  constexpr std::size_t batch_cells = 512;
  constexpr std::uint64_t batch_bytes = 1 << 20;
  bool enough;
  {
    std::scoped_lock lock(lock_);
    bool unknown = recovering_ && offset < end_at_open_;
    if (!unknown && !in_use(offset, cell_bytes_for(bytes))) return;
    retired_.push_back({offset, bytes});
    retired_bytes_ += bytes;
    pending_bytes_ += cell_bytes_for(bytes);
    enough = retired_.size() >= batch_cells || retired_bytes_ >= std::min(batch_bytes, used_bytes() / 16);
  }
  if (enough) reclaim_retired(batch_cells);
  // Where writers retire faster than the reclaimer gets time, they wait for it: else the pool would grow by what is only pending.
  constexpr std::uint64_t slack_bytes = 256 << 10;
  if (enough && pending_bytes() > slack_bytes + used_bytes() / 8) settle();
}

/// Hands what is retired over to be freed behind the readers.
template <medium M>
void heap<M>::reclaim_retired(std::size_t room_for_next) {
  std::vector<cell> batch;
  {
    std::scoped_lock lock(lock_);
    if (retired_.empty()) return;
    batch.swap(retired_);
    retired_.reserve(room_for_next);
    retired_bytes_ = 0;
  }
  reclaimer_.submit([this, batch = std::move(batch)](const background&) {
    wait_for_readers();
    for (cell c : batch) {
      if (awaits_recovery(c) || holds(c.offset, c.bytes)) free(c.offset, c.bytes);
      pending_bytes_ -= cell_bytes_for(c.bytes);
    }
  });
}

template <medium M>
std::uint64_t heap<M>::idle_cell_bytes() {
  std::scoped_lock lock(lock_);
  std::uint64_t sum = 0;
  for (auto& s : slabs_)
    if (s) sum += slab_bytes - std::uint64_t{s->used} * s->cell_bytes;
  return sum;
}

// ---------------------------------------------------------------------------------------------------------------- recovery

template <medium M>
void heap<M>::begin_recovery() {
  std::scoped_lock lock(lock_);
  slabs_.clear();
  large_.clear();
  for (slab_order& order : with_room_) order.clear();
  used_bytes_ = 0;
  recovering_ = true;
  end_at_open_ = pool_.end();
}

template <medium M>
bool heap<M>::adopt(std::uint64_t offset, std::uint64_t bytes) {
  std::uint64_t cell_bytes = cell_bytes_for(bytes);
  std::scoped_lock lock(lock_);
  if (offset < pool_.block().heap_offset || offset >= pool_.end()) return false;
  if (offset >= end_at_open_) return true;  // allocated since open: known
  if (cell_bytes > end_at_open_ - offset) return false;
  if (cell_bytes > largest_cell_bytes) {
    if (offset % page_bytes != 0 || overlaps(offset, cell_bytes)) return false;
    large_.emplace(offset, cell_bytes);
    used_bytes_ += cell_bytes;
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
  std::uint64_t index = (offset - start) / cell_bytes;
  std::uint64_t bit = std::uint64_t{1} << (index % 64);
  if (s->cell_bytes != cell_bytes || (offset - start) % cell_bytes != 0 || index >= s->cells() || (s->bits[index / 64] & bit) != 0)
    return false;
  s->bits[index / 64] |= bit;
  ++s->used;
  used_bytes_ += cell_bytes;
  return true;
}

template <medium M>
bool heap<M>::overlaps(std::uint64_t offset, std::uint64_t bytes) {
  for (std::uint64_t index = offset / slab_bytes; index * slab_bytes < offset + bytes && index < slabs_.size(); ++index)
    if (slabs_[index]) return true;
  auto next = large_.lower_bound(offset);
  if (next != large_.end() && next->first < offset + bytes) return true;
  return next != large_.begin() && std::prev(next)->first + std::prev(next)->second > offset;
}

template <medium M>
bool heap<M>::in_use(std::uint64_t offset, std::uint64_t cell_bytes) {
  if (cell_bytes > largest_cell_bytes) {
    auto found = large_.find(offset);
    return found != large_.end() && found->second == cell_bytes;
  }
  slab* s = slab_at(offset);
  if (s == nullptr || s->cell_bytes != cell_bytes || (offset - s->offset) % cell_bytes != 0) return false;
  std::uint64_t index = (offset - s->offset) / cell_bytes;
  return index < s->cells() && (s->bits[index / 64] >> (index % 64) & 1) != 0;
}

template <medium M>
bool heap<M>::holds(std::uint64_t offset, std::uint64_t bytes) {
  std::scoped_lock lock(lock_);
  return in_use(offset, cell_bytes_for(bytes));
}

template <medium M>
void heap<M>::end_recovery() {
  std::scoped_lock lock(lock_);
  // Under one lock with what follows: a cell that this makes free must not be handed out before its turn in this list.
  for (cell c : freed_during_recovery_) forget(c);
  freed_during_recovery_.clear();
  recovering_ = false;

  std::uint64_t at = pool_.block().heap_offset;
  auto free_up_to = [&](std::uint64_t next, std::uint64_t skip) {
    if (next > at) pool_.found_free(at, next - at);
    at = std::max(at, next + skip);
  };
  auto extent = large_.begin();
  auto skip_extents_before = [&](std::uint64_t offset) {
    for (; extent != large_.end() && extent->first < offset; ++extent) free_up_to(extent->first, extent->second);
  };
  for (auto& s : slabs_) {
    if (!s || !s->from_before) continue;
    if (s->used == 0) {
      s.reset();
      continue;
    }
    skip_extents_before(s->offset);
    free_up_to(s->offset, slab_bytes);
    s->from_before = false;
    if (!s->full()) with_room_[class_of(s->cell_bytes)].insert(s->offset);
  }
  skip_extents_before(end_at_open_);
  free_up_to(end_at_open_, 0);
}

/// A cell of before that was retired while recovery ran. One that was unlinked before the scan saw it was never adopted, and is free already.
template <medium M>
void heap<M>::forget(cell c) {
  std::uint64_t cell_bytes = cell_bytes_for(c.bytes);
  if (!in_use(c.offset, cell_bytes)) return;
  used_bytes_ -= cell_bytes;
  if (cell_bytes > largest_cell_bytes) {
    large_.erase(c.offset);
    return;
  }
  slab& s = *slab_at(c.offset);
  std::uint64_t index = (c.offset - s.offset) / cell_bytes;
  s.bits[index / 64] &= ~(std::uint64_t{1} << (index % 64));
  --s.used;
}

// ----------------------------------------------------------------------------------------------------------- clean close

template <medium M>
std::vector<std::uint64_t> heap<M>::save() {
  std::scoped_lock lock(lock_);
  std::vector<std::uint64_t> words{0, large_.size()};
  for (auto [offset, bytes] : large_) words.insert(words.end(), {offset, bytes});
  for (auto& s : slabs_) {
    if (!s || s->used == 0) continue;
    ++words[0];
    words.insert(words.end(), {s->offset, s->cell_bytes});
    words.insert(words.end(), s->bits.begin(), s->bits.end());
  }
  return words;
}

template <medium M>
bool heap<M>::restore(const std::vector<std::uint64_t>& words) {
  std::size_t at = 2;
  if (words.size() < 2 || words[1] > words.size() || words[0] > words.size()) return false;
  for (std::uint64_t n = 0; n < words[1]; ++n, at += 2)
    if (at + 2 > words.size() || words[at + 1] <= largest_cell_bytes || !adopt(words[at], words[at + 1])) return false;
  for (std::uint64_t n = 0; n < words[0]; ++n) {
    if (at + 2 > words.size()) return false;
    std::uint64_t offset = words[at], cell_bytes = words[at + 1];
    if (cell_bytes == 0 || cell_bytes > largest_cell_bytes || cell_bytes_for(cell_bytes) != cell_bytes) return false;
    std::size_t bitmap_words = (slab_bytes / cell_bytes + 63) / 64;
    at += 2;
    if (at + bitmap_words > words.size() || !restore_slab(offset, cell_bytes, &words[at])) return false;
    at += bitmap_words;
  }
  return at == words.size();
}

template <medium M>
bool heap<M>::restore_slab(std::uint64_t offset, std::uint64_t cell_bytes, const std::uint64_t* bits) {
  std::scoped_lock lock(lock_);
  if (offset % slab_bytes != 0 || offset < pool_.block().heap_offset || offset > end_at_open_ - slab_bytes || overlaps(offset, slab_bytes))
    return false;
  slab& s = *make_slab(offset, cell_bytes);
  s.from_before = true;
  std::uint64_t absent = s.bits.size() * 64 - s.cells();
  if (std::popcount(s.bits.back() & bits[s.bits.size() - 1]) != static_cast<int>(absent)) return false;  // cells that do not exist
  s.bits.assign(bits, bits + s.bits.size());
  std::uint64_t set = 0;
  for (std::uint64_t word : s.bits) set += static_cast<unsigned>(std::popcount(word));
  s.used = static_cast<std::uint32_t>(set - absent);
  used_bytes_ += s.used * cell_bytes;
  return true;
}

}  // namespace durahash
