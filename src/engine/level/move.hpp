// Level hashing: a record that moves, to make way for another (paper §3.1, §3.2), or out of a
// bucket that is drained.
//
// From one bucket to another, under the locks of both:
//   1  an intent names the bucket that is left; slot, tag and filter at the other; flushed, fenced
//   2  the token there, durably
//      crash: the record is there twice; recovery removes the named one
//   3  COMMIT: the token here removed, durably
//      crash after: moved
#pragma once

#include "engine/level/table.hpp"

namespace durahash::level {

/// In levels that stay what they are while a lock of the caller's is held.
template <medium M, class Kind>
class table<M, Kind>::movement {
 public:
  movement(table& t, const levels_view& v) noexcept : t_(t), m_(t.m_), v_(v) {}

  /// Frees a slot in one of the key's buckets by at most one movement (§3.1, §3.2). Returns whether
  /// it did. Locks of other stripes are only tried: a record behind one that is held stays where it
  /// is.
  bool make_way(const unit_type& l, const candidates& s) {
    unsigned top = v_.first_open, bottom = top + 1;
    return move_from(l, s, top, top) || move_from(l, s, bottom, bottom) ||
           (t_.how_.bottom_to_top && move_from(l, s, bottom, top));
  }

  /// With both stripes locked. Returns false when there is no room.
  bool move(const resident& r, const candidates& s, unsigned to, unsigned which,
            stripe_index from_stripe) {
    table& t = t_;  // here: what is stored in between might be in this object
    const auto& v = v_;
    bucket there = v.at[to].bucket_of(s.place[which]);
    int free = t.buckets_.free_slot(t.buckets_.state_of(there));
    if (free < 0) return false;
    stripe_index there_stripe = v.stripe_of(s.place[which]);
    // the count is by stripe
    if (there_stripe != from_stripe && !M::planted("level-a-movement-outruns-the-count"))
      for (stripe_index stripe : {there_stripe, from_stripe})
        t.count_once(stripe, [&] { t.count_stripe(v, stripe); });
    std::scoped_lock lock(t.intents_.lock_of(from_stripe));
    intent& d = t.intents_.of(from_stripe);
    flushed started;
    store(m_, d.moving, t.p_.offset_of(r.where.state));
    started += flush(m_, extent_of(d.moving), "level.move.intent");
    started += t.buckets_.flush_item(t.filters_.fill(v, to, s, which, free, r.value_word));
    durable written = fence(m_, std::move(started), "level.move.payload");

    bucket_state state = t.buckets_.state_of(there);
    t.stripes_.begin(there_stripe);
    durable twice = publish(m_, *there.state, state.with_tokens(state.tokens() | 1u << free).word,
                            after(std::move(written)), "level.move.arrived");
    t.stripes_.end(there_stripe, twice);
    t.stripes_.count_moved(v.stripe_of(r.hash));
    state = t.buckets_.state_of(r.where);
    t.stripes_.begin(from_stripe);
    // COMMIT: it has moved
    durable once =
        publish(m_, *r.where.state, state.with_tokens(state.tokens() & ~(1u << r.slot)).word,
                after(std::move(twice)), "level.move.left");
    t.stripes_.end(from_stripe, once);
    t.stripes_.move_record(from_stripe, there_stripe);
    t.movements_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }

 private:
  bool move_from(const unit_type& l, const candidates& s, unsigned from, unsigned to) {
    table& t = t_;  // as in move
    const auto& v = v_;
    const auto& buckets = t.buckets_;
    for (unsigned n = 0; n < 2; ++n) {
      const bucket b = v.at[from].bucket_of(s.place[n]);
      for (std::uint32_t left = buckets.state_of(b).tokens() & buckets.shape.all_tokens;
           left != 0;) {
        const int index = take_lowest(left);
        const std::uint64_t key_word = load(m_, buckets.slot_of(b, index).key),
                            hash = buckets.hash_of_slot(key_word);
        const std::uint64_t second = t.second_maps_.second_place(hash);
        const unsigned here = v.at[from].bucket_of(hash) == b ? 0 : 1;
        for (unsigned which : {1 - here, here}) {
          const std::uint64_t place = which == 0 ? hash : second;
          if ((from == to && which == here) ||
              buckets.free_slot(buckets.state_of(v.at[to].bucket_of(place))) < 0)
            continue;
          stripe_index stripe = v.stripe_of(place);
          bool held = stripe == l.stripe[0] || stripe == l.stripe[1];
          if (!held && !t.stripes_.lock_of(stripe).try_lock()) continue;
          t.stripes_.settle_inherited(v, stripe);
          const resident r{{hash, key_word, load(m_, buckets.slot_of(b, index).value)}, b, index};
          // Levels that came before the lock was taken may have drained the bucket behind it.
          const bool moved =
              (held || &t.levels_.now() == &v) &&
              move(r, t.second_maps_.candidates_of(r.hash, r.key_word), to, which, l.stripe[n]);
          if (!held) t.stripes_.lock_of(stripe).unlock();
          if (moved) return true;
        }
      }
    }
    return false;
  }

  table& t_;
  M& m_;
  const levels_view& v_;
};

}  // namespace durahash::level
