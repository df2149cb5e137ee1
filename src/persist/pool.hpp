// A pool: the mapping, the superblock, the root, and the extents behind them.
//
// Invariants
//   P1  The selector names a root record whose checksum and sequence match. Roots change in turn:
//       the one not named is written and made durable, then the selector is published (COMMIT).
//   P2  Every extent in use lies within root.pool_bytes, and root.pool_bytes within the file.
//   P3  The root says `changing`, on the disk too where there is one, from before the first store
//       of a change until a clean close or a sync.
//   P4  Once a write-back has failed, nothing says that all bytes are on the disk: the kernel may
//       have dropped some, and would not tell again.
//
// no memory in the process: what throws std::bad_alloc has changed nothing. A free extent that
// cannot be noted is free again at the next opening.
//
// crash while changing the root: before COMMIT the old root is in force, after it the new one; each
// is whole. crash while growing: the file may be longer than pool_bytes; the excess is used or cut
// later. crash while shrinking: pool_bytes is lowered first, so the tail that is about to go is
// free already.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <optional>

#include "base/background.hpp"
#include "base/turns.hpp"
#include "media/image_copy.hpp"
#include "media/mapping.hpp"
#include "persist/format.hpp"
#include "persist/free_space.hpp"
#include "persist/order.hpp"
#include "persist/readers_gate.hpp"

namespace durahash {

namespace detail {

inline pm<std::uint64_t>& selector_at(std::byte* base) {
  return *reinterpret_cast<pm<std::uint64_t>*>(base + selector_offset);
}

template <medium M>
void clear_owner(M& m, std::byte* base) {
  constexpr owner_record nobody{};
  if (std::memcmp(base + owner_offset, &nobody, sizeof nobody) != 0)
    store_bytes(m, base + owner_offset, &nobody, sizeof nobody);
}

}  // namespace detail

template <medium M>
class pool {
 public:
  /// A new pool: `block` says what it is (new_superblock). Durable with flush_header; the file has
  /// no name before `appear`.
  static result<std::unique_ptr<pool>> create(std::unique_ptr<mapping> map,
                                              std::unique_ptr<M> medium, const superblock& block);
  pool(std::unique_ptr<mapping> map, std::unique_ptr<M> medium, const superblock& block,
       const root_record& root);
  ~pool();

  M& medium() noexcept { return *medium_; }
  mapping& memory() noexcept { return *map_; }
  const superblock& block() const noexcept { return block_; }
  const root_record& root() const noexcept { return root_; }
  bool read_only() const noexcept { return map_->read_only(); }
  std::uint64_t end() const noexcept { return end_.load(std::memory_order_acquire); }

  template <class T>
  T* at(poff<T> where) const noexcept {
    return reinterpret_cast<T*>(base_ + where.offset);
  }
  std::byte* at(std::uint64_t offset) const noexcept { return base_ + offset; }
  std::uint64_t offset_of(const void* at) const noexcept {
    return static_cast<std::uint64_t>(static_cast<const std::byte*>(at) - base_);
  }

  /// Must be called, under the engine's lock, before the first store of a change. Returns false,
  /// and nothing may change, when the disk does not take the root. Cost: one load, but after open
  /// and sync.
  [[nodiscard]] bool may_change() {
    return changing_.load(std::memory_order_acquire) || mark_changing();
  }

  /// Starts the write-back of all in front of the heap, of a new pool all that `create` stored, of
  /// an old one what a killed process wrote and perhaps never flushed. The engine calls it at open,
  /// and fences before it builds on what it found there.
  flushed flush_header() {
    if (opens_durable(*medium_) && !created_) return {};
    return flush(*medium_, extent{base_, block_.engine_offset + block_.engine_bytes},
                 "pool.header");
  }

  /// Extents. Grows the pool as needed; nothing is durable, and nothing needs to be: reachability
  /// is the truth.
  std::optional<std::uint64_t> allocate(std::uint64_t bytes, std::uint64_t alignment);
  void free(std::uint64_t offset, std::uint64_t bytes) noexcept;
  std::uint64_t free_bytes();
  /// Visits each free extent by offset and bytes. The visitor may not call the pool.
  template <class Visit>
  void for_each_free(Visit&& visit) {
    std::scoped_lock lock(space_lock_);
    space_.for_each(visit);
  }

