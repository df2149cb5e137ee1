// The heap: cells of many sizes in slabs, large ones as extents of their own. Who uses a cell
// stands in DRAM only.
//
// Invariants
//   H1  A cell is in use exactly while the engine's root reaches it, while it is being filled, or
//       while it waits for readers.
//   H2  A slab holds cells of one class; its offset is a multiple of slab_bytes, so that an offset
//       names its slab.
//   H3  Nobody waits for readers in here, but in settle(), which no lock may be held around.
//   H4  A slab that a lane owns is taken from under the lane's lock alone. A lane's lock comes
//       before the heap's. Who holds one waits for no other, but for who holds all, in their order.
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
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "base/spin_lock.hpp"
#include "persist/epochs.hpp"
#include "persist/pool.hpp"
#include "persist/size_class.hpp"
#include "persist/slab.hpp"
#include "persist/slab_set.hpp"

namespace durahash {

template <medium M>
class heap {
 public:
  explicit heap(pool<M>& p);
  ~heap();
  heap(const heap&) = delete;

  /// Of this pool alone. Who looks at a cell that others may retire is under a guard of it.
  const epochs& readers() const noexcept { return readers_; }

  /// Returns   the offset of at least `bytes` bytes aligned to 16 (to a block, for multiples of
  ///           256), or nothing when there is no space: what no reader sees any more has been
  ///           reclaimed then.
  std::optional<std::uint64_t> allocate(std::uint64_t bytes);

  /// While one lives, cells are taken from a new slab if that lies in front of every slab with
  /// room. For compaction.
  class front_first {
   public:
    explicit front_first(heap& h) : heap_(h) {
      heap_.change_front_first(+1);
      heap_.empty_lanes();
    }
    ~front_first() { heap_.change_front_first(-1); }
    front_first(const front_first&) = delete;

   private:
    heap& heap_;
  };

  /// Whether allocate(bytes), front first, would now answer with a place in front of `offset`.
  bool has_room_before(std::uint64_t offset, std::uint64_t bytes);

  /// At once: nobody can see the cell any more. Does not throw.
  void free(std::uint64_t offset, std::uint64_t bytes) noexcept;

  /// Gives slabs without a cell in use back to the pool.
  void release_idle_slabs() noexcept;

  // Readers (heap_readers.hpp)
  // --------------------------------------------------------------------------

  /// After the readers that may see it. A cell that is not in use is left alone: the pool is
  /// damaged, and check tells where. Does not throw, and does not wait.
  void retire(std::uint64_t offset, std::uint64_t bytes) noexcept;
  /// The same of several cells: called with offset and bytes of each. Its thread does nothing else
  /// with the heap while one lives and was not released.
  class retiring;

  /// Frees what was retired and no reader sees any more. Does not wait.
  void reclaim() noexcept;

  /// Waits until all that was retired before is free: not long for a reader that stays, not at all
  /// in a thread that reads this pool. Nothing may be locked. Returns whether it is free.
  bool settle() noexcept;

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
  /// One of the two, for many cells: `adopt`, or `holds` where a saved state has been restored.
  /// While it lives nobody else may use the heap.
  class taking {
   public:
    taking(heap& h, bool restored) : heap_(h), restored_(restored), lock_(h.lock_) {}
    bool operator()(std::uint64_t offset, std::uint64_t bytes) {
      return restored_ ? heap_.holds_now(offset, bytes) : heap_.adopt_now(offset, bytes);
    }
    /// Asks the memory for what is known of that cell, some cells before it is its turn.
    void ask_for(std::uint64_t offset) const noexcept {
      __builtin_prefetch(heap_.slab_at(offset), 1);
    }

   private:
    heap& heap_;
    bool restored_;
    std::scoped_lock<spin_lock> lock_;
  };
  /// Every reachable cell has been adopted: what remains is free, but for what waits for readers.
  void end_recovery();

