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
  std::uint64_t hash = hash_of(key);
  warp_over(levels(), candidates_of(hash));
  return hash;
}

/// The levels stay what they are until the stripe is unlocked.
template <medium M, class Kind>
auto table<M, Kind>::lock_unit(target_type hash, key_type) -> unit_type {
  while (true) {  // ends: each further round means that the levels were replaced
    const levels_view& v = levels();
    stripe_index stripe = stripe_of(v, hash);
    locks_[stripe].lock();
    if (&levels() == &v) return {&v, stripe};
    locks_[stripe].unlock();
  }
}

template <medium M, class Kind>
held_lock table<M, Kind>::held_by(unit_type u) const noexcept {
  if (M::planted("gphash-two-writers-of-one-key")) {
    locks_[u.stripe].unlock();
    return {};
  }
  return held_lock(locks_[u.stripe]);
}

// --------------------------------------------------------------------------------------- the place

/// Where the key is; else where there is room for it.
template <medium M, class Kind>
auto table<M, Kind>::locate(const levels_view& v, const candidates& s, key_type key) const
    -> lookup {
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
auto table<M, Kind>::room_for(const warp_view& w, const candidates& s) const -> slot_ref {
  if (s.escape >= 0)
    return load(m_, *escape_slot(s.escape).state) == empty_state ? escape_slot(s.escape)
                                                                 : slot_ref();
  int lane = places_.room_in(ballot(w, empty_state));
  return lane < 0 ? slot_ref() : slot_of(w, static_cast<unsigned>(lane));
}

/// Makes the room that was found the caller's, or other room of the key's. Returns false when there
/// is none.
template <medium M, class Kind>
bool table<M, Kind>::claim(const levels_view& v, const candidates& s, lookup& at) {
  // ends: each further round means that another writer got a slot
  while (at.room.state != nullptr) {
    if (store_if(m_, *at.room.state, empty_state, claimed_state)) {
      if (leaving_.any_in(p_.offset_of(at.room.state))) [[unlikely]] {
        [[maybe_unused]] durable left = persist(m_, extent_of(*at.room.state), "gphash.claim.left");
      }
      return true;
    }
    lost_claims_.fetch_add(1, std::memory_order_relaxed);
    at.room = room_for(warp_over(v, s), s);
  }
  return false;
}

// -------------------------------------------------------------------------------- stage and commit

template <medium M, class Kind>
template <class Decide>
auto table<M, Kind>::stage(unit_type u, target_type hash, key_type key, Decide& decide, change& c,
                           status& answer, flushed& started) -> staged {
  using act = typename decision<value_type>::what;
  const levels_view& v = *u.levels;
  candidates s = candidates_of(hash);
  c.stripe = u.stripe;
  lookup at = locate(v, s, key);
  std::optional<value_type> present;
  if (at.found.state != nullptr && !(present = value_of<Kind>(m_, p_, load(m_, *at.found.value))))
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
  if (!update) {
    if (!M::planted("gphash-insertions-leave-the-version")) outdate(c.stripe);
    if (!claim(v, s, at)) return staged::no_room;
  }
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
    frame::replaces(load(m_, *at.found.value), c);
    return staged::ready;
  }
  c.where = at.room;
  c.word = at.room.state;
  c.next = s.fingerprint;
  c.inserts = true;
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
flushed table<M, Kind>::flush_key(const slot_ref& at) {
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
  c.removal = true;
  frame::replaces(load(m_, *at.found.value), c);
}

/// Why the commit word of a change may follow what was stored before it, if that was not flushed.
template <medium M, class Kind>
ordered table<M, Kind>::payload_order(const change& c) const {
  return c.inserts ? after_same_line(c.where.state, c.where.value, sizeof *c.where.value)
                   : after_nothing("one word is all that changes");
}

/// The commit word is stored, in the bucket's copy too if there is one.
template <medium M, class Kind>
flushed table<M, Kind>::publish_change(const change& c, ordered payload) {
  const levels_view& v = levels();  // as they were when the stripe was locked
  std::optional<bucket_cache::hold> copy;
  unsigned slot = 0;
  for (unsigned l = 0; v.cache != nullptr && l < v.count; ++l) {
    auto word = static_cast<std::uint64_t>(c.where.state - v.at[l].first),
         words_per_bucket = std::uint64_t{2} << shape_.slots_log2;
    if (c.where.state < v.at[l].first || word / words_per_bucket >= v.at[l].buckets()) continue;
    copy.emplace(*v.cache, v.first_in_cache[l] + word / words_per_bucket);
    slot = static_cast<unsigned>(word % words_per_bucket);
    break;
  }
  // COMMIT: the record appears, changes or goes
  flushed started =
      publish_unfenced(m_, *c.word, c.next, std::move(payload), "gphash.write.commit");
  if (copy && !M::planted("gphash-a-copy-is-not-told"))
    copy->store(slot, load(m_, *c.where.state), load(m_, *c.where.value));
  return started;
}

template <medium M, class Kind>
flushed table<M, Kind>::flush_payload(const change& c) {
  flushed started =
      c.value_apart ? flush(m_, extent_of(*c.where.value), "gphash.write.value") : flushed();
  if constexpr (Kind::fixed_key)
    if (c.inserts) started += flush_key(c.where);
  return started;
}

/// Before the commit word is stored.
template <medium M, class Kind>
void table<M, Kind>::begin(const change& c) {
  if (c.removal) {
    outdate(c.stripe);
    leaving_.begin(p_.offset_of(c.where.state));
  }
  unsettled_.begin(c.stripe);
}

template <medium M, class Kind>
void table<M, Kind>::end(const change& c, const durable& done) {
  unsettled_.end(c.stripe, done);
  if (c.removal) leaving_.end(p_.offset_of(c.where.state), done);
  if (c.inserts || c.removal) {
    auto& records = stripes_[c.stripe].records;
    records.store(records.load(std::memory_order_relaxed) + (c.inserts ? 1 : -1),
                  std::memory_order_relaxed);
  }
}

// ------------------------------------------------------------------------------------------ groups

template <medium M, class Kind>
void table<M, Kind>::look_ahead(std::span<const key_type> keys, target_type* hashes, bool) {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    hashes[i] = target_of(keys[i]);
  }
}

/// A stripe that this group holds already is also found locked.
template <medium M, class Kind>
std::size_t table<M, Kind>::lock_group(std::span<const key_type> keys, const target_type* hashes,
                                       group& g) {
  unit_type first = lock_unit(hashes[0], keys[0]);
  g.levels = first.levels;
  g.locks.adopt(locks_[first.stripe]);
  while (g.locks.count() < keys.size() &&
         g.locks.try_lock(locks_[stripe_of(*g.levels, hashes[g.locks.count()])])) {}
  return g.locks.count();
}

}  // namespace durahash::gphash