  /// Whether allocate(bytes, alignment) would now answer with a place in front of `offset`.
  bool has_room_before(std::uint64_t offset, std::uint64_t bytes, std::uint64_t alignment);

  /// Recovery tells what is free below the end that the pool had at open; until then only new space
  /// behind it is handed out.
  void found_free(std::uint64_t offset, std::uint64_t bytes) noexcept { free(offset, bytes); }

  /// Makes room for `bytes` more.
  status reserve(std::uint64_t bytes);

  /// Gives the free tail back to the file system. Returns ok or io_error.
  status give_back_tail();

  /// Brings a copy to what the pool is now. No writer may be at work; growth waits.
  status copy_to(image_copy& copy) {
    std::scoped_lock no_growth(growth_lock_);
    std::scoped_lock lock(root_lock_);
    return copy.pass(end());
  }

  /// Whether anything may have changed since the pool was clean last.
  bool changing() const noexcept { return changing_.load(std::memory_order_acquire); }

  /// Until `end_salvage` the pool says that it cannot be opened without salvage: a salvage that is
  /// killed has repaired a part of it. After it, it is as after any open.
  void begin_salvage() noexcept { salvaging_ = true; }
  void end_salvage();

  /// A pool that was killed gets a root of this opening where its file keeps a note of that: then a
  /// copy of what it was before is known to be older (P5).
  void mark_opening();

  /// Marks the pool clean, with what a clean close saves. No writer may be at work; growth waits.
  /// All bytes are on the disk first, where there is one. Returns ok, or io_error: now, and ever
  /// after a failure.
  struct saved_state {
    std::uint64_t offset = 0, bytes = 0, checksum = 0;
  };
  status mark_clean(std::uint64_t records, const saved_state& saved);

  /// Names who owns the pool beside the file's lock (persist/owner.hpp), or that nobody does. Every
  /// later process of this run of the machine sees it; it is not flushed.
  void set_owner(const owner_record& owner) {
    store_bytes(*medium_, base_ + owner_offset, &owner, sizeof owner);
  }
  void clear_owner() { detail::clear_owner(*medium_, base_); }

  /// Readers in other processes (docs/explanation/readers.md).
  readers_gate& readers() noexcept { return readers_; }

  /// Whether no write-back has failed.
  bool sound() const noexcept { return !disk_failed_; }

  /// Waits until every byte of the pool is on the disk, where there is one. Returns ok, or
  /// io_error: now, and ever after a failure.
  status write_all_to_disk() { return to_disk(0, end()); }

 private:
  enum class reach { memory, disk };
  bool mark_changing();
  status change_root(root_record next, reach how_far);  // under root_lock_
  status change_end(std::uint64_t end);
  status to_disk(std::uint64_t offset, std::uint64_t bytes);
  std::optional<std::uint64_t> take(std::uint64_t bytes,
                                    std::uint64_t alignment);  // under space_lock_
  status grow_to_fit(std::uint64_t bytes);                     // under growth_lock_
  status grow_to(std::uint64_t to);                            // under growth_lock_
  void grow_ahead();                                           // under space_lock_
  bool will_lack_space() const noexcept {                      // likewise
    return space_.bytes() <= growth_step() / 2;
  }
  void fault_in_background(std::uint64_t from, std::uint64_t to);
  std::uint64_t growth_step() const;

