// CCEH: what DRAM knows of stripes. A stripe is a segment, named by the first bits of its prefix;
// where segments are deeper than that, it is some of them. One more has the escape slots.
//
//   S1  Who writes to a segment, or takes it away, holds its stripe's lock. Locks of several
//       stripes are taken from left to right, or tried.
//   S2  A version changes behind what takes something away from its stripe, and before anything
//       else is stored in its place (C6).
//   S3  A mark says `settled` only while all that is visible in its stripe is durable (C7).
//   S4  The records of all stripes together, with those at open, are the table's (once they are
//       counted after a crash); those that move from stripe to stripe are counted once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/spin_lock.hpp"
#include "base/zeroed_array.hpp"
#include "engine/frame/stripes.hpp"
#include "persist/unsettled.hpp"

namespace durahash::cceh {

/// Guarded by `lock`, but for what readers look at. Zeros at first.
struct stripe_state {
  spin_lock lock;
  settlement_mark mark;
  std::uint16_t removals;  // since its segment was split or merged
  std::atomic<std::uint32_t> version;
  std::atomic<std::int32_t> records;  // since open, until the recount
  // removals at which it is surveyed; 0: not said yet
  std::uint16_t due;

  /// Reads of the stripe's segments that began before this are void (C6). Called when what took
  /// something away is visible, and nothing has its place yet.
  [[gnu::always_inline]] void outdate() noexcept {
    version.store(version.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  [[gnu::always_inline]] void add_records(std::int32_t more) noexcept {
    records.store(records.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }
  /// After a removal: whether to look if the segment could be merged, or should be rewritten.
  [[gnu::always_inline]] bool survey_is_due() noexcept {
    return ++removals >= due;  // at the first one the survey says when
  }
};
static_assert(sizeof(stripe_state) == 16, "four to a line");

template <medium M>
class stripe_states {
  struct marks_of_stripes {
    stripe_state* first = nullptr;
    settlement_mark& operator[](std::size_t i) const noexcept { return first[i].mark; }
  };
  using unsettled_stripes = unsettled<M, marks_of_stripes>;

 public:
  static constexpr unsigned bits = stripe_bits_on<M>;
  static constexpr stripe_index of_escapes = 1u << bits, count = of_escapes + 1;

  static constexpr stripe_index of(std::uint64_t prefix) noexcept {
    return static_cast<stripe_index>(prefix >> (64 - bits));
  }
  /// 0 behind the last one of hashes.
  static constexpr std::uint64_t first_hash_of(stripe_index stripe) noexcept {
    return std::uint64_t{stripe} << (64 - bits);
  }

  /// `inherited`: what a process that died has left in them may not be durable.
  void begin(bool inherited) {
    states_ = zeroed_array<stripe_state>(count);
    unsettled_.begin_with({&states_[0]}, inherited);
  }

  stripe_state& operator[](std::size_t stripe) const noexcept { return states_[stripe]; }
  stripe_index index_of(const stripe_state* stripe) const noexcept {
    return static_cast<stripe_index>(stripe - &states_[0]);
  }

  unsettled_stripes& marks() noexcept { return unsettled_; }
  const unsettled_stripes& marks() const noexcept { return unsettled_; }

  /// Whether nothing has left the stripe since it had this version, and all in it is durable.
  [[gnu::always_inline]] bool is_as_read(const stripe_state& stripe,
                                         std::uint32_t version) const noexcept {
    return word_is(stripe.version, version) && unsettled_.settled(stripe.mark);
  }

  void move_count(stripe_index from, stripe_index to, std::int32_t records) noexcept {
    counts_.move([&] {
      states_[from].add_records(-records);
      states_[to].add_records(records);
    });
  }
  std::uint64_t sum_of_records(const std::uint64_t& at_open) noexcept {
    return counts_.sum([&] { return records_of(at_open, states_, count); });
  }

 private:
  zeroed_array<stripe_state> states_;
  unsettled_stripes unsettled_;
  moving_counts counts_;
};

}  // namespace durahash::cceh