  /// Bytes in cells that are in use.
  std::uint64_t used_bytes() const noexcept {
    std::uint64_t sum = used_bytes_.load(std::memory_order_relaxed);
    for (const lane& l : lanes_) sum += l.taken_bytes.load(std::memory_order_relaxed);
    return sum;
  }
  /// Bytes retired, and waiting for readers or for company.
  std::uint64_t pending_bytes() const noexcept {
    std::uint64_t sum = pending_bytes_.load(std::memory_order_relaxed);
    for (const lane& l : lanes_) sum += l.retired_bytes.load(std::memory_order_relaxed);
    return sum;
  }
  /// Bytes in cells that the root reaches. Exact while nobody writes.
  std::uint64_t reachable_bytes() const noexcept {
    std::uint64_t used = used_bytes(), pending = 0;
    for (int tries = 0; tries < 1000; ++tries) {
      pending = pending_bytes();
      if (const std::uint64_t before = std::exchange(used, used_bytes()); used == before) break;
    }
    return used - std::min(used, pending);
  }
  /// Bytes in cells of slabs that are not in use.
  std::uint64_t idle_cell_bytes();
  /// Bytes that readers keep back just now.
  std::uint64_t bytes_held_by_readers() noexcept;

  /// Visits each slab, and each extent in use by offset and bytes. The visitors may not call the
  /// heap.
  template <class OnSlab, class OnExtent>
  void for_each_extent(OnSlab&& on_slab, OnExtent&& on_extent) {
    empty_lanes();
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
    std::uint64_t offset, bytes;  // cell_bytes_for what was asked for
  };
  // retired ones that are worth a look at the readers
  static constexpr std::size_t batch_cells = 512;
  static constexpr std::uint64_t batch_bytes = 1 << 20;
  // who writes frees so many and goes on, though a reader that has left kept back more
  static constexpr std::size_t freed_by_a_write = 8 * batch_cells;

  /// Cells that were unlinked before `epoch` began.
  struct retired_batch {
    std::vector<cell> cells;
    std::uint64_t bytes = 0, epoch = 0;
  };

  /// What most allocations and retirements of small cells need, each thread's mostly its own.
  struct alignas(64) lane {
    spin_lock lock;
    // guarded by it
    std::uint8_t retired = 0;  // cells
    std::array<slab*, small_class_count> owned{};
    std::array<cell, 52> retired_cells;
    // changed under it
    std::atomic<std::uint64_t> taken_bytes{0};  // ever
    std::atomic<std::uint64_t> retired_bytes{0};
  };
  static_assert(sizeof(lane) == 1024, "a thread's is found by a shift");

  // heap_lanes.hpp
  lane* own_lane() noexcept;
  lane& lock_lane_beside(lane* taken) noexcept;
  std::uint64_t allocate_in_lane(unsigned small_class);
  std::uint64_t allocate_beside(unsigned small_class);
  std::uint64_t allocate_locked(lane& l, unsigned small_class);
  slab* slab_for_lane(lane& l, unsigned small_class);  // under l.lock
  void retire_beside(cell c) noexcept;
  /// Returns whether the lane is full with it.
  [[gnu::always_inline]] bool keep(lane& l, cell c) noexcept {
    const std::uint64_t bytes = l.retired_bytes.load(std::memory_order_relaxed) + c.bytes;
    l.retired_bytes.store(bytes, std::memory_order_relaxed);
    const unsigned cells = l.retired + 1u;
    l.retired_cells[l.retired] = c;
    l.retired = static_cast<std::uint8_t>(cells);
    return cells == l.retired_cells.size() ||
           bytes >= lane_retires_bytes_.load(std::memory_order_relaxed);
  }
  bool hand_over_retired(lane& l) noexcept;     // under l.lock
  void hand_over_and_unlock(lane& l) noexcept;  // likewise
  bool lanes_open() const noexcept { return lanes_open_.load(std::memory_order_relaxed); }
  void empty_lane(lane& l) noexcept;  // under l.lock
  void empty_lanes() noexcept;
  void change_front_first(int by) noexcept;
  void set_lanes_open() noexcept {  // under lock_
    lanes_open_.store(has_lanes_ && !recovering_ && front_first_ == 0, std::memory_order_relaxed);
  }

