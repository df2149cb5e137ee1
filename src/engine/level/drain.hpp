// Level hashing: a level that goes is drained, a bucket at a time, by those who write and by a
// thread in the background.
//
// Its records move together, as far as there is room under the same lock:
//   1  an intent names the bucket; slots and tags where the records go; flushed, fenced
//   2  the tokens there, durably
//      crash: records are there twice; recovery removes those in the named bucket
//   3  COMMIT: the tokens here removed, durably
//      crash after: moved
// Those that are left move alone, to any of their places (move.hpp).
#pragma once

#include <sched.h>

#include "engine/level/grow.hpp"
#include "engine/level/move.hpp"
#include "engine/level/table.hpp"

namespace durahash::level {

/// Nothing is locked by the caller.
template <medium M, class Kind>
class table<M, Kind>::drainer {
 public:
  explicit drainer(table& t) noexcept : t_(t), m_(t.m_) {}

  /// Bounded work for a level that is going: what so many writes do when they are done with their
  /// own. A call: they keep their registers.
  [[gnu::noinline]] void some(std::uint64_t writes) {
    drain* d = t_.levels_.now().draining;
    if (d == nullptr) return;
    for (std::uint64_t buckets = writes * d->by_a_write(); buckets > 0; --buckets) {
      d = t_.levels_.now().draining;
      if (d == nullptr) return;
      bool got_on = false;
      if_memory_allows([&] { got_on = next(*d); });
      if (!got_on) return;
    }
  }

  /// With the setting `helper`, a level that goes is drained in the background, too.
  void start_helper() {
    if (!t_.how_.helper || t_.levels_.now().draining == nullptr) return;
    // this object is gone by then
    t_.background_.submit([&t = t_](const background& self) {
      for (drain* d = t.levels_.now().draining;
           d != nullptr && !self.stopping() && drainer(t).next(*d);)
        d = t.levels_.now().draining;
    });
  }

  status all() {
    // ends: each round drains a bucket, or waits for others that do
    while (drain* d = t_.levels_.now().draining) {
      if (next(*d)) continue;
      {
        std::scoped_lock lock(d->lock);
        if (d->put_back_count != 0) return t_.p_.sound() ? status::no_space : status::io_error;
      }
      if (d->is_over() && !t_.p_.sound()) return status::io_error;
      if (t_.levels_.now().draining != d) continue;
      if (turns* t = turns::current()) t->pass();
      else sched_yield();
    }
    return status::ok;
  }

 private:
  using drain = level::drain<M>;

  /// Returns whether it got on.
  bool next(drain& d) {
    auto index = d.take();
    if (index) {
      bool drained = false;
      try {
        drained = drain_bucket(d, *index);
      } catch (const std::bad_alloc&) {
        d.give_back(*index);
        throw;
      }
      if (!drained) return d.give_back(*index), false;
      d.done.fetch_add(1, std::memory_order_acq_rel);
    }
    if (d.is_over()) finish(d);
    return index.has_value();
  }

  /// Returns false when some record finds no place.
  bool drain_bucket(drain& d, std::uint64_t index) {
    table& t = t_;
    while (true) {  // ends: each further round has a record less in the bucket, or other levels
      const levels_view* v = &t.levels_.now();
      stripe_index stripe = v->stripe_of(place_with(index, d.log2));
      bool empty;
      {
        std::scoped_lock lock(t.stripes_.lock_of(stripe));
        if (t.levels_.now().stripe_bits != v->stripe_bits) continue;
        v = &t.levels_.now();
        if (v->draining != &d) return true;  // called off
        if (!t.p_.may_change()) return false;
        t.stripes_.settle_inherited(*v, stripe);
        empty = move_together(*v, d, index, stripe);
      }
      if (empty || M::planted("level-rehash-never-fails")) return true;
      if (!move_out(d, index)) return false;
    }
  }

