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

#include "engine/gphash/table.hpp"

namespace durahash::gphash {

/// The key's buckets are asked for.
template <medium M, class Kind>
[[gnu::always_inline]] inline auto table<M, Kind>::target_of(key_type key) const noexcept
    -> target_type {
  const levels_view& v = levels();
  const target_type t = look_up(key, v);
  if (v.is_short) [[likely]]
    ask_for(t);
  else warp_over(v, candidates_of(t.hash));
  return t;
}

/// The levels stay what they are until the stripe is unlocked; when all is counted after a crash,
/// they get another view.
template <medium M, class Kind>
[[gnu::always_inline]] inline auto table<M, Kind>::lock_unit(const target_type& t, key_type)
    -> unit_type {
  while (true) {  // ends: each further round means that the levels were replaced
    const levels_view& v = levels();
    stripe_index stripe = stripe_of(v, t.hash);
    locks_[stripe].lock();
    if (&levels() == &v) return {&v, stripe};
    locks_[stripe].unlock();
  }
}

/// Of the levels that are known: whether they are still the same is_settled says.
template <medium M, class Kind>
[[gnu::always_inline]] inline auto table<M, Kind>::lock_home(const target_type& t) const noexcept
    -> unit_type {
  const unit_type u{t.levels, stripe_of(*t.levels, t.hash)};
  locks_[u.stripe].lock();
  return u;
}

template <medium M, class Kind>
[[gnu::always_inline]] inline bool table<M, Kind>::is_settled(const unit_type&,
                                                              const target_type& t) const noexcept {
  return &levels() == t.levels && is_short(t);
}

template <medium M, class Kind>
[[gnu::always_inline]] inline held_lock table<M, Kind>::held_by(const unit_type& u) const noexcept {
  if (M::planted("gphash-two-writers-of-one-key")) {
    locks_[u.stripe].unlock();
    return {};
  }
  return held_lock(locks_[u.stripe]);
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
  c.stripe = &stripes_[u.stripe];
  const bucket state = find(t);
  if (state == nullptr) {
    const decision<value_type> wanted = decide(std::optional<value_type>());
    answer = wanted.answer;
    if (!may_set<Decide> || wanted.act != act::set) return staged::nothing_to_do;
    return stage_new(t, wanted.value, c);
  }
  if (load(m_, *state) != t.hash) [[unlikely]]
    return staged::look_further;
  const bucket value = state + short_shape.slots;
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
  bucket roomiest = t.at[0];
  std::uint32_t its = match_eight(roomiest, empty_state);
  int most = std::popcount(its);  // two for each
  auto weigh = [&](bucket b) __attribute__((always_inline)) {
    const std::uint32_t empty = match_eight(b, empty_state);
    const int here = std::popcount(empty);
    if (here > most) most = here, roomiest = b, its = empty;
  };
  weigh(t.at[1]), weigh(t.at[2]), weigh(t.at[3]);
  if (its == 0) [[unlikely]]
    return staged::look_further;
  if (most == 2) [[unlikely]]
    note_if_nearly_full(t.at[0], t.at[1], t.at[2], t.at[3]);
  const bucket state = first_of(roomiest, its);
  if (!claim(*state)) [[unlikely]]
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
[[gnu::noinline]] void table<M, Kind>::note_if_nearly_full(bucket a, bucket b, bucket c,
                                                           bucket d) noexcept {
  const int bits =
      std::popcount(match_eight(a, empty_state)) + std::popcount(match_eight(b, empty_state)) +
      std::popcount(match_eight(c, empty_state)) + std::popcount(match_eight(d, empty_state));
  if (bits / 2 <= short_shape.few_slots()) note_nearly_full();
}

// --------------------------------------------------------------------------------------- the place

/// Where the key is; else where there is room for it.
template <medium M, class Kind>
auto table<M, Kind>::locate(const levels_view& v, const candidates& s, key_type key) -> lookup {
  lookup at;
  warp_view w = warp_over(v, s);
  look_everywhere(w, s, [&](slot_ref candidate) {
    if (!holds_key(candidate, key)) return false;
    at.found = candidate;
    return true;
  });
  if (at.found.state == nullptr) at.room = room_for(w, s);
  return at;
}

/// An empty slot of the key's, or nothing.
template <medium M, class Kind>
auto table<M, Kind>::room_for(const warp_view& w, const candidates& s) -> slot_ref {
  if (s.escape >= 0)
    return load(m_, *escape_slot(s.escape).state) == empty_state ? escape_slot(s.escape)
                                                                 : slot_ref();
  const std::uint32_t empty = ballot(w, empty_state);
  const int lane = places_.room_in(empty);
  if (lane < 0) return {};
  if (count_bits(empty) <= shape_.few_slots()) note_nearly_full();
  return slot_of(w, static_cast<unsigned>(lane));
}

/// Makes the room that was found the caller's, or other room of the key's. Returns false when there
/// is none.
template <medium M, class Kind>
bool table<M, Kind>::claim(const levels_view& v, const candidates& s, lookup& at) {
  // ends: each further round means that another writer got a slot
  while (at.room.state != nullptr) {
    if (claim(*at.room.state)) return true;
    at.room = room_for(warp_over(v, s), s);
  }
  return false;
}

/// Makes the slot the caller's, if it still is empty; durably so.
template <medium M, class Kind>
[[gnu::always_inline]] inline bool table<M, Kind>::claim(pm<std::uint64_t>& state) {
  if (!store_if(m_, state, empty_state, claimed_state)) [[unlikely]]
    return lost_claims_.fetch_add(1, std::memory_order_relaxed), false;
  if (leaving_.any_in(p_.offset_of(&state))) [[unlikely]] {
    [[maybe_unused]] durable left = persist(m_, extent_of(state), "gphash.claim.left");
  }
  return true;
}

// -------------------------------------------------------------------------------- stage and commit

template <medium M, class Kind>
template <class Decide>
auto table<M, Kind>::stage(const unit_type& u, const target_type& t, key_type key, Decide& decide,
                           change& c, status& answer, flushed& started) -> staged {
  using act = typename decision<value_type>::what;
  const levels_view& v = *u.levels;
  candidates s = candidates_of(t.hash);
  if (!counted()) [[unlikely]]
    count_places(v, s);
  c.stripe = &stripes_[u.stripe];
  lookup at = locate(v, s, key);
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
    case act::remove: stage_removal(at, c); return staged::ready;
    case act::keep: break;
  }
  return staged::nothing_to_do;
}

template <medium M, class Kind>
[[gnu::always_inline]] inline auto table<M, Kind>::stage_set(const levels_view& v,
                                                             const candidates& s, lookup& at,
                                                             key_type key, value_type value,
                                                             change& c, status& answer,
                                                             flushed& started) -> staged {
  bool update = at.found.state != nullptr;
  if (!update && !claim(v, s, at)) return staged::no_room;
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
  store_key(at.room, key);
  store(m_, *at.room.value, *value_word);
  c.value_apart = !shape_.one_line() && s.escape < 0;
  c.apart |= c.value_apart;
  return staged::ready;
}

template <medium M, class Kind>
void table<M, Kind>::store_key([[maybe_unused]] const slot_ref& at, [[maybe_unused]] key_type key) {
  if constexpr (Kind::fixed_key)
    for (unsigned n = 0; n < shape_.key_words(); ++n) store(m_, at.key[n], word_of_key(key, n));
}

/// What of it does not lie in the state's line, which ends before it or within it.
template <medium M, class Kind>
flushed table<M, Kind>::flush_key(const slot_ref& at) requires(Kind::fixed_key) {
  auto key = reinterpret_cast<std::uintptr_t>(at.key), end = key + shape_.key_bytes;
  key = std::max(key, align_up(reinterpret_cast<std::uintptr_t>(at.state) + 1, line_bytes));
  return key < end
             ? flush(m_, extent{reinterpret_cast<const void*>(key), end - key}, "gphash.write.key")
             : flushed();
}

template <medium M, class Kind>
void table<M, Kind>::stage_removal(const lookup& at, change& c) const {
  c.where = at.found;
  c.word = at.found.state;
  c.next = empty_state;
  c.records = -1;
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
  auto publish = [&]() __attribute__((always_inline)) {
    // COMMIT: the record appears, changes or goes
    return publish_unfenced(m_, *c.word, c.next, std::move(payload), "gphash.write.commit");
  };
  if (!tells_.load(std::memory_order_relaxed)) [[likely]]
    return publish();
  return publish_and_tell(c, publish);
}

/// In the bucket's copy and in the level that is coming too, if there is one.
template <medium M, class Kind>
template <class Publish>
[[gnu::noinline]] flushed table<M, Kind>::publish_and_tell(const change& c, Publish&& publish) {
  const levels_view& v = levels();  // those that were there when the stripe was locked
  const std::uint64_t words_per_bucket = shape_.bucket_words();
  unsigned l = 0;
  std::uint64_t word = 0;
  for (; l < v.count; ++l) {
    word = static_cast<std::uint64_t>(c.where.state - v.at[l].first);
    if (c.where.state >= v.at[l].first && word / words_per_bucket < v.at[l].buckets()) break;
  }
  if (l == v.count) return publish();  // an escape slot
  std::optional<bucket_cache::hold> copy;
  if (v.cache != nullptr) copy.emplace(*v.cache, v.first_bucket[l] + word / words_per_bucket);
  flushed started = coming_.is_begun() && l == v.count - 1
                        ? publish_twice(v.at[l], word / words_per_bucket, c, publish)
                        : publish();
  if (copy && !M::planted("gphash-a-copy-is-not-told"))
    copy->store(static_cast<unsigned>(word % words_per_bucket), load(m_, *c.where.state),
                load(m_, *c.where.value));
  return started;
}

template <medium M, class Kind>
[[gnu::always_inline]] inline flushed table<M, Kind>::flush_payload(const change& c) {
  flushed started;
  if (c.value_apart) started += flush_in_line(m_, *c.where.value, "gphash.write.value");
  if constexpr (Kind::fixed_key)
    if (c.records > 0) started += flush_key(c.where);
  return started;
}

/// Before the commit word is stored.
template <medium M, class Kind>
[[gnu::always_inline]] inline void table<M, Kind>::begin(const change& c) {
  if (c.records < 0) leaving_.begin(p_.offset_of(c.where.state));
  const bool in_vain = c.records > 0 && M::planted("gphash-insertions-leave-the-version");
  c.stripe->mark.begin(c.records != 0 && !in_vain);
}

template <medium M, class Kind>
[[gnu::always_inline]] inline void table<M, Kind>::end(const change& c, const durable& done) {
  c.stripe->mark.end(done);
  if (c.records == 0) return;
  if (c.records < 0) leaving_.end(p_.offset_of(c.where.state), done);
  std::atomic<std::int32_t>& sum = c.stripe->records;
  sum.store(sum.load(std::memory_order_relaxed) + c.records, std::memory_order_relaxed);
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
  g.locks.adopt(locks_[first.stripe]);
  while (g.locks.count() < keys.size() &&
         g.locks.try_lock(locks_[stripe_of(*g.levels, targets[g.locks.count()].hash)])) {}
  return g.locks.count();
}

}  // namespace durahash::gphash