  using slab_list = std::span<const std::unique_ptr<slab>>;  // by offset / slab_bytes
  static slab* slab_among(slab_list slabs, std::uint64_t offset) noexcept {
    const std::uint64_t index = offset / slab_bytes;
    return index < slabs.size() ? slabs[index].get() : nullptr;
  }
  slab* slab_at(std::uint64_t offset) noexcept { return slab_among(slabs_, offset); }
  std::optional<std::uint64_t> allocate_slowly(std::uint64_t bytes);
  std::optional<std::uint64_t> allocate_alone(std::uint64_t bytes);
  void retire_slowly(cell c) noexcept;
  std::optional<std::uint64_t> allocate_now(std::uint64_t bytes);  // under lock_
  slab* make_slab(std::uint64_t offset, std::uint64_t cell_bytes);
  slab* allocate_slab(std::uint64_t cell_bytes);
  std::optional<std::uint64_t> allocate_cell(std::uint64_t cell_bytes);
  void free_now(cell c) noexcept;  // under lock_
  bool free_in(slab& s, std::uint32_t index) noexcept;
  /// Of a sum that a lock guards, but for readers.
  static void add(std::atomic<std::uint64_t>& sum, std::uint64_t more) noexcept {
    sum.store(sum.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }
  // under lock_; what is the same for many cells is looked up once
  std::uint64_t free_if_in_use(cell c, slab_list slabs, bool recovering) noexcept;
  void retire_now(std::span<const cell> cells) noexcept;  // under lock_
  std::uint64_t enough_bytes() const noexcept { return std::min(batch_bytes, used_bytes() / 16); }
  bool enough_retired() const noexcept {  // under lock_
    return retired_.cells.size() >= batch_cells || retired_.bytes >= enough_bytes();
  }
  void reclaim_now(std::size_t most = ~std::size_t{0}) noexcept;
  void list(slab& s) noexcept;
  void unlist(slab& s) noexcept;
  void release_slab(slab& s) noexcept;
  bool restore_slab(std::uint64_t offset, std::uint64_t cell_bytes, const std::uint64_t* bits);
  bool adopt_now(std::uint64_t offset, std::uint64_t bytes);  // under lock_
  bool holds_now(std::uint64_t offset, std::uint64_t bytes) {
    return !knows_ || in_use(offset, cell_bytes_for(bytes));
  }
  void forget(cell c);  // under lock_
  bool is_of_before(std::uint64_t offset) const noexcept {
    return recovering_ && offset < end_at_open_;
  }
  bool in_use(std::uint64_t offset, std::uint64_t cell_bytes);  // under lock_
  bool overlaps(std::uint64_t offset, std::uint64_t bytes);     // under lock_
  void close_batch() noexcept;                                  // under lock_
  void strand(cell c) noexcept;                                 // under lock_

  pool<M>& pool_;
  epochs readers_;
  spin_lock lock_;                                // guards all below
  std::vector<std::unique_ptr<slab>> slabs_;      // by offset / slab_bytes
  std::array<slab_set, class_count> with_room_;   // by the same number: the front fills first
  std::map<std::uint64_t, std::uint64_t> large_;  // extents in use: offset -> bytes
  retired_batch retired_;                         // still open
  std::deque<retired_batch> waiting_;             // for readers, oldest first
  std::vector<cell> freed_during_recovery_;
  bool recovering_ = false, stranded_ = false;
  bool forgets_ = false;  // a cell of before is in use, and nothing says so
  std::atomic<bool> knows_{true};
  std::uint64_t end_at_open_ = 0;
  unsigned front_first_ = 0;  // that live
  // Less what lanes have taken and hold. Changed under lock_.
  std::atomic<std::uint64_t> used_bytes_{0};
  std::atomic<std::uint64_t> pending_bytes_{0};
  std::array<lane, 8> lanes_;
  const bool has_lanes_;  // tables of words have no records
  std::atomic<bool> lanes_open_;
  std::atomic<std::uint64_t> lane_retires_bytes_{0};  // from there on it hands over
};

template <medium M>
heap<M>::heap(pool<M>& p)
    : pool_(p),
      has_lanes_(p.block().key != data_kind::u64 || p.block().value != data_kind::u64),
      lanes_open_(has_lanes_) {}

template <medium M>
heap<M>::~heap() = default;

}  // namespace durahash

#include "persist/heap_cells.hpp"
#include "persist/heap_lanes.hpp"
#include "persist/heap_readers.hpp"
#include "persist/heap_recovery.hpp"
#include "persist/loose_cell.hpp"
