// Level hashing: records that move: one, to make way for another (paper §3.1, §3.2); and those of a
// level that goes, a bucket at a time.
//
// A movement from one bucket to another, under the locks of both:
//   1  an intent names the bucket that is left; slot, tag and filter at the other; flushed, fenced
//   2  the token there, durably
//      crash: the record is there twice; recovery removes the named one
//   3  COMMIT: the token here removed, durably
//      crash after: moved
//
// A bucket that is drained is one movement of all its records, as far as there is room under the
// same lock.
#pragma once

#include <sched.h>

#include "engine/level/table.hpp"

namespace durahash::level {

// ---------------------------------------------------------------------------------------- movement

/// Frees a slot in one of the key's buckets by at most one movement (§3.1, §3.2). Returns whether
/// it did. Locks of other stripes are only tried: a record behind one that is held stays where it
/// is.
template <medium M, class Kind>
bool table<M, Kind>::make_way(const locked& l, const levels_view& v, const candidates& s) {
  unsigned top = v.first_open, bottom = top + 1;
  return move_from(l, v, s, top, top) || move_from(l, v, s, bottom, bottom) ||
         (bottom_to_top_ && move_from(l, v, s, bottom, top));
}

template <medium M, class Kind>
bool table<M, Kind>::move_from(const locked& l, const levels_view& v, const candidates& s,
                               unsigned from, unsigned to) {
  for (unsigned n = 0; n < 2; ++n) {
    const bucket b = v.at[from].bucket_of(s.place[n]);
    for (std::uint32_t left = buckets_.state_of(b).tokens() & buckets_.shape.all_tokens;
         left != 0;) {
      const int index = take_lowest(left);
      const std::uint64_t key_word = load(m_, buckets_.slot_of(b, index).key),
                          hash = buckets_.hash_of_slot(key_word);
      const std::uint64_t second = second_maps_.second_place(hash);
      const unsigned here = v.at[from].bucket_of(hash) == b ? 0 : 1;
      for (unsigned which : {1 - here, here}) {
        const std::uint64_t place = which == 0 ? hash : second;
        if ((from == to && which == here) ||
            buckets_.free_slot(buckets_.state_of(v.at[to].bucket_of(place))) < 0)
          continue;
        stripe_index stripe = v.stripe_of(place);
        bool held = stripe == l.stripe[0] || stripe == l.stripe[1];
        if (!held && !stripes_.lock_of(stripe).try_lock()) continue;
        stripes_.settle_inherited(v, stripe);
        const resident r{{hash, key_word, load(m_, buckets_.slot_of(b, index).value)}, b, index};
        // Levels that came before the lock was taken may have drained the bucket behind it.
        const bool moved =
            (held || &levels_.now() == &v) &&
            move(v, r, second_maps_.candidates_of(r.hash, r.key_word), to, which, l.stripe[n]);
        if (!held) stripes_.lock_of(stripe).unlock();
        if (moved) return true;
      }
    }
  }
  return false;
}

/// With both stripes locked. Returns false when there is no room.
template <medium M, class Kind>
bool table<M, Kind>::move(const levels_view& v, const resident& r, const candidates& s, unsigned to,
                          unsigned which, stripe_index from_stripe) {
  bucket there = v.at[to].bucket_of(s.place[which]);
  int free = buckets_.free_slot(buckets_.state_of(there));
  if (free < 0) return false;
  stripe_index there_stripe = v.stripe_of(s.place[which]);
  // the count is by stripe
  if (there_stripe != from_stripe && !M::planted("level-a-movement-outruns-the-count"))
    for (stripe_index stripe : {there_stripe, from_stripe})
      count_once(stripe, [&] { count_stripe(v, stripe); });
  std::scoped_lock lock(intents_.lock_of(from_stripe));
  intent& d = intents_.of(from_stripe);
  flushed started;
  store(m_, d.moving, p_.offset_of(r.where.state));
  started += flush(m_, extent_of(d.moving), "level.move.intent");
  started += buckets_.flush_item(filters_.fill(v, to, s, which, free, r.value_word));
  durable written = fence(m_, std::move(started), "level.move.payload");

  bucket_state state = buckets_.state_of(there);
  stripes_.begin(there_stripe);
  durable twice = publish(m_, *there.state, state.with_tokens(state.tokens() | 1u << free).word,
                          after(std::move(written)), "level.move.arrived");
  stripes_.end(there_stripe, twice);
  stripes_.count_moved(v.stripe_of(r.hash));
  state = buckets_.state_of(r.where);
  stripes_.begin(from_stripe);
  // COMMIT: it has moved
  durable once =
      publish(m_, *r.where.state, state.with_tokens(state.tokens() & ~(1u << r.slot)).word,
              after(std::move(twice)), "level.move.left");
  stripes_.end(from_stripe, once);
  stripes_.move_record(from_stripe, there_stripe);
  movements_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

// ------------------------------------------------------------------------------------------- drain

/// Bounded work for a level that is going: what so many writes do when they are done with their
/// own. Nothing is locked.
template <medium M, class Kind>
void table<M, Kind>::drain_some(std::uint64_t writes) {
  drain* d = levels_.now().draining;
  if (d == nullptr) return;
  for (std::uint64_t buckets = writes * d->by_a_write(); buckets > 0; --buckets) {
    d = levels_.now().draining;
    if (d == nullptr) return;
    bool got_on = false;
    if_memory_allows([&] { got_on = drain_next(*d); });
    if (!got_on) return;
  }
}

/// Returns whether it got on.
template <medium M, class Kind>
bool table<M, Kind>::drain_next(drain& d) {
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
  if (d.is_over()) finish_drain(d);
  return index.has_value();
}

/// With the setting `helper`, a level that goes is drained in the background, too. Nothing is
/// locked.
template <medium M, class Kind>
void table<M, Kind>::start_helper() {
  if (!helper_ || levels_.now().draining == nullptr) return;
  background_.submit([this](const background& self) {
    for (drain* d = levels_.now().draining; d != nullptr && !self.stopping() && drain_next(*d);)
      d = levels_.now().draining;
  });
}

template <medium M, class Kind>
status table<M, Kind>::drain_all() {
  // ends: each round drains a bucket, or waits for others that do
  while (drain* d = levels_.now().draining) {
    if (drain_next(*d)) continue;
    {
      std::scoped_lock lock(d->lock);
      if (d->put_back_count != 0) return p_.sound() ? status::no_space : status::io_error;
    }
    if (d->is_over() && !p_.sound()) return status::io_error;
    if (levels_.now().draining != d) continue;
    if (turns* t = turns::current()) t->pass();
    else sched_yield();
  }
  return status::ok;
}

/// Returns false when some record finds no place.
template <medium M, class Kind>
bool table<M, Kind>::drain_bucket(drain& d, std::uint64_t index) {
  while (true) {  // ends: each further round has a record less in the bucket, or other levels
    const levels_view* v = &levels_.now();
    stripe_index stripe = v->stripe_of(place_with(index, d.log2));
    bool empty;
    {
      std::scoped_lock lock(stripes_.lock_of(stripe));
      if (levels_.now().stripe_bits != v->stripe_bits) continue;
      v = &levels_.now();
      if (v->draining != &d) return true;  // called off
      if (!p_.may_change()) return false;
      stripes_.settle_inherited(*v, stripe);
      empty = move_together(*v, d, index, stripe);
    }
    if (empty || M::planted("level-rehash-never-fails")) return true;
    if (!move_out(d, index)) return false;
  }
}

/// The records of a bucket, as far as there is room in the places under the same lock. Returns
/// whether that was all.
template <medium M, class Kind>
bool table<M, Kind>::move_together(const levels_view& v, const drain& d, std::uint64_t index,
                                   stripe_index stripe) {
  const level_view& from = v.drained(d);
  const bucket b = buckets_.at(from, index);
  const std::uint64_t here = index << from.shift;
  bucket_state state = buckets_.state_of(b);
  flushed started;
  if (v.first_open == 1 && state.tokens() != 0 && state.filter() != new_bucket.filter()) {
    state = state.next(state.tokens(), new_bucket.filter());  // its records go below it
    store(m_, *b.state, state.word);  // crash: a filter that says too much costs a look
    started += flush(m_, extent_of(*b.state), "level.drain.filter");
  }
  // Where they may go: of each level the buckets above this one, or the one below. Those of levels
  // that are much larger are left to move_out.
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
          buckets_.state_of(where[target_count] = buckets_.at(l, l.number(here) + n));
  }
  // of the records whose first place is another bucket's
  stripe_index others[max_slots];
  unsigned other_count = 0;
  bool own = false;
  std::uint32_t leaving = 0, arriving = 0;
  for (std::uint32_t left = state.tokens() & buckets_.shape.all_tokens; left != 0;
       left &= left - 1) {
    const int slot_index = std::countr_zero(left);
    const slot& at = buckets_.slot_of(b, slot_index);
    const std::uint64_t key_word = load(m_, at.key), hash = buckets_.hash_of_slot(key_word);
    const std::uint64_t place = second_maps_.place_beside(here, hash);
    for (const target_level *l = open, *end = open + open_count; l != end; ++l) {
      if (v.under_previous(l->level) &&
          !buckets_.state_of(v.at[l->level - 1].bucket_of(place)).admits(class_of(mixed(hash))))
        continue;
      const auto n = l->first + static_cast<unsigned>(place >> l->shift & l->mask);
      const std::uint32_t free = ~next[n].tokens() & buckets_.shape.all_tokens;
      if (free == 0) continue;
      const slot* apart =
          buckets_.store_slot(where[n], std::countr_zero(free), key_word,
                              load(m_, buckets_.tag_field(b, slot_index)), load(m_, at.value));
      if (apart != nullptr) started += flush_in_line(m_, *apart, "level.drain.slot");
      next[n].word |= free & -free;
      arriving |= 1u << n, leaving |= left & -left;
      if (place == hash) own = true;
      else others[other_count++] = v.stripe_of(hash);
      break;
    }
  }
  if (leaving != 0) {
    std::scoped_lock lock(intents_.lock_of(stripe));
    intent& k = intents_.of(stripe);
    store(m_, k.moving, p_.offset_of(b.state));
    started += flush_in_line(m_, k.moving, "level.drain.intents");
    durable written = fence(m_, std::move(started), "level.drain.payload");
    stripes_.begin(stripe);
    flushed tokens;
    while (arriving != 0) {
      const int n = take_lowest(arriving);
      tokens += publish_unfenced(m_, *where[n].state, next[n].with_token(0).word,
                                 after_group(written), "level.drain.arrival");
    }
    durable twice = fence(m_, std::move(tokens), "level.drain.arrived");
    if (own) stripes_.count_moved(stripe);
    for (unsigned n = 0; n < other_count; ++n) stripes_.count_moved(others[n]);
    // COMMIT: they have moved
    durable once = publish(m_, *b.state, state.with_tokens(state.tokens() & ~leaving).word,
                           after(std::move(twice)), "level.drain.left");
    stripes_.end(stripe, once);
    rehashed_.fetch_add(static_cast<std::uint64_t>(std::popcount(leaving)),
                        std::memory_order_relaxed);
  }
  // the two levels right above it are each other's bottom and top from then on
  if (const unsigned last = v.count - 1;
      last >= 2 && &from == &v.at[last] && v.at[last - 2].log2 == d.log2 + 2)
    for (std::uint64_t n = index << 1; n < (index + 1) << 1; ++n)
      filters_.refresh(v.at[last - 2], v.at[last - 1], n);
  return leaving == (state.tokens() & buckets_.shape.all_tokens);
}

/// One record of a bucket, to any of its places, under the locks of both. Returns false when there
/// is none with room, nor can be.
template <medium M, class Kind>
bool table<M, Kind>::move_out(const drain& d, std::uint64_t index) {
  while (true) {  // ends: each further round has one level more, or another record
    const levels_view* v = &levels_.now();
    if (v->draining != &d) return true;
    std::optional<resident> chosen;
    buckets_.for_each_resident(buckets_.at(v->at[v->index_of(d.log2)], index),
                               [&](const resident& r) { chosen = r; });
    if (!chosen) return true;
    candidates s = second_maps_.candidates_of(chosen->hash, chosen->key_word);
    locked l = lock_pair(s);
    auto held = held_by(l);
    if (!p_.may_change()) return false;
    v = &levels_.now();
    bool moved = v->draining != &d;
    const bucket_state state = buckets_.state_of(chosen->where);
    bool still_there =
        !moved && (state.tokens() >> chosen->slot & 1) != 0 &&
        load(m_, buckets_.slot_of(chosen->where, chosen->slot).key) == chosen->key_word;
    if (still_there) {
      chosen->value_word = load(m_, buckets_.slot_of(chosen->where, chosen->slot).value);
      for (stripe_index stripe : l.stripe) stripes_.settle_inherited(*v, stripe);
      unsigned here = v->at[v->index_of(d.log2)].number(s.place[0]) == index ? 0 : 1;
      auto move_somewhere = [&] {
        for (unsigned level = v->first_open; level < v->end_open; ++level)
          if (move(*v, *chosen, s, level, here, l.stripe[here]) ||
              move(*v, *chosen, s, level, 1 - here, l.stripe[here]))
            return true;
        return false;
      };
      moved = move_somewhere() || (make_way(l, *v, s) && move_somewhere());
    }
    held.release();
    if (moved) {
      if (still_there) rehashed_.fetch_add(1, std::memory_order_relaxed);
      return true;
    }
    if (still_there && make_room(v, patience::has_none) != status::ok) return false;
  }
}

/// After the last bucket. Nothing is locked.
template <medium M, class Kind>
void table<M, Kind>::finish_drain(const drain& d) {
  std::scoped_lock lock(levels_.changing());
  const levels_view& v = levels_.now();
  if (v.draining != &d) return;
  durahash::check(d.is_over() && v.index_of(d.log2) < v.count, "a level goes when it is drained");
  level_view gone = v.at[v.index_of(d.log2)];
  std::vector<level_view> now = levels_.present();
  std::erase_if(now, [&](const level_view& l) { return l.log2 == d.log2; });
  levels_view& others = plan_levels(std::move(now), false, v.bottom_first);
  if (!p_.may_change()) return;
  // COMMIT: it goes
  [[maybe_unused]] durable done =
      publish(m_, root_of(p_).levels[d.log2], 0, after_nothing("its buckets are empty, durably"),
              "level.drain.drop-level");
  levels_.switch_to(others);
  stripes_.await_writers(levels_.now());
  give_back(gone.offset, buckets_.shape.level_bytes(gone.log2));
}

}  // namespace durahash::level
