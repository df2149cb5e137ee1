// The stripes of a table: the buckets whose numbers begin with the same bits, in all levels. What
// DRAM has of each of them: its lock, how many records came and went, how many moved, and whether
// its words are durable. The locks lie apart: all of them fit a near cache.
//
//   L4  Bytes of a bucket change only under its stripe's lock; readers take none.
//   L7  What a reader is given is durable: a stripe with a publication under way is unsettled, and
//       its readers flush what they have read.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "base/spin_lock.hpp"
#include "base/zeroed_array.hpp"
#include "engine/frame/stripes.hpp"
#include "engine/level/levels_view.hpp"
#include "persist/order.hpp"
#include "persist/unsettled.hpp"

namespace durahash::level {

/// Zeros at first.
struct stripe_state {
  std::uint32_t changes;              // guarded by the lock
  std::atomic<std::uint32_t> moves;   // of records whose first place is here
  std::atomic<std::int32_t> records;  // in its buckets; since open, until the recount
};

template <medium M>
class stripes {
 public:
  static constexpr std::size_t most = std::size_t{1} << stripe_bits_on<M>;

  explicit stripes(M& m) : m_(m) {}

  void open(zeroed_array<stripe_state> states, bool inherited) {
    locks_ = zeroed_array<spin_lock>(most);
    states_ = std::move(states);
    unsettled_.resize(most, inherited);
  }

  // locks
  spin_lock& lock_of(stripe_index s) const noexcept { return locks_[s]; }
  void lock_all(const levels_view<M>& v) noexcept {
    for (stripe_index s = 0; s < v.stripes(); ++s) locks_[s].lock();
  }
  void unlock_all(const levels_view<M>& v) noexcept {
    for (stripe_index s = 0; s < v.stripes(); ++s) locks_[s].unlock();
  }
  /// Until nobody writes with levels that were replaced before this.
  void await_writers(const levels_view<M>& v) {
    for (stripe_index s = 0; s < v.stripes(); ++s) std::scoped_lock lock(locks_[s]);
  }

  // what is durable
  bool settled(stripe_index s) const noexcept { return unsettled_.settled(s); }
  [[gnu::always_inline]] void begin(stripe_index s) noexcept { unsettled_.begin(s); }
  [[gnu::always_inline]] void end(stripe_index s, const durable& done) noexcept {
    unsettled_.end(s, done);
  }

  /// A process that was killed may have left words of these buckets in the caches. A call, for it
  /// is rare.
  [[gnu::noinline]] void settle_inherited(const levels_view<M>& v, stripe_index s) {
    if constexpr (unsettled<M>::needed) {
      if (unsettled_.of(s) != settlement::inherited) return;
      flushed started;
      std::uint64_t place = v.place_of(s);
      for (unsigned i = 0; i < v.count; ++i)
        started +=
            flush(m_, extent{v.at[i].bucket_of(place).state, v.at[i].bytes_of_part(v.stripe_bits)},
                  "level.inherit.buckets");
      unsettled_.take_over(s, fence(m_, std::move(started), "level.inherit.all"));
    }
  }

  /// What a reader has seen, and a crash could still undo, is made durable before the reader gives
  /// it away (L7).
  void settle_for_reader(const levels_view<M>& v, const candidates& s, const bucket_reads& seen) {
    if constexpr (unsettled<M>::needed) {
      bool publishing = false;
      for (std::uint64_t place : s.place) {
        stripe_index stripe = v.stripe_of(place);
        settle_inherited(v, stripe);
        publishing |= !settled(stripe);
      }
      if (!publishing) return;
      flushed started;
      for (std::uint32_t looked = seen.looked; looked != 0;) {
        const bucket b = seen.where(static_cast<unsigned>(take_lowest(looked)));
        started += flush(m_, extent{b.state, v.at[0].bucket_bytes()}, "level.settle.buckets");
      }
      [[maybe_unused]] durable done = fence(m_, std::move(started), "level.settle.all");
    }
  }

  // counts
  stripe_state& operator[](stripe_index s) const noexcept { return states_[s]; }
  [[gnu::always_inline]] void add_records(stripe_index s, std::int32_t records) noexcept {
    std::atomic<std::int32_t>& sum = states_[s].records;
    sum.store(sum.load(std::memory_order_relaxed) + records, std::memory_order_relaxed);
  }

  void move_record(stripe_index from, stripe_index to) noexcept {
    counts_.move([&] {
      add_records(to, 1);
      add_records(from, -1);
    });
  }

  /// Scans that have looked where the record was going, and not yet where it was, look again.
  /// Between its two tokens.
  void count_moved(stripe_index s) noexcept {
    if (M::planted("level-movements-do-not-tell-scans")) return;
    states_[s].moves.fetch_add(1, std::memory_order_acq_rel);
  }
  /// Since there were `at_first`. Count says how many stripes there are.
  template <class Count>
  std::uint64_t records(std::uint64_t at_first, Count&& count) noexcept {
    return counts_.sum([&] { return records_of(at_first, states_, count()); });
  }

  /// They get other numbers when switch_levels() runs. All of them are locked.
  template <class Switch>
  void renumber(unsigned old_bits, unsigned bits, Switch&& switch_levels) noexcept {
    counts_.move([&] {  // nobody counts by the old stripes what has moved
      count_anew(old_bits, bits);
      switch_levels();
    });
  }

 private:
  /// Moves the counts of records to where the stripes now have their numbers: away from those not
  /// looked at yet.
  void count_anew(unsigned old_bits, unsigned bits) noexcept {
    auto move_count = [&](stripe_index from, stripe_index to) {
      std::int32_t records = states_[from].records.exchange(0, std::memory_order_relaxed);
      states_[to].records.fetch_add(records, std::memory_order_relaxed);
    };
    stripe_index count = stripe_index{1} << old_bits;
    if (bits > old_bits)
      for (stripe_index s = count; s-- > 0;) move_count(s, s << (bits - old_bits));
    else
      for (stripe_index s = 0; s < count; ++s) move_count(s, s >> (old_bits - bits));
  }

  M& m_;
  zeroed_array<spin_lock> locks_;
  zeroed_array<stripe_state> states_;
  unsettled<M> unsettled_;
  moving_counts counts_;
};

}  // namespace durahash::level
