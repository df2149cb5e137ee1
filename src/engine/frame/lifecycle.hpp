// What every engine does alike from its opening to its close, written once.
//
//   open     the engine reads its root; then `finish_open`: the records of a pool that was not
//            closed cleanly are counted, and their cells made known to the heap, in the background
//   count    unit by unit (what one lock guards), each under its lock, in one direction. Each
//            record is counted once: who moves some from a unit to another has both counted first,
//            under both locks, or moves them to one that the count has yet to come to
//   sync     all bytes to the disk while writers go on; then again, with writers kept out, and
//            marked clean. An operation says that it changes the pool only under a lock that sync
//            takes too
//   backup   copies the pool while writers go on; then what has changed, with writers kept out as
//            by sync. The copy is as after a crash at that moment
//   close    as sync, with the state of the heap saved in the pool; of tables of words, whose
//            records have no checksums, with a digest of all records, which check compares
//
// crash before the root says clean: the pool recovers as after any crash; the saved state is
// unreachable, hence free.
#pragma once

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "base/background.hpp"
#include "base/diagnostics.hpp"
#include "base/hash.hpp"
#include "base/spin_lock.hpp"
#include "base/zeroed_array.hpp"
#include "engine/figures.hpp"
#include "engine/structure.hpp"
#include "engine/violations.hpp"
#include "persist/heap.hpp"
#include "persist/record.hpp"

namespace durahash {

/// Locks that are held together and let go together, whatever happens.
template <std::size_t Most>
class held_locks {
 public:
  held_locks() = default;
  /// Of some that are locked already.
  template <std::same_as<spin_lock>... Lock>
  explicit held_locks(Lock&... locks) noexcept : held_{&locks...}, count_(sizeof...(locks)) {}
  held_locks(const held_locks&) = delete;
  ~held_locks() { release(); }

  void lock(spin_lock& l) {
    l.lock();
    held_[count_++] = &l;
  }
  [[gnu::always_inline]] bool try_lock(spin_lock& l) {
    if (!l.try_lock()) return false;
    held_[count_++] = &l;
    return true;
  }
  /// Of so many locks the first ones that are free, in their order; waits for the very first.
  /// Returns how many. None may be held yet.
  template <class LockOf>
  [[gnu::always_inline]] std::size_t lock_first(std::size_t many, LockOf&& lock_of) {
    spin_lock& first = lock_of(0);
    first.lock();
    held_[0] = &first;
    std::size_t locked = 1;
    for (; locked < many; ++locked) {
      spin_lock& next = lock_of(locked);
      if (!next.try_lock()) break;
      held_[locked] = &next;
    }
    return count_ = locked;
  }
  bool holds(const spin_lock& l) const noexcept {
    return std::find(held_, held_ + count_, &l) != held_ + count_;
  }
  /// One that is locked already.
  void adopt(spin_lock& l) noexcept { held_[count_++] = &l; }
  std::size_t count() const noexcept { return count_; }
  /// All but the first `keep`.
  void release(std::size_t keep = 0) noexcept {
    for (std::size_t n = count_; n > keep;) held_[--n]->unlock();
    count_ = std::min(count_, keep);
  }

 private:
  spin_lock* held_[Most];
  std::size_t count_ = 0;
};

/// One of them.
class held_lock {
 public:
  held_lock() = default;
  explicit held_lock(spin_lock& locked) noexcept : held_(&locked) {
    if (held_ == nullptr) __builtin_unreachable();  // spares a test where it is let go
  }
  held_lock(const held_lock&) = delete;
  ~held_lock() { release(); }
  void release() noexcept {
    if (held_ != nullptr) held_->unlock();
    held_ = nullptr;
  }

 private:
  spin_lock* held_ = nullptr;
};

/// Runs it, and answers out_of_memory where the process has none for it.
template <class Run>
[[gnu::always_inline]] inline status with_memory(Run&& run) {
  try {
    return run();
  } catch (const std::bad_alloc&) {
    return status::out_of_memory;
  }
}

/// Runs what may as well be left out.
template <class Run>
void if_memory_allows(Run&& run) noexcept {
  try {
    run();
  } catch (const std::bad_alloc&) {}
}

/// `Engine` derives from this and offers
///   lock_all, unlock_all         keep out everybody who changes the pool
///   size()                       waits for the count
///   count_units(asking)          counts each unit under its lock, and may empty what a crash left
///                                claimed there; returns whether it came to the end
///   check_units(violated, bytes)  verifies all that is reachable; adds up its bytes; returns the
///                                 records
///   each_part_of_table(visitor)  tells what lies where, from the root to the records
template <medium M, class Kind, class Engine>
class lifecycle {
 public:
  explicit lifecycle(pool<M>& p) : p_(p), m_(p.medium()), heap_(p), seeds_(seeds_of(p.block())) {}

