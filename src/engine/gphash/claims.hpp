// GPHash: who gets an empty slot. No lock says so: compare-and-swap does, between writers of
// different stripes. Who claims a slot that a removal has just emptied makes that durable (G3).
#pragma once

#include "base/zeroed_array.hpp"
#include "engine/gphash/growth_need.hpp"
#include "engine/gphash/operation.hpp"

namespace durahash::gphash {

/// Lines in which a removal is visible and not yet durable (G3). Several lines share a counter: one
/// that says too much costs a flush.
template <medium M>
class departures {
 public:
  static constexpr bool needed = !M::visible_is_durable;
  departures() {
    if constexpr (needed)
      counters_ = zeroed_array<std::atomic<std::uint32_t>>(std::size_t{1} << log2_counters);
  }
  [[gnu::always_inline]] void begin(std::uint64_t offset) noexcept {
    // the store that follows releases it
    if constexpr (needed) counter(offset).fetch_add(1, std::memory_order_relaxed);
  }
  [[gnu::always_inline]] void end(std::uint64_t offset, const durable&) noexcept {
    if constexpr (needed) counter(offset).fetch_sub(1, std::memory_order_release);
  }
  /// Asked by who has seen the slot empty.
  [[gnu::always_inline]] bool any_in(std::uint64_t offset) const noexcept {
    if constexpr (needed) return counter(offset).load(std::memory_order_acquire) != 0;
    else return false;
  }

 private:
  static constexpr unsigned log2_counters = 12;
  std::atomic<std::uint32_t>& counter(std::uint64_t offset) const noexcept {
    return counters_[(offset / line_bytes) * 0x9e3779b97f4a7c15u >> (64 - log2_counters)];
  }
  zeroed_array<std::atomic<std::uint32_t>> counters_;
};

template <medium M, class Kind>
class claims {
 public:
  using slot = slot_ref<Kind>;

  claims(pool<M>& p, const buckets<M, Kind>& b, growth_need& need)
      : p_(p), m_(p.medium()), buckets_(b), need_(need) {}

  /// Makes the slot the caller's, if it still is empty; durably so.
  [[gnu::always_inline]] bool claim(pm<std::uint64_t>& state) {
    if (!store_if(m_, state, empty_state, claimed_state)) [[unlikely]]
      return lost_.fetch_add(1, std::memory_order_relaxed), false;
    if (leaving_.any_in(p_.offset_of(&state))) [[unlikely]] {
      [[maybe_unused]] durable left = persist(m_, extent_of(state), "gphash.claim.left");
    }
    return true;
  }

  /// Makes the room that was found the caller's, or other room of the key's. Returns false when
  /// there is none.
  bool claim(const levels_view& v, const candidates& s, lookup<Kind>& at) {
    // ends: each further round means that another writer got a slot
    while (at.room.state != nullptr) {
      if (claim(*at.room.state)) return true;
      at.room = room_for(v, buckets_.warp_over(v, s), s);
    }
    return false;
  }

  /// An empty slot of the key's, or nothing.
  slot room_for(const levels_view& v, const warp_view& w, const candidates& s) {
    if (s.escape >= 0) {
      const slot escape = buckets_.escape_slot(s.escape);
      return load(m_, *escape.state) == empty_state ? escape : slot();
    }
    const std::uint32_t empty = buckets_.ballot(w, empty_state);
    const int lane = buckets_.places().room_in(empty);
    if (lane < 0) return {};
    if (count_bits(empty) <= buckets_.form().few_slots()) need_.note(v);
    return buckets_.slot_of(w, static_cast<unsigned>(lane));
  }

  /// Around the publication of an empty state.
  [[gnu::always_inline]] void begin_removal(const pm<std::uint64_t>* state) noexcept {
    leaving_.begin(p_.offset_of(state));
  }
  [[gnu::always_inline]] void end_removal(const pm<std::uint64_t>* state,
                                          const durable& done) noexcept {
    leaving_.end(p_.offset_of(state), done);
  }

  /// How often another writer was faster.
  std::uint64_t lost() const noexcept { return lost_; }

 private:
  pool<M>& p_;
  M& m_;
  const buckets<M, Kind>& buckets_;
  growth_need& need_;
  departures<M> leaving_;
  std::atomic<std::uint64_t> lost_{0};
};

}  // namespace durahash::gphash
