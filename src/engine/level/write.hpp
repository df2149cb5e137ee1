// Level hashing: insert, update, removal (paper §3.1, §3.3), and groups of them that share fences.
//
// One write, under the locks of its key's two stripes:
//   1  payload (record, slot, tag; a bit in the filter above) stored
//      crash: no token names it; a record's cell is unreachable, hence free
//   2  payload flushed and fenced, unless it lies in the commit word's line
//   3  COMMIT: the bucket's state published; of an update the value word
//      crash before: old state; after: new state
//   4  the old record is retired: reused after its readers left
//      crash: unreachable, hence free
//
// A group stores step 1 for up to 64 keys, flushes it, one fence, step 3 for all, one fence. Each
// record is atomic by itself; the group is not. Locks are taken before the first flush: a locked
// instruction between flushes waits for them. Keys without room come after the others, one by one.
#pragma once

#include "engine/level/balance.hpp"
#include "engine/level/drain.hpp"
#include "engine/level/move.hpp"
#include "engine/level/search.hpp"
#include "engine/level/stage.hpp"
#include "engine/level/table.hpp"

namespace durahash::level {

template <medium M, class Kind>
[[gnu::always_inline]] inline auto table<M, Kind>::target_of(key_type key) const noexcept
    -> target_type {
  const levels_view& v = levels_.now();
  const target_type t = look_up(key, hash_inlined<Kind>(key, seeds_), v, v.at[0]);
  for (bucket b : t.at) prefetch_for_write(b.state);
  return t;
}

// --------------------------------------------------------------------------------------- the locks

/// Both stripes of a key, in order. Its buckets in the top level are asked for on the way.
template <medium M, class Kind>
auto table<M, Kind>::lock_unit(const candidates& s, key_type) -> unit_type {
  while (true) {  // ends: each further round means that the table changed its size
    const levels_view& v = levels_.now();
    for (std::uint64_t place : s.place)
      prefetch_for_write(v.at[v.first_open].bucket_of(place).state);
    unit_type l{&v, {v.stripe_of(s.place[0]), v.stripe_of(s.place[1])}};
    for (stripe_index stripe : l.stripe) prefetch_for_write(&stripes_.lock_of(stripe));
    stripes_.lock_of(std::min(l.stripe[0], l.stripe[1])).lock();
    stripes_.lock_of(std::max(l.stripe[0], l.stripe[1])).lock();
    if (levels_.now().stripe_bits == v.stripe_bits) return l.levels = &levels_.now(), l;
    for (stripe_index stripe : l.stripe) stripes_.lock_of(stripe).unlock();
  }
}

template <medium M, class Kind>
[[gnu::always_inline]] inline auto table<M, Kind>::held_by(const unit_type& l) const noexcept
    -> held_pair {
  return held_pair(stripes_.lock_of(l.stripe[0]), stripes_.lock_of(l.stripe[1]));
}

/// What a process that died left of them is durable.
template <medium M, class Kind>
inline void table<M, Kind>::settle(const unit_type& l) {
  for (stripe_index stripe : l.stripe) stripes_.settle_inherited(*l.levels, stripe);
}

/// As lock_unit, of the levels that are known: whether they are still the same is_settled says.
template <medium M, class Kind>
[[gnu::always_inline]] inline auto table<M, Kind>::lock_home(const target_type& t) const noexcept
    -> home_type {
  const levels_view& v = *t.levels;
  const stripe_index first = v.stripe_of(t.place[0]), second = v.stripe_of(t.place[1]);
  spin_lock *low = &stripes_.lock_of(first), *high = &stripes_.lock_of(second);
  if (high < low) std::swap(low, high);
  low->lock();
  high->lock();
  return {{&v, {first, second}}, low, high};
}

template <medium M, class Kind>
[[gnu::always_inline]] inline bool table<M, Kind>::is_settled(const unit_type& l,
                                                              const target_type& t) const noexcept {
  return &levels_.now() == t.levels && t.levels->is_pair && stripes_.settled(l.stripe[0]) &&
         stripes_.settled(l.stripe[1]);
}

/// A movement may have freed a slot, or somebody has put other levels there.
template <medium M, class Kind>
bool table<M, Kind>::make_way(const unit_type& l, const candidates& s) {
  const levels_view& v = *l.levels;
  return movement(*this, v).make_way(l, s) || &v != &levels_.now();
}

/// Nothing is locked.
template <medium M, class Kind>
[[gnu::always_inline]] inline status table<M, Kind>::finish_write(const candidates&,
                                                                  const change& c, status answer) {
  if (c.wants_look || levels_.now().draining != nullptr) [[unlikely]]
    return look_behind(c.wants_look, answer);
  return answer;
}

/// What a write does for the table as a whole.
template <medium M, class Kind>
[[gnu::noinline]] status table<M, Kind>::look_behind(bool at_the_table, status answer) {
  if (at_the_table) if_memory_allows([this] { balance(*this).look_around(); });
  if (levels_.now().draining != nullptr) drainer(*this).some(1);
  return answer;
}

// ------------------------------------------------------------------------------- the way of most

/// As `walk` and `stage`, in registers, while there are two levels. What finds no room
/// in the top is left to them.
template <medium M, class Kind>
template <class Decide>
[[gnu::always_inline]] inline staged table<M, Kind>::stage_home(const unit_type& l,
                                                                const target_type& t, key_type key,
                                                                Decide& decide, change& c,
                                                                status& answer, flushed& started) {
  using act = typename decision<value_type>::what;
  const levels_view& v = *t.levels;
  const bucket_state first = buckets_.state_of(t.at[0]);
  bucket where = t.at[0];
  bucket_state state = first, second;
  unsigned which = 0, level = 0;
  found_slot at = buckets_.find_in(where, state, t);
  if (at.there == nullptr) {
    second = buckets_.state_of(t.at[1]);
    which = 1, where = t.at[1], state = second;
    at = buckets_.find_in(where, state, t);
  }
  if (at.there == nullptr && first.admits(t.filter_class)) {
    which = 0, level = 1, where = v.at[1].bucket_of(t.place[0]), state = buckets_.state_of(where);
    at = buckets_.find_in(where, state, t);
  }
  if (at.there == nullptr && second.admits(t.filter_class)) {
    which = 1, level = 1, where = v.at[1].bucket_of(t.place[1]), state = buckets_.state_of(where);
    at = buckets_.find_in(where, state, t);
  }
  if (at.there == nullptr) {
    const decision<value_type> wanted = decide(std::optional<value_type>());
    answer = wanted.answer;
    if (!may_set<Decide> || wanted.act != act::set) return staged::nothing_to_do;
    return stage_new(l, t, first, second, key, wanted.value, c, answer, started);
  }
  pm<std::uint64_t>& value = at.there->value;
  const std::optional<value_type> present = frame::replaceable(load(m_, value), key, c);
  if (!present) [[unlikely]]
    return staged::look_further;
  const decision<value_type> wanted = decide(present);
  answer = wanted.answer;
  if (wanted.act == act::keep) return staged::nothing_to_do;
  c.stripe = l.of(which != 0);
  c.where = where;
  if (may_set<Decide> && wanted.act == act::set) {
    if (!how_.in_place) [[unlikely]]
      return staged::look_further;
    const auto made = new_value_word<Kind>(m_, heap_, p_, key, wanted.value, started);
    if (!made) [[unlikely]]
      return answer = status::no_space, staged::nothing_to_do;
    c.apart = !Kind::in_slot;
    c.value = &value, c.value_word = *made;
    return staged::ready;
  }
  c.next = state.without_token(at.token);
  c.records = -1;
  if (level != 0)
    c.levels = &v, c.level = 1, c.place = which != 0 ? t.place[1] : t.place[0],
    c.filter_class = t.filter_class;
  return staged::ready;
}

/// In the less loaded of the two buckets in the top.
template <medium M, class Kind>
[[gnu::always_inline]] inline staged table<M, Kind>::stage_new(
    const unit_type& l, const target_type& t, bucket_state first, bucket_state second, key_type key,
    value_type value, change& c, status& answer, flushed& started) {
  const bool which = std::popcount(second.tokens()) < std::popcount(first.tokens());
  const bucket_state state = which ? second : first;
  const std::uint32_t free = ~state.tokens() & buckets_.shape.all_tokens;
  if (free == 0) [[unlikely]]
    return staged::look_further;
  const auto made = new_value_word<Kind>(m_, heap_, p_, key, value, started);
  if (!made) [[unlikely]]
    return answer = status::no_space, staged::nothing_to_do;
  c.stripe = l.of(which);
  c.where = which ? t.at[1] : t.at[0];
  const int index = std::countr_zero(free);
  c.filled = &buckets_.slot_of(c.where, index);
  c.lines.slot_apart = buckets_.store_slot(c.where, index, t, *made);
  c.apart = c.lines.slot_apart != nullptr || !Kind::in_slot;
  c.next = state.with_token(free & -free);
  c.records = 1;
  return staged::ready;
}

// ------------------------------------------------------------------------------------ the long way

/// The levels are read under the locks: one that goes stays what it is until they are released.
template <medium M, class Kind>
template <class Decide>
auto table<M, Kind>::stage(unit_type& l, const candidates& s, key_type key, Decide& decide,
                           change& c, status& answer, flushed& started) -> staged {
  using act = typename decision<value_type>::what;
  l.levels = &levels_.now();
  staging steps(*this, l, s, c, answer, started);
  const lookup at = steps.walk(key);
  std::optional<value_type> present;
  if (at.found() &&
      !(present = frame::replaceable(load(m_, buckets_.slot_of(at.where, at.slot).value), key, c)))
    return answer = status::damaged, staged::nothing_to_do;
  decision<value_type> wanted = decide(present);
  answer = wanted.answer;
  if (wanted.act == act::keep) return staged::nothing_to_do;
  c.stripe = l.stripe[at.found() ? at.which : 0];
  if (!may_set<Decide> || wanted.act == act::remove) return steps.remove(at);
  return at.found() ? steps.update(at, key, wanted.value) : steps.insert(key, wanted.value);
}

// ------------------------------------------------------------------------------------- the commit

/// Why a payload that was not flushed needs no fence of its own.
template <medium M, class Kind>
[[gnu::always_inline]] inline ordered table<M, Kind>::payload_order(const change& c) const {
  if (c.filled == nullptr) return after_nothing("one word is all that changes");
  return after_same_line(c.where.state, c.filled, sizeof(slot));
}

template <medium M, class Kind>
[[gnu::always_inline]] inline flushed table<M, Kind>::publish_change(const change& c,
                                                                     ordered payload) {
  if (c.value != nullptr)
    // COMMIT: the value changes
    return publish_unfenced(m_, *c.value, c.value_word, std::move(payload), "level.write.value");
  // COMMIT: the record appears, changes or goes
  return publish_unfenced(m_, *c.where.state, c.next.word, std::move(payload),
                          "level.write.commit");
}

template <medium M, class Kind>
[[gnu::always_inline]] inline void table<M, Kind>::end(change& c, const durable& done) {
  stripes_.end(c.stripe, done);
  finish(c);
}

// changes of a stripe; stripes
inline constexpr unsigned look_after = 8, look_every = 256;

template <medium M, class Kind>
[[gnu::always_inline]] inline void table<M, Kind>::finish(change& c) {
  if (c.records != 0) stripes_.add_records(c.stripe, c.records);
  if (c.levels != nullptr) filters_.drop_class(*c.levels, c.level, c.place, c.filter_class);
  c.wants_look = c.stripe % look_every == 0 && ++stripes_[c.stripe].changes % look_after == 0;
}

// ------------------------------------------------------------------------------------------ groups

template <medium M, class Kind>
void table<M, Kind>::look_ahead(std::span<const key_type> keys, target_type* targets, bool puts) {
  // no lock is held yet: the levels that are looked at may be on their way out
  [[maybe_unused]] read_guard guard = reading();
  for (std::size_t i = 0; i < keys.size(); ++i) targets[i] = target_of(keys[i]);
  const levels_view& v = levels_.now();
  [[maybe_unused]] first_look seen[group_size];
  for (std::size_t i = 0; i < keys.size(); ++i)
    look_ahead_of(
        buckets_, targets[i], v.at[v.count > 1], v.filtered ? 0 : new_bucket.word, puts,
        seen[Kind::in_slot ? 0 : i],
        [](const void* at) __attribute__((always_inline)) { prefetch_for_write(at); });
  if constexpr (!Kind::in_slot)
    for (std::size_t i = 0; i < keys.size(); ++i) ask_for_record(buckets_, targets[i], seen[i]);
}

template <medium M, class Kind>
std::size_t table<M, Kind>::lock_group(std::span<const key_type> keys, const target_type* targets,
                                       group& g) {
  g.targets = targets;
  g.keys[0] = lock_unit(targets[0]);
  for (stripe_index stripe : g.keys[0].stripe) g.locks.adopt(stripes_.lock_of(stripe));
  const levels_view& v = levels_.now();  // while a lock is held, stripes stay what they are
  std::size_t count = 1;
  for (; count < keys.size(); ++count) {
    const candidates& s = targets[count];
    unit_type& l = g.keys[count] = {&v, {v.stripe_of(s.place[0]), v.stripe_of(s.place[1])}};
    const std::size_t before = g.locks.count();
    bool all = true;
    for (stripe_index stripe : l.stripe) {
      if (g.locks.try_lock(stripes_.lock_of(stripe))) [[likely]]
        continue;
      g.shares |= std::uint64_t{1} << count;
      all = g.locks.holds(stripes_.lock_of(stripe)) && all;
    }
    const bool again = (g.shares >> count & 1) != 0 &&  // the same key: it ends the group
                       std::any_of(targets, targets + count,
                                   [&](const target_type& t) { return t.place[0] == s.place[0]; });
    if (all && !again) [[likely]]
      continue;
    g.locks.release(before);
    break;
  }
  return count;
}

/// Whether the key's buckets are among those that the group is about to change: their states are
/// not what they will be. They are not if none before it has a stripe of it.
template <medium M, class Kind>
[[gnu::always_inline]] inline bool table<M, Kind>::ends_before(const group& g,
                                                               const target_type& t) const {
  return g.shares_stripe(t) && g.meets(levels_.now(), t);
}

template <medium M, class Kind>
[[gnu::always_inline]] inline void table<M, Kind>::finish_group(group& g, std::size_t taken) {
  bool wants_look = false;
  for (const change& c : g.all()) wants_look |= c.wants_look;
  if (wants_look) if_memory_allows([&] { balance(*this).look_around(); });
  drainer(*this).some(taken);
}

}  // namespace durahash::level