  /// The records of a bucket, as far as there is room in the places under the same lock. Returns
  /// whether that was all.
  bool move_together(const levels_view& v, const drain& d, std::uint64_t index,
                     stripe_index stripe) {
    table& t = t_;
    auto& m = m_;
    const level_view& from = v.drained(d);
    const bucket b = t.buckets_.at(from, index);
    const std::uint64_t here = index << from.shift;
    bucket_state state = t.buckets_.state_of(b);
    flushed started;
    if (v.first_open == 1 && state.tokens() != 0 && state.filter() != new_bucket.filter()) {
      state = state.next(state.tokens(), new_bucket.filter());  // its records go below it
      store(m, *b.state, state.word);  // crash: a filter that says too much costs a look
      started += flush(m, extent_of(*b.state), "level.drain.filter");
    }
    // Where they may go: of each level the buckets above this one, or the one below. Those of
    // levels that are much larger are left to move_out.
    struct target_level {
      unsigned level, shift, first;
      std::uint64_t mask;
    } open[max_levels];
    bucket where[max_targets];
    bucket_state next[max_targets];
    unsigned open_count = 0, target_count = 0;
    for (unsigned level = v.first_open; level < v.end_open; ++level) {
      const level_view& l = v.at[level];
      const unsigned targets = l.log2 > d.log2 ? 1u << (l.log2 - d.log2) : 1;
      if (targets > max_targets_of_level) continue;
      open[open_count++] = {level, l.shift, target_count, targets - 1};
      for (unsigned n = 0; n < targets; ++n, ++target_count)
        next[target_count] =
            t.buckets_.state_of(where[target_count] = t.buckets_.at(l, l.number(here) + n));
    }
    // of the records whose first place is another bucket's
    stripe_index others[max_slots];
    unsigned other_count = 0;
    bool own = false;
    std::uint32_t leaving = 0, arriving = 0;
    for (std::uint32_t left = state.tokens() & t.buckets_.shape.all_tokens; left != 0;
         left &= left - 1) {
      const int slot_index = std::countr_zero(left);
      const slot& at = t.buckets_.slot_of(b, slot_index);
      const std::uint64_t key_word = load(m, at.key), hash = t.buckets_.hash_of_slot(key_word);
      const std::uint64_t place = t.second_maps_.place_beside(here, hash);
      for (const target_level *l = open, *end = open + open_count; l != end; ++l) {
        if (v.under_previous(l->level) &&
            !t.buckets_.state_of(v.at[l->level - 1].bucket_of(place)).admits(class_of(mixed(hash))))
          continue;
        const auto n = l->first + static_cast<unsigned>(place >> l->shift & l->mask);
        const std::uint32_t free = ~next[n].tokens() & t.buckets_.shape.all_tokens;
        if (free == 0) continue;
        const slot* apart =
            t.buckets_.store_slot(where[n], std::countr_zero(free), key_word,
                                  load(m, t.buckets_.tag_field(b, slot_index)), load(m, at.value));
        if (apart != nullptr) started += flush_in_line(m, *apart, "level.drain.slot");
        next[n].word |= free & -free;
        arriving |= 1u << n, leaving |= left & -left;
        if (place == hash) own = true;
        else others[other_count++] = v.stripe_of(hash);
        break;
      }
    }
    if (leaving != 0) {
      std::scoped_lock lock(t.intents_.lock_of(stripe));
      intent& k = t.intents_.of(stripe);
      store(m, k.moving, t.p_.offset_of(b.state));
      started += flush_in_line(m, k.moving, "level.drain.intents");
      durable written = fence(m, std::move(started), "level.drain.payload");
      t.stripes_.begin(stripe);
      flushed tokens;
      while (arriving != 0) {
        const int n = take_lowest(arriving);
        tokens += publish_unfenced(m, *where[n].state, next[n].with_token(0).word,
                                   after_group(written), "level.drain.arrival");
      }
      durable twice = fence(m, std::move(tokens), "level.drain.arrived");
      if (own) t.stripes_.count_moved(stripe);
      for (unsigned n = 0; n < other_count; ++n) t.stripes_.count_moved(others[n]);
      // COMMIT: they have moved
      durable once = publish(m, *b.state, state.with_tokens(state.tokens() & ~leaving).word,
                             after(std::move(twice)), "level.drain.left");
      t.stripes_.end(stripe, once);
      t.rehashed_.fetch_add(static_cast<std::uint64_t>(std::popcount(leaving)),
                            std::memory_order_relaxed);
    }
    // the two levels right above it are each other's bottom and top from then on
    if (const unsigned last = v.count - 1;
        last >= 2 && &from == &v.at[last] && v.at[last - 2].log2 == d.log2 + 2)
      for (std::uint64_t n = index << 1; n < (index + 1) << 1; ++n)
        t.filters_.refresh(v.at[last - 2], v.at[last - 1], n);
    return leaving == (state.tokens() & t.buckets_.shape.all_tokens);
  }