  std::uint64_t live_bytes() const { return p_.block().heap_offset + heap_.reachable_bytes(); }
  std::uint64_t free_bytes() {
    return p_.free_bytes() + heap_.idle_cell_bytes() + heap_.pending_bytes();
  }
  std::uint64_t bytes_held_by_readers() noexcept { return heap_.bytes_held_by_readers(); }

  /// Waits a while for readers that keep back memory, after an operation has found no space.
  /// Returns whether it may find some now. Nothing may be locked.
  bool await_space() noexcept { return may_find_space() && heap_.settle(); }
  bool may_find_space() const noexcept { return heap_.pending_bytes() != 0; }

  status sync();
  status backup(image_copy& to);
  status close();
  void check(check_report& report);

  /// Tells of every part of the table, and of the space that it is in. Nobody may write.
  void each_part(part_visitor& v) {
    await_count();
    self().each_part_of_table(v);
    visit_space(p_, heap_, !damage_found_, v);
  }

 protected:
  struct no_guard {
    explicit no_guard(const epochs&) noexcept {}
  };
  /// Keeps records and arrays from reuse. Word tables have none: their readers look at the mirror
  /// again.
  using read_guard = std::conditional_t<Kind::in_slot, no_guard, epochs::guard>;
  [[gnu::always_inline]] read_guard reading() const noexcept { return read_guard(heap_.readers()); }

  struct everybody_kept_out {
    Engine& engine;
    explicit everybody_kept_out(Engine& e) : engine(e) { e.lock_all(); }
    ~everybody_kept_out() { engine.unlock_all(); }
    everybody_kept_out(const everybody_kept_out&) = delete;
  };

  // opening
  bool begin_open(std::vector<std::string>* dropped);
  std::string lost_root() const;
  static error not_created(const std::string& path, status s, const char* what) {
    return {s, "cannot create " + path + ": " +
                   (s == status::no_space ? "no room for its first " + std::string(what)
                                          : std::string(message(s)))};
  }
  void finish_salvage(std::vector<std::string>& dropped, std::uint64_t records);
  void finish_open(bool heap_known, std::size_t units, std::uint64_t bytes_to_read);

  // counting
  bool counted() const noexcept { return counted_.load(std::memory_order_acquire); }
  void await_count();
  template <class Count>
  void count_once(std::size_t unit, Count&& count);
  void counted_with(std::size_t unit, std::size_t with);
  /// The heap is told of the cell of the record that a slot names. One that cannot be there, or
  /// cannot be noted, makes the count unsound. Words have none.
  void adopt_record([[maybe_unused]] std::uint64_t value_word) noexcept {
    if constexpr (!Kind::in_slot) try {
        auto record = record_at(m_, p_, value_word);
        if (!record || !heap_.adopt(value_word, record->bytes())) sound_ = false;
      } catch (const std::bad_alloc&) {
        heap_.know_no_more();
        sound_ = false;
      }
  }

  /// An engine that keeps what nothing refers to lets go of it in one of its own.
  void before_clean_close() {}

  Engine& self() noexcept { return static_cast<Engine&>(*this); }

  pool<M>& p_;
  M& m_;
  heap<M> heap_;
  hash_seeds seeds_;
  std::uint64_t records_at_open_ = 0;      // of a clean pool, until they are counted
  std::atomic<bool> damage_found_{false};  // what is free is not known: only new space is used

 private:
  bool claim_count() noexcept { return !count_claimed_.exchange(true); }
  void count_all(const background* asking) noexcept;
  status close_clean(std::uint64_t records);
  std::uint64_t digest_of_records() requires(Kind::in_slot);
  std::uint64_t saved_digest();
  void check_digest(violations& violated) requires(Kind::in_slot);

  std::atomic<bool> counted_{true}, count_claimed_{true};
  zeroed_array<std::atomic<std::uint8_t>> counted_units_;  // each guarded by its unit's lock
  std::mutex copying_;                                     // who does is told of changes
  std::atomic<bool> sound_{true};
  std::atomic<bool> lacks_digest_{false};  // a sync has marked the pool clean without one

