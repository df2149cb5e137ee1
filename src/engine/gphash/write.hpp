// GPHash: insert, update, removal (paper §3.2.3), and groups of them that share fences.
//
// One write, its key's stripe held; of slots, compare-and-swap decides whose they are:
//   insert   1  a slot claimed
//     crash: recovery empties it
//            2  byte tables: record written; key, where it lies in the slot, and value word stored;
//               what is not in the state's line flushed, fenced
//            3  COMMIT: the fingerprint published
//               crash before: old state; after: new state
//   update   1  byte tables: record written, flushed, fenced
//            2  COMMIT: the value word published
//               crash before: old value; after: new value
//   removal  1  COMMIT: the state becomes `empty`, published
//     crash before: old state; after: new state
// The old record is retired: reused after its readers left. Who claims a slot while the removal
// that emptied it is not durable makes it so (G3).
//
// A group does 1 and 2 of up to 64 keys in as many stripes, then one fence, the commit words of
// all, one fence. Each record is atomic by itself; the group is not. All locks are taken before the
// first flush.
#pragma once

#include "engine/gphash/count.hpp"
#include "engine/gphash/table.hpp"
#include "engine/gphash/tell.hpp"

namespace durahash::gphash {

/// The key's buckets are asked for.
template <medium M, class Kind>
[[gnu::always_inline]] inline auto table<M, Kind>::target_of(key_type key) const noexcept
    -> target_type {
  const levels_view& v = levels_.now();
  const target_type t = look_up(key, v);
  if (v.is_short) [[likely]]
    t.ask_for();
  else ask_for_all(v, t.hash);
  return t;
}

/// Of the table, whose address the short ways have: for one of `buckets` they would work out its.
template <medium M, class Kind>
[[gnu::noinline]] void table<M, Kind>::ask_for_all(const levels_view& v,
                                                   std::uint64_t hash) const noexcept {
  buckets_.warp_over(v, buckets_.candidates_of(hash));
}

/// The levels stay what they are until the stripe is unlocked; when all is counted after a crash,
/// they get another view.
template <medium M, class Kind>
[[gnu::always_inline]] inline auto table<M, Kind>::lock_unit(const target_type& t, key_type)
    -> unit_type {
  while (true) {  // ends: each further round means that the levels were replaced
    const levels_view& v = levels_.now();
    const unit_type u{&v, v.stripe_of(t.hash)};
    levels_.lock_of(u.stripe).lock();
    if (&levels_.now() == &v) return u;
    levels_.lock_of(u.stripe).unlock();
  }
}

/// Of the levels that are known: whether they are still the same is_settled says.
template <medium M, class Kind>
[[gnu::always_inline]] inline auto table<M, Kind>::lock_home(const target_type& t) const noexcept
    -> unit_type {
  const unit_type u{t.levels, t.levels->stripe_of(t.hash)};
  levels_.lock_of(u.stripe).lock();
  return u;
}

template <medium M, class Kind>
[[gnu::always_inline]] inline bool table<M, Kind>::is_settled(const unit_type&,
                                                              const target_type& t) const noexcept {
  return &levels_.now() == t.levels && t.is_short();
}

template <medium M, class Kind>
[[gnu::always_inline]] inline held_lock table<M, Kind>::held_by(const unit_type& u) const noexcept {
  if (M::planted("gphash-two-writers-of-one-key")) {
    levels_.lock_of(u.stripe).unlock();
    return {};
  }
  return held_lock(levels_.lock_of(u.stripe));
}

// ------------------------------------------------------------------------------- the way of most

/// As `stage`, for words, in registers. Who finds no room, or loses a slot, begins again.
template <medium M, class Kind>
template <class Decide>
[[gnu::always_inline]] inline staged table<M, Kind>::stage_home(const unit_type& u,
                                                                const target_type& t, key_type,
                                                                Decide& decide, change& c,
                                                                status& answer, flushed&) {
  using act = typename decision<value_type>::what;
  c.stripe = &levels_.stripe(u.stripe);
  const bucket_ref state = find(t);
  if (state == nullptr) {
    const decision<value_type> wanted = decide(std::optional<value_type>());
    answer = wanted.answer;
    if (!may_set<Decide> || wanted.act != act::set) return staged::nothing_to_do;
    return stage_new(t, wanted.value, c);
  }
  if (load(m_, *state) != t.hash) [[unlikely]]
    return staged::look_further;
  const bucket_ref value = state + short_shape.slots;
  const decision<value_type> wanted = decide(std::optional<value_type>(load(m_, *value)));
  answer = wanted.answer;
  if (wanted.act == act::keep) return staged::nothing_to_do;
  c.where.state = state, c.where.value = value;
  if (may_set<Decide> && wanted.act == act::set) c.word = value, c.next = wanted.value;
  else c.word = state, c.next = empty_state, c.records = -1;
  return staged::ready;
}

/// Into the bucket with most empty slots, of equals the first one.
template <medium M, class Kind>
[[gnu::always_inline]] inline staged table<M, Kind>::stage_new(const target_type& t,
                                                               value_type value,
                                                               change& c) requires(Kind::in_slot) {
  bucket_ref roomiest = t.at[0];
  std::uint32_t its = buckets_.match_eight(roomiest, empty_state);
  int most = std::popcount(its);  // two for each
  auto weigh = [&](bucket_ref b) __attribute__((always_inline)) {
    const std::uint32_t empty = buckets_.match_eight(b, empty_state);
    const int here = std::popcount(empty);
    if (here > most) most = here, roomiest = b, its = empty;
  };
  weigh(t.at[1]), weigh(t.at[2]), weigh(t.at[3]);
  if (its == 0) [[unlikely]]
    return staged::look_further;
  if (most == 2) [[unlikely]]
    note_if_nearly_full(t.at[0], t.at[1], t.at[2], t.at[3]);
  const bucket_ref state = buckets_.first_of(roomiest, its);
  if (!claims_.claim(*state)) [[unlikely]]
    return staged::look_further;
  c.where.state = c.word = state, c.where.value = state + short_shape.slots;
  c.next = t.hash;
  store(m_, *c.where.value, value);
  c.apart = c.value_apart = true;
  c.records = 1;
  return staged::ready;
}

/// Of a key's four buckets; as values, so that who looks at them keeps them in registers.
template <medium M, class Kind>
[[gnu::noinline]] void table<M, Kind>::note_if_nearly_full(bucket_ref a, bucket_ref b, bucket_ref c,
                                                           bucket_ref d) noexcept {
  const int bits = std::popcount(buckets_.match_eight(a, empty_state)) +
                   std::popcount(buckets_.match_eight(b, empty_state)) +
                   std::popcount(buckets_.match_eight(c, empty_state)) +
                   std::popcount(buckets_.match_eight(d, empty_state));
  if (bits / 2 <= short_shape.few_slots()) need_.note(levels_.now());
}

// --------------------------------------------------------------------------------------- the place

/// Where the key is; else where there is room for it.
template <medium M, class Kind>
lookup<Kind> table<M, Kind>::locate(const levels_view& v, const candidates& s, key_type key) {
  lookup<Kind> at;
  warp_view w = buckets_.warp_over(v, s);
  buckets_.look_everywhere(w, s, [&](slot candidate) {
    if (!buckets_.holds_key(candidate, key)) return false;
    at.found = candidate;
    return true;
  });
  if (at.found.state == nullptr) at.room = claims_.room_for(v, w, s);
  return at;
}

// -------------------------------------------------------------------------------- stage and commit

template <medium M, class Kind>
template <class Decide>
auto table<M, Kind>::stage(const unit_type& u, const target_type& t, key_type key, Decide& decide,
                           change& c, status& answer, flushed& started) -> staged {
  using act = typename decision<value_type>::what;
  const levels_view& v = *u.levels;
  candidates s = buckets_.candidates_of(t.hash);
  if (!counted()) [[unlikely]]
    counting::count_places(*this, v, s);
  c.stripe = &levels_.stripe(u.stripe);
  lookup<Kind> at = locate(v, s, key);
  std::optional<value_type> present;
  if (at.found.state != nullptr &&
      !(present = frame::replaceable(load(m_, *at.found.value), key, c)))
    return answer = status::damaged, staged::nothing_to_do;
  decision<value_type> wanted = decide(present);
  answer = wanted.answer;
  switch (wanted.act) {
    case act::set:
      if constexpr (may_set<Decide>)
        return stage_set(v, s, at, key, wanted.value, c, answer, started);
      break;
    case act::remove:
      c.where = at.found;
      c.word = at.found.state;
      c.next = empty_state;
      c.records = -1;
      return staged::ready;
    case act::keep: break;
  }
  return staged::nothing_to_do;
}

template <medium M, class Kind>
[[gnu::always_inline]] inline auto table<M, Kind>::stage_set(const levels_view& v,
                                                             const candidates& s, lookup<Kind>& at,
                                                             key_type key, value_type value,
                                                             change& c, status& answer,
                                                             flushed& started) -> staged {
  bool update = at.found.state != nullptr;
  if (!update && !claims_.claim(v, s, at)) return staged::no_room;
  std::optional<std::uint64_t> value_word;
  status got = with_memory([&] {
    return value_word = new_value_word<Kind>(m_, heap_, p_, key, value, started), status::no_space;
  });
  if (!value_word) {
    if (!update) {
      [[maybe_unused]] durable done =
          publish(m_, *at.room.state, empty_state, after_nothing("nothing was stored in it"),
                  "gphash.claim.returned");
    }
    return answer = got, staged::nothing_to_do;
  }
  c.apart = !Kind::in_slot;
  if (update) {
    c.where = at.found;
    c.word = at.found.value;
    c.next = *value_word;
    return staged::ready;
  }
  c.where = at.room;
  c.word = at.room.state;
  c.next = s.fingerprint;
  c.records = 1;
  buckets_.store_key(at.room, key);
  store(m_, *at.room.value, *value_word);
  c.value_apart = !shape().one_line() && s.escape < 0;
  c.apart |= c.value_apart;
  return staged::ready;
}

/// Why the commit word of a change may follow what was stored before it, if that was not flushed.
template <medium M, class Kind>
[[gnu::always_inline]] inline ordered table<M, Kind>::payload_order(const change& c) const {
  return c.records > 0 ? after_same_line(c.where.state, c.where.value, sizeof *c.where.value)
                       : after_nothing("one word is all that changes");
}

template <medium M, class Kind>
[[gnu::always_inline]] inline flushed table<M, Kind>::publish_change(const change& c,
                                                                     ordered payload) {
  if (!tells_.load(std::memory_order_relaxed)) [[likely]]
    return c.publish(m_, std::move(payload));
  return telling::publish(*this, c, std::move(payload));
}

template <medium M, class Kind>
[[gnu::always_inline]] inline flushed table<M, Kind>::flush_payload(const change& c) {
  flushed started;
  if (c.value_apart) started += flush_in_line(m_, *c.where.value, "gphash.write.value");
  if constexpr (Kind::fixed_key)
    if (c.records > 0) started += buckets_.flush_key(c.where);
  return started;
}

/// Before the commit word is stored.
template <medium M, class Kind>
[[gnu::always_inline]] inline void table<M, Kind>::begin(const change& c) {
  if (c.records < 0) claims_.begin_removal(c.where.state);
  const bool in_vain = c.records > 0 && M::planted("gphash-insertions-leave-the-version");
  c.stripe->mark.begin(c.records != 0 && !in_vain);
}

template <medium M, class Kind>
[[gnu::always_inline]] inline void table<M, Kind>::end(const change& c, const durable& done) {
  c.stripe->mark.end(done);
  if (c.records == 0) return;
  if (c.records < 0) claims_.end_removal(c.where.state, done);
  std::atomic<std::int32_t>& sum = c.stripe->records;
  sum.store(sum.load(std::memory_order_relaxed) + c.records, std::memory_order_relaxed);
}

template <medium M, class Kind>
[[gnu::always_inline]] inline status table<M, Kind>::finish_write(const target_type&, const change&,
                                                                  status answer) noexcept {
  if (need_.wants_help()) [[unlikely]]
    return help_growth(1, answer);
  return answer;
}

// ------------------------------------------------------------------------------------------ groups

template <medium M, class Kind>
void table<M, Kind>::look_ahead(std::span<const key_type> keys, target_type* targets, bool) {
  for (std::size_t i = 0; i < keys.size(); ++i) targets[i] = target_of(keys[i]);
}

/// A stripe that this group holds already is also found locked.
template <medium M, class Kind>
std::size_t table<M, Kind>::lock_group(std::span<const key_type> keys, const target_type* targets,
                                       group& g) {
  unit_type first = lock_unit(targets[0], keys[0]);
  g.levels = first.levels;
  g.locks.adopt(levels_.lock_of(first.stripe));
  auto lock_of_next = [&]() -> spin_lock& {
    return levels_.lock_of(g.levels->stripe_of(targets[g.locks.count()].hash));
  };
  while (g.locks.count() < keys.size() && g.locks.try_lock(lock_of_next())) {}
  return g.locks.count();
}

template <medium M, class Kind>
inline void table<M, Kind>::finish_group(const group&, std::size_t writes) noexcept {
  if (need_.wants_help()) [[unlikely]]
    help_growth(writes, status::ok);
}

}  // namespace durahash::gphash