  std::unique_ptr<mapping> map_;
  std::unique_ptr<M> medium_;
  std::byte* base_;
  superblock block_;
  root_record root_;                // guarded by root_lock_
  std::atomic<std::uint64_t> end_;  // root_.pool_bytes
  std::atomic<bool> changing_;      // the root says so, durably
  std::atomic<bool> disk_failed_{false};
  bool created_ = false, salvaging_ = false;
  readers_gate readers_;
  // Who moves the end holds the first, before either of the others: what the system takes its time
  // for is done under it alone, so that who finds space waits for nobody who makes more.
  turn_mutex growth_lock_;
  turn_mutex root_lock_;
  turn_mutex space_lock_;
  turn_mutex pages_lock_;       // while pages are made present ahead, or go
  free_space space_;            // guarded by space_lock_
  free_space::spare spare_;     // likewise: for the next extent that is given back
  bool growing_ahead_ = false;  // guarded by space_lock_
  background background_;       // last: stopped before anything it uses goes
};

// ---------------------------------------------------------------------------------------- creation

template <medium M>
result<std::unique_ptr<pool<M>>> pool<M>::create(std::unique_ptr<mapping> map,
                                                 std::unique_ptr<M> medium,
                                                 const superblock& block) {
  if (status s = map->grow(block.heap_offset); s != status::ok)
    return error{s, "no room for its first " + std::to_string(block.heap_offset) + " bytes" +
                        map->refusal()};
  M& m = *medium;
  std::byte* base = map->base();
  // a device may hold older bytes
  for (std::uint64_t at = block.engine_offset; at < block.engine_offset + block.engine_bytes;
       at += 8)
    if (auto& word = *reinterpret_cast<pm<std::uint64_t>*>(base + at); load(m, word) != 0)
      store(m, word, 0);
  detail::clear_owner(m, base);
  root_record root{};
  root.pool_bytes = map->backed_bytes();
  root.boot_id = this_boot();
  root.file_mark = map->file_mark().value_or(0);
  root.state = pool_state::clean;
  root = sealed(root);
  superblock whole = sealed(block);
  for (std::uint64_t offset : superblock_offsets)
    store_bytes(m, base + offset, &whole, sizeof whole);
  store_bytes(m, base + root_offsets[0], &root, sizeof root);
  store(m, detail::selector_at(base), root.sequence);
  auto made = std::make_unique<pool>(std::move(map), std::move(medium), sealed(block), root);
  made->created_ = true;
  return made;
}

template <medium M>
pool<M>::pool(std::unique_ptr<mapping> map, std::unique_ptr<M> medium, const superblock& block,
              const root_record& root)
    : map_(std::move(map)),
      medium_(std::move(medium)),
      base_(map_->base()),
      block_(block),
      root_(root),
      end_(root.pool_bytes),
      changing_(root.state == pool_state::changing),
      readers_(*map_) {}

template <medium M>
pool<M>::~pool() = default;

// -------------------------------------------------------------------------------------------- root

template <medium M>
status pool<M>::to_disk(std::uint64_t offset, std::uint64_t bytes) {
  if (map_->write_to_disk(offset, bytes) != status::ok) disk_failed_ = true;
  return disk_failed_ ? status::io_error : status::ok;
}

/// A failure before COMMIT leaves the old root in force, one behind it the new one: root_ says
/// which.
template <medium M>
status pool<M>::change_root(root_record next, reach how_far) {
  next.sequence = root_.sequence + (M::planted("a-root-overwritten-in-place") ? 2 : 1);
  // an unknown run of the machine
  next.boot_id = salvaging_ ? std::array<std::uint8_t, 16>{} : this_boot();
  if (!salvaging_) next.file_mark = map_->file_mark().value_or(0);
  next = sealed(next);
  std::uint64_t offset = root_offsets[next.sequence % 2];
  store_bytes(*medium_, base_ + offset, &next, sizeof next);
  durable written = persist(*medium_, extent{base_ + offset, sizeof next}, "pool.root.record");
  auto reaches_disk = [&](std::uint64_t at, std::uint64_t bytes) {
    return how_far == reach::memory || map_->write_flushed_to_disk(at, bytes) == status::ok ||
           (disk_failed_ = true, false);
  };
  // A disk may tear the page: the record is there before the selector names it.
  if (!reaches_disk(offset, sizeof next)) return status::io_error;
  [[maybe_unused]] durable selected =
      // COMMIT: the root changes
      publish(*medium_, detail::selector_at(base_), next.sequence, after(std::move(written)),
              "pool.root.commit");
  root_ = next;
  map_->note_root(next.sequence);  // a note that is older says less, and nothing wrong
  return reaches_disk(selector_offset, sizeof next.sequence) ? status::ok : status::io_error;
}

/// A clean root may hold the allocation state, which a new end would leave outside the pool: the
/// pool is changing from here on.
template <medium M>
status pool<M>::change_end(std::uint64_t end) {
  if (!M::planted("a-clean-root-with-a-new-end") && !may_change()) return status::io_error;
  std::scoped_lock lock(root_lock_);
  root_record next = root_;
  next.pool_bytes = end;
  change_root(next, reach::memory);
  end_.store(end, std::memory_order_release);
  return status::ok;
}

/// Each call tries anew: what failed once is stored again, and so written again.
template <medium M>
bool pool<M>::mark_changing() {
  std::scoped_lock lock(root_lock_);
  if (changing_.load(std::memory_order_relaxed)) return true;
  root_record next = root_;
  next.state = pool_state::changing;
  next.heap_state_offset = next.heap_state_bytes = next.heap_state_checksum = 0;
  if (change_root(next, reach::disk) != status::ok) return false;
  changing_.store(true, std::memory_order_release);
  return true;
}

template <medium M>
void pool<M>::end_salvage() {
  std::scoped_lock lock(root_lock_);
  salvaging_ = false;
  if (root_.state == pool_state::changing) change_root(root_, reach::memory);
}

template <medium M>
void pool<M>::mark_opening() {
  std::scoped_lock lock(root_lock_);
  if (read_only() || root_.state != pool_state::changing) return;
  if (map_->note_root(root_.sequence)) change_root(root_, reach::memory);
}

template <medium M>
status pool<M>::mark_clean(std::uint64_t records, const saved_state& saved) {
  // one under way would mark the pool as changing again, or move the end of a clean one
  std::scoped_lock no_growth(growth_lock_);
  if (status s = write_all_to_disk(); s != status::ok) return s;
  std::scoped_lock lock(root_lock_);
  root_record next = root_;
  next.state = pool_state::clean;
  next.records = records;
  next.heap_state_offset = saved.offset;
  next.heap_state_bytes = saved.bytes;
  next.heap_state_checksum = saved.checksum;
  std::uint64_t in_force = root_.sequence;
  status s = change_root(next, reach::disk);
  if (root_.sequence == in_force) return s;  // before COMMIT: what a sync left clean stays clean
  // The selector alone may have failed to reach the disk: the next change has to mark the root
  // durably.
  changing_.store(false, std::memory_order_release);
  if (s == status::ok) return s;
  next.state = pool_state::changing;
  next.heap_state_offset = next.heap_state_bytes = next.heap_state_checksum = 0;
  change_root(next, reach::memory);  // so that who opens it next finds what the caller was told
  return s;
}

// ----------------------------------------------------------------------------------------- extents

template <medium M>
std::optional<std::uint64_t> pool<M>::allocate(std::uint64_t bytes, std::uint64_t alignment) {
  bytes = align_up(bytes, page_bytes);
  {
    std::scoped_lock lock(space_lock_);
    if (auto found = take(bytes, alignment)) return found;
  }
  std::scoped_lock growth(growth_lock_);
  while (true) {  // ends: each round makes the pool longer; others may have taken what it got
    {
      std::scoped_lock lock(space_lock_);
      if (auto found = take(bytes, alignment)) return found;
    }
    const std::uint64_t unaligned = align_up(end(), alignment) - end();
    if (grow_to_fit(unaligned + bytes) != status::ok && grow_to_fit(bytes) != status::ok)
      return std::nullopt;
  }
}

/// Under space_lock_.
template <medium M>
std::optional<std::uint64_t> pool<M>::take(std::uint64_t bytes, std::uint64_t alignment) {
  if (spare_.empty()) spare_ = free_space::make_spare();
  auto found = space_.take(bytes, alignment);
  if (found) grow_ahead();
  return found;
}

template <medium M>
void pool<M>::free(std::uint64_t offset, std::uint64_t bytes) noexcept {
  std::scoped_lock lock(space_lock_);
  try {
    if (spare_.empty()) spare_ = free_space::make_spare();
  } catch (const std::bad_alloc&) {}
  if (!spare_.empty()) space_.give(offset, align_up(bytes, page_bytes), spare_);
}

template <medium M>
std::uint64_t pool<M>::free_bytes() {
  std::scoped_lock lock(space_lock_);
  return space_.bytes();
}

template <medium M>
bool pool<M>::has_room_before(std::uint64_t offset, std::uint64_t bytes, std::uint64_t alignment) {
  std::scoped_lock lock(space_lock_);
  auto found = space_.find(align_up(bytes, page_bytes), alignment);
  return found && align_up(*found, alignment) < offset;
}

template <medium M>
status pool<M>::reserve(std::uint64_t bytes) {
  std::scoped_lock growth(growth_lock_);
  const std::uint64_t present = free_bytes();
  return present >= bytes ? status::ok : grow_to_fit(bytes - present);
}

template <medium M>
std::uint64_t pool<M>::growth_step() const {
  // An eighth of the pool: few growths, little overshoot. A small one doubles: many of them are
  // cheap.
  constexpr std::uint64_t least = 256 << 10, most = 128 << 20;
  return align_up(std::clamp(end() / 8, std::min(end(), least), most), page_bytes);
}

template <medium M>
status pool<M>::grow_to_fit(std::uint64_t bytes) {
  std::uint64_t from = end(), least = align_up(from + bytes, page_bytes);
  status grown = grow_to(std::max(least, from + growth_step()));
  return grown == status::no_space ? grow_to(least) : grown;
}

template <medium M>
status pool<M>::grow_to(std::uint64_t to) {
  free_space::spare memory = free_space::make_spare();
  const std::uint64_t from = end();
  if (status s = map_->grow(to); s != status::ok) return s;
  // the file is longer: the excess is used or cut later
  if (status s = change_end(to); s != status::ok) return s;
  {
    std::scoped_lock lock(space_lock_);
    space_.give(from, to - from, memory);
  }
  fault_in_background(from, to);
  return status::ok;
}

/// Growth that writers do not wait for: starts when half a step is left, in pools large enough for
/// it to matter. A pool that was synced or closed in the meantime is left in peace: it is clean
/// until the next write.
template <medium M>
void pool<M>::grow_ahead() {
  constexpr std::uint64_t worth_it = 16 << 20;
  if (growing_ahead_ || !worth_a_thread(end(), worth_it) || !will_lack_space()) return;
  growing_ahead_ = background_.submit([this](const background&) {
    std::scoped_lock growth(growth_lock_);
    bool wanted = false;  // others may have grown it meanwhile
    {
      std::scoped_lock lock(space_lock_);
      growing_ahead_ = false;
      wanted = will_lack_space();
    }
    if (wanted && changing()) [[maybe_unused]]
      status unneeded = grow_to(end() + growth_step());
  });
}

/// Only so that writers meet no page that is not there: without a thread they do. So they do in a
/// small pool, where most pages may never be met.
template <medium M>
void pool<M>::fault_in_background(std::uint64_t from, std::uint64_t to) {
  constexpr std::uint64_t worth_it = 1 << 20;
  if (!worth_a_thread(to, worth_it)) return;
  background_.submit([this, from, to](const background& self) {
    constexpr std::uint64_t piece = 2 << 20;
    for (std::uint64_t at = from; at < to && !self.stopping(); at += piece) {
      std::scoped_lock pages(pages_lock_);
      const std::uint64_t until = std::min(to, end());  // the end may have moved
      if (at >= until) return;
      map_->fault_ahead(at, std::min(piece, until - at));
    }
  });
}

template <medium M>
status pool<M>::give_back_tail() {
  std::scoped_lock growth(growth_lock_);
  free_space::spare memory = free_space::make_spare();
  const std::uint64_t to = end();
  std::uint64_t from = to;
  {
    std::scoped_lock lock(space_lock_);
    from = space_.take_tail(to);
  }
  if (from == to) return status::ok;
  if (status s = change_end(from); s != status::ok) {
    std::scoped_lock lock(space_lock_);
    return space_.give(from, to - from, memory), s;
  }
  std::scoped_lock pages(pages_lock_);
  map_->shrink(from);
  return status::ok;
}

}  // namespace durahash