 protected:
  background background_;  // the engine stops it before anything that jobs use goes
};

// ----------------------------------------------------------------------------------------- opening

/// Begins the heap's recovery; with the state that a clean close saved, if there is one. Returns
/// whether there was.
template <medium M, class Kind, class Engine>
bool lifecycle<M, Kind, Engine>::begin_open(std::vector<std::string>* dropped) {
  heap_.begin_recovery();
  const root_record& root = p_.root();
  if (Kind::in_slot || dropped != nullptr || root.state != pool_state::clean ||
      root.heap_state_offset == 0)
    return false;
  std::vector<std::uint64_t> words(root.heap_state_bytes / 8);
  m_.will_read(p_.at(root.heap_state_offset), root.heap_state_bytes);
  std::memcpy(words.data(), p_.at(root.heap_state_offset), root.heap_state_bytes);
  if (checksum(words.data(), root.heap_state_bytes) == root.heap_state_checksum &&
      heap_.restore(words))
    return true;
  // anew: what is wrong with the saved state does not matter, the slots know better
  heap_.begin_recovery();
  return false;
}

/// What a clean pool with records says whose root names nothing, as that of a new pool does: it
/// must not open as an empty one. Otherwise nothing.
template <medium M, class Kind, class Engine>
std::string lifecycle<M, Kind, Engine>::lost_root() const {
  const root_record& root = p_.root();
  if (root.state != pool_state::clean || root.records == 0) return {};
  return "it has " + std::to_string(root.records) + " records, and what names them, from offset " +
         std::to_string(p_.block().engine_offset) + " on, is gone";
}

template <medium M, class Kind, class Engine>
void lifecycle<M, Kind, Engine>::finish_salvage(std::vector<std::string>& dropped,
                                                std::uint64_t records) {
  heap_.end_recovery();
  dropped.push_back(kept_and_dropped(records, dropped.size(), Kind::in_slot));
}

/// The engine has read its root. `heap_known`: the heap knows of all cells.
template <medium M, class Kind, class Engine>
void lifecycle<M, Kind, Engine>::finish_open(bool heap_known, std::size_t units,
                                             std::uint64_t bytes_to_read) {
  if (heap_known) heap_.end_recovery();
  if (heap_known && p_.root().state == pool_state::clean) return;
  counted_units_ = zeroed_array<std::atomic<std::uint8_t>>(units);
  counted_ = count_claimed_ = false;
  // takes a millisecond or few; small pools that are killed again and again reuse all their space
  constexpr std::uint64_t at_once = 1 << 20;
  bool later = worth_a_thread(bytes_to_read, at_once + 1) &&
               background_.submit([this](const background& self) {
                 if (claim_count()) count_all(&self);
               });
  if (!later) await_count();
}

// ---------------------------------------------------------------------------------------- counting

/// Counts in this thread, if nobody has begun to. The caller may hold nothing that count_units
/// locks.
template <medium M, class Kind, class Engine>
void lifecycle<M, Kind, Engine>::await_count() {
  if (counted()) return;
  if (claim_count()) count_all(nullptr);
  await_change(counted_, false);
}

template <medium M, class Kind, class Engine>
void lifecycle<M, Kind, Engine>::count_all(const background* asking) noexcept {
  if (!self().count_units(asking)) return;  // the table is being closed
  try {
    if (!Kind::in_slot && sound_) heap_.end_recovery();
  } catch (const std::bad_alloc&) {
    heap_.know_no_more();
    sound_ = false;
  }
  if (!sound_) {  // only new space is used, and check tells the rest
    damage_found_ = true;
    const auto& id = p_.block().uuid;
    diagnose("the pool with the UUID %02x%02x%02x%02x... has damaged records: check it", id[0],
             id[1], id[2], id[3]);
  }
  counted_.store(true, std::memory_order_release);
  counted_.notify_all();
}

/// Calls count() if the unit, whose lock is held, has not been counted since a crash.
template <medium M, class Kind, class Engine>
template <class Count>
void lifecycle<M, Kind, Engine>::count_once(std::size_t unit, Count&& count) {
  if (counted()) [[likely]]
    return;
  if (counted_units_[unit].load(std::memory_order_relaxed) != 0) return;
  count();
  counted_units_[unit].store(1, std::memory_order_relaxed);
}

/// The unit has none but records of another one, which has been counted with them.
template <medium M, class Kind, class Engine>
void lifecycle<M, Kind, Engine>::counted_with(std::size_t unit, std::size_t with) {
  if (!counted())
    counted_units_[unit].store(counted_units_[with].load(std::memory_order_relaxed),
                               std::memory_order_relaxed);
}

// ---------------------------------------------------------------------------------- sync and close

template <medium M, class Kind, class Engine>
status lifecycle<M, Kind, Engine>::sync() {
  if (p_.read_only()) return status::ok;
  await_count();
  // most of the work, while writers go on
  if (status s = p_.write_all_to_disk(); s != status::ok) return s;
  std::optional<everybody_kept_out> alone;
  if (!M::planted("a-sync-keeps-nobody-out")) alone.emplace(self());
  if (!p_.changing()) return status::ok;
  lacks_digest_ = Kind::in_slot;
  return p_.mark_clean(self().size(), {});
}

template <medium M, class Kind, class Engine>
status lifecycle<M, Kind, Engine>::backup(image_copy& to) {
  std::scoped_lock one_at_a_time(copying_);
  if (status s = to.catch_up([this] { return p_.end(); }); s != status::ok) return s;
  everybody_kept_out alone(self());
  return p_.copy_to(to);
}

/// Nobody may be at work.
template <medium M, class Kind, class Engine>
status lifecycle<M, Kind, Engine>::close() {
  if (p_.read_only()) return status::ok;
  if (!M::planted("a-close-stops-the-count")) await_count();
  background_.stop();
  std::uint64_t records = self().size();
  if (!p_.changing() && !lacks_digest_) return p_.sound() ? status::ok : status::io_error;
  if (damage_found_) return status::ok;
  durahash::check(counted(), "a pool is closed as clean when its records are counted");
  self().before_clean_close();
  return close_clean(records);
}

template <medium M, class Kind, class Engine>
void lifecycle<M, Kind, Engine>::check(check_report& report) {
  await_count();
  violations violated(report);
  {
    everybody_kept_out alone(self());
    std::uint64_t reached_bytes = 0, records = self().check_units(violated, reached_bytes);
    violated.if_records_differ(self().size(), records);
    if (!damage_found_) violated.if_bytes_differ(heap_.reachable_bytes(), reached_bytes);
  }
  if constexpr (Kind::in_slot) check_digest(violated);
}

/// 0 where a record cannot be read.
template <medium M, class Kind, class Engine>
std::uint64_t lifecycle<M, Kind, Engine>::digest_of_records() requires(Kind::in_slot) {
  std::uint64_t sum = 0;
  auto add_digest = [&](std::uint64_t key, std::uint64_t value) {
    sum += record_digest(key, value);
  };
  detail::function_ref<void(std::uint64_t, std::uint64_t)> add = add_digest;
  for (cursor at; !at.done;)
    if (self().scan(at, std::numeric_limits<std::size_t>::max(), add) != status::ok) return 0;
  return sum == 0 ? 1 : sum;
}

/// What a clean close saved, as long as nothing has changed since; 0: nothing.
template <medium M, class Kind, class Engine>
std::uint64_t lifecycle<M, Kind, Engine>::saved_digest() {
  everybody_kept_out alone(self());
  return p_.changing() ? 0 : p_.root().heap_state_checksum;
}

/// Scans beside writers: once they have begun there is nothing to compare with.
template <medium M, class Kind, class Engine>
void lifecycle<M, Kind, Engine>::check_digest(violations& violated) requires(Kind::in_slot) {
  std::uint64_t saved = saved_digest(), found = saved == 0 ? 0 : digest_of_records();
  if (found == saved || found == 0 || saved_digest() != saved) return;
  violated("keys or values are not those that were there when the pool was closed");
}

/// With the heap's state where the engine could not tell it from its root alone.
template <medium M, class Kind, class Engine>
status lifecycle<M, Kind, Engine>::close_clean(std::uint64_t records) {
  heap_.settle();
  heap_.release_idle_slabs();
  std::vector<std::uint64_t> words;
  std::optional<std::uint64_t> offset;
  if_memory_allows([&] {  // without it the next open collects the records anew
    auto saved = Kind::in_slot ? std::nullopt : heap_.save();
    if (!saved) return;
    words = std::move(*saved);
    offset = p_.allocate(words.size() * 8, page_bytes);
  });
  // what the pool grew by for it, and did not need, too
  if (status s = with_memory([&] { return p_.give_back_tail(); }); s == status::io_error) return s;
  if (!offset) {
    typename pool<M>::saved_state saved;
    if constexpr (Kind::in_slot) if_memory_allows([&] { saved.checksum = digest_of_records(); });
    return p_.mark_clean(records, saved);
  }
  // not flushed: the root has its checksum, and without it the slots know as well
  store_bytes_for_close(m_, p_.at(*offset), words.data(), words.size() * 8);
  return p_.mark_clean(records,
                       {*offset, words.size() * 8, checksum(words.data(), words.size() * 8)});
}

}  // namespace durahash