  /// One record of a bucket, to any of its places, under the locks of both. Returns false when
  /// there is none with room, nor can be.
  bool move_out(const drain& d, std::uint64_t index) {
    while (true) {  // ends: each further round has one level more, or another record
      const levels_view* v = &t_.levels_.now();
      if (v->draining != &d) return true;
      std::optional<resident> chosen;
      t_.buckets_.for_each_resident(t_.buckets_.at(v->at[v->index_of(d.log2)], index),
                                    [&](const resident& r) { chosen = r; });
      if (!chosen) return true;
      const candidates s = t_.second_maps_.candidates_of(chosen->hash, chosen->key_word);
      const unit_type l = t_.lock_unit(s);
      auto held = t_.held_by(l);
      if (!t_.p_.may_change()) return false;
      v = &t_.levels_.now();
      if (v->draining != &d) return true;
      if (!read_again(*chosen)) continue;
      for (stripe_index stripe : l.stripe) t_.stripes_.settle_inherited(*v, stripe);
      const unsigned here = v->at[v->index_of(d.log2)].number(s.place[0]) == index ? 0 : 1;
      const bool moved = move_anywhere(*v, l, *chosen, s, here);
      held.release();
      if (moved) {
        t_.rehashed_.fetch_add(1, std::memory_order_relaxed);
        return true;
      }
      if (growth(t_).make_room(v, patience::has_none) != status::ok) return false;
    }
  }

  /// Under its lock. Returns whether it is still there.
  bool read_again(resident& r) const {
    const slot& at = t_.buckets_.slot_of(r.where, r.slot);
    if ((t_.buckets_.state_of(r.where).tokens() >> r.slot & 1) == 0 ||
        load(m_, at.key) != r.key_word)
      return false;
    r.value_word = load(m_, at.value);
    return true;
  }

  /// `here`: which of its places it is in.
  bool move_anywhere(const levels_view& v, const unit_type& l, const resident& r,
                     const candidates& s, unsigned here) {
    movement movements(t_, v);
    auto move_somewhere = [&] {
      for (unsigned level = v.first_open; level < v.end_open; ++level)
        if (movements.move(r, s, level, here, l.stripe[here]) ||
            movements.move(r, s, level, 1 - here, l.stripe[here]))
          return true;
      return false;
    };
    return move_somewhere() || (movements.make_way(l, s) && move_somewhere());
  }

  /// After the last bucket.
  void finish(const drain& d) {
    std::scoped_lock lock(t_.levels_.changing());
    const levels_view& v = t_.levels_.now();
    if (v.draining != &d) return;
    durahash::check(d.is_over() && v.index_of(d.log2) < v.count, "a level goes when it is drained");
    level_view gone = v.at[v.index_of(d.log2)];
    std::vector<level_view> now = t_.levels_.present();
    std::erase_if(now, [&](const level_view& l) { return l.log2 == d.log2; });
    levels_view& others = growth(t_).plan(std::move(now), false, v.bottom_first);
    if (!t_.p_.may_change()) return;
    // COMMIT: it goes
    [[maybe_unused]] durable done =
        publish(m_, root_of(t_.p_).levels[d.log2], 0,
                after_nothing("its buckets are empty, durably"), "level.drain.drop-level");
    t_.levels_.switch_to(others);
    t_.stripes_.await_writers(t_.levels_.now());
    growth(t_).give_back(gone);
  }

  // of a bucket's records, in a level and in all: buckets of those twice, four and eight times as
  // large
  static constexpr unsigned max_targets_of_level = 8, max_targets = 2 + 4 + 8;

  table& t_;
  M& m_;
};

}  // namespace durahash::level
