// CCEH: insert, update, removal (paper §4). group.hpp has groups of them.
//
// One write, under its stripe's lock:
//   insert   1  byte tables: record written, flushed, fenced
//     crash: its cell is unreachable, hence free
//            2  value word stored in a slot without a record
//               crash: nothing refers to it
//            3  COMMIT: the key word, in the same line, published
//               crash before: old state; after: new state
//   update   1  byte tables: record written, flushed, fenced
//            2  COMMIT: the value word published
//               crash before: old value; after: new value
//   removal  1  COMMIT: the key word becomes `empty` or `removed`
// The old record is retired: reused after its readers left. Words cost one flush and one fence,
// bytes one more fence.
//
// A slot that is overwritten may hold a stale record (C2): between 2 and 3 its old key word stands
// beside the new value. Nobody looks for that key in this segment, and all who copy records out of
// it leave stale ones behind (hole CCEH 10).
#pragma once

#include "engine/cceh/table.hpp"

namespace durahash::cceh {

// --------------------------------------------------------------------------------------- the locks

template <medium M, class Kind>
[[gnu::always_inline]] inline auto table<M, Kind>::target_of(key_type key) const noexcept
    -> target {
  [[maybe_unused]] const read_guard guard = reading();
  const target t = segments_.look_up(hash_of<Kind>(key, seeds_));
  prefetch_for_write(t.home);
  return t;
}

template <medium M, class Kind>
auto table<M, Kind>::lock_unit(const target& t, key_type key) -> segment {
  if (!escapes<Kind>(key)) [[likely]]
    return segments_.lock(t.hash);
  segments_.stripes()[stripes::of_escapes].lock.lock();
  return segments_.of_escapes();
}

// -------------------------------------------------------------------------------------- the window

/// Where the key's record is, or the first slot on its way that a new one can have: empty, removed
/// or stale (§3.3).
template <medium M, class Kind>
auto table<M, Kind>::walk(const segment& s, const window& w, key_type key) const -> lookup {
  lookup at;
  for (unsigned distance = 0; distance < w.buckets; ++distance) {
    bucket& b = w[distance];
    bucket_keys keys = keys_of(m_, b);
    std::uint32_t empty = match(keys, empty_word);
    for (std::uint32_t hits = match(keys, w.key_word); hits != 0;) {
      slot& candidate = b.slots[take_lowest(hits)];
      if (!names_key<Kind>(m_, p_, load(m_, candidate.value), key)) continue;
      at.found = &candidate;
      at.bucket_has_room = empty != 0;
      return at;
    }
    if (at.room == nullptr) {
      std::uint32_t open = empty != 0 ? empty : match(keys, removed_word);
      if (open == 0) open = reader_.stale_slots(s, b);
      if (open != 0) at.room = &b.slots[std::countr_zero(open)], at.room_is_away = distance > 0;
    }
    if (empty != 0 || (M::planted("cceh-insert-takes-the-first-room") && at.room != nullptr)) break;
  }
  return at;
}

// ------------------------------------------------------------------------------- the way of most

template <medium M, class Kind>
[[gnu::always_inline]] inline auto table<M, Kind>::lock_home(const target& t) const noexcept
    -> home_type {
  t.stripe->lock.lock();
  return t.stripe;
}

template <medium M, class Kind>
[[gnu::always_inline]] inline bool table<M, Kind>::is_settled(home_type locked,
                                                              const target& t) const noexcept {
  [[maybe_unused]] const read_guard guard = reading();
  return segments_.as_named(t) && segments_.marks().settled(locked->mark);
}

template <medium M, class Kind>
template <class Decide>
[[gnu::always_inline]] inline staged table<M, Kind>::stage_home(home_type locked, const target& t,
                                                                key_type key, Decide& decide,
                                                                change& c, status& answer,
                                                                flushed& started) {
  return stage_at_home(locked, t, key, decide, c, answer, [&](value_type value) {
    c.apart = !Kind::in_slot;
    return new_value_word<Kind>(m_, heap_, p_, key, value, started);
  });
}

/// As `walk` and `stage`, in registers; `word_of` makes the word of a new value. Stale slots are
/// left to them.
template <medium M, class Kind>
template <class Decide, class WordOf>
[[gnu::always_inline]] inline staged table<M, Kind>::stage_at_home(home_type locked,
                                                                   const target& t, key_type key,
                                                                   Decide& decide, change& c,
                                                                   status& answer, WordOf word_of) {
  using act = typename decision<value_type>::what;
  if (escapes<Kind>(key)) [[unlikely]]
    return staged::look_further;
  c.stripe = locked;
  lookup at;
  const std::uint64_t key_word = Kind::key_word(key, t.hash);
  bucket* b = t.home;
  for (unsigned left = segments_.shape().probe;; b = segments_.bucket_behind(b, t.entry)) {
    slot* const s = b->slots;
    const std::uint64_t word[] = {load(m_, s[0].key), load(m_, s[1].key), load(m_, s[2].key),
                                  load(m_, s[3].key)};
    auto first_of = [&](std::uint64_t wanted) __attribute__((always_inline)) {
      return word[0] == wanted   ? &s[0]
             : word[1] == wanted ? &s[1]
             : word[2] == wanted ? &s[2]
             : word[3] == wanted ? &s[3]
                                 : nullptr;
    };
    at.found = first_of(key_word);
    slot* const empty = first_of(empty_word);
    if (at.found != nullptr) {
      at.bucket_has_room = empty != nullptr;
      break;
    }
    if (at.room == nullptr) {
      at.room = empty != nullptr ? empty : first_of(removed_word);
      at.room_is_away = b != t.home;
    }
    if (empty != nullptr) break;
    if (M::planted("cceh-insert-takes-the-first-room") && at.room != nullptr) break;
    if (--left == 0) {
      if (at.room == nullptr) return staged::look_further;
      break;
    }
  }
  std::optional<value_type> present;
  if (at.found != nullptr) {
    present = frame::replaceable(load(m_, at.found->value), key, c);
    if (!present) [[unlikely]]
      return staged::look_further;
  }
  const decision<value_type> wanted = decide(present);
  answer = wanted.answer;
  if (wanted.act == act::keep) return staged::nothing_to_do;
  if (!may_set<Decide> || wanted.act == act::remove) return stage_removal(m_, at, c), staged::ready;
  if (at.found == nullptr && at.room_is_away) c.passes_full_buckets = true;
  const auto made = word_of(wanted.value);
  if (!made) [[unlikely]]
    return answer = status::no_space, staged::nothing_to_do;
  stage_value(m_, at, *made, key_word, c);
  return staged::ready;
}

// -------------------------------------------------------------------------------- stage and commit

template <medium M, class Kind>
template <class Decide>
staged table<M, Kind>::stage(const segment& s, const target& t, key_type key, Decide& decide,
                             change& c, status& answer, flushed& started) {
  using act = typename decision<value_type>::what;
  window w = segments_.window_for(s, t.hash, key);
  lookup at = walk(s, w, key);
  std::optional<value_type> present;
  if (at.found != nullptr && !(present = frame::replaceable(load(m_, at.found->value), key, c)))
    return answer = status::damaged, staged::nothing_to_do;
  decision<value_type> wanted = decide(present);
  answer = wanted.answer;
  if (wanted.act == act::keep) return staged::nothing_to_do;
  c.stripe = &segments_.stripes()[s.stripe];
  if (!may_set<Decide> || wanted.act == act::remove) return stage_removal(m_, at, c), staged::ready;
  if (at.found == nullptr && at.room == nullptr) return staged::no_room;
  auto value_word = new_value_word<Kind>(m_, heap_, p_, key, wanted.value, started);
  if (!value_word) return answer = status::no_space, staged::nothing_to_do;
  c.apart = !Kind::in_slot;
  stage_value(m_, at, *value_word, w.key_word, c);
  return staged::ready;
}

/// A new value for the record that was found, or a new record in the room that was found. All but
/// the commit word is stored.
template <medium M, class Change>
[[gnu::always_inline]] inline void stage_value(M& m, const lookup& at, std::uint64_t value_word,
                                               std::uint64_t key_word, Change& c) {
  if (at.found != nullptr) return stage_update(*at.found, value_word, c);
  if (M::planted("cceh-a-claimed-slot")) store(m, at.room->key, 0x5e17);
  c.where = at.room;
  c.records = 1;
  if (M::planted("cceh-the-key-before-the-value")) {
    store(m, at.room->key, key_word);
    c.word = &at.room->value, c.next = value_word;
    return;
  }
  store(m, at.room->value, value_word);
  c.word = &at.room->key;
  c.next = key_word;
}

template <class Change>
[[gnu::always_inline]] inline void stage_update(slot& s, std::uint64_t value_word, Change& c) {
  c.where = &s;
  c.word = &s.value;
  c.next = value_word;
}

template <medium M, class Change>
[[gnu::always_inline]] inline void stage_removal([[maybe_unused]] M& m, const lookup& at,
                                                 Change& c) {
  c.where = at.found;
  c.word = &at.found->key;
  c.next = at.bucket_has_room ? empty_word : removed_word;  // C3
  if (M::planted("cceh-a-full-bucket-gets-an-empty-slot")) c.next = empty_word;
  if (M::planted("cceh-a-removed-key-of-another-segment"))
    c.next = load(m, at.found->key) ^ std::uint64_t{1} << 63;
  c.records = -1;
}

/// Why the commit word of a change without a new record may follow what was stored before it.
template <medium M, class Kind>
[[gnu::always_inline]] inline ordered table<M, Kind>::payload_order(const change& c) const {
  return c.records > 0 ? after_same_line(*c.where) : after_nothing("one word is all that changes");
}

template <medium M, class Kind>
[[gnu::always_inline]] inline flushed table<M, Kind>::publish_change(const change& c,
                                                                     ordered payload) {
  bool version_first = M::planted("cceh-the-version-before-the-word");
  if (version_first && c.records < 0) c.stripe->outdate();
  // COMMIT: the record appears, changes or goes
  flushed started = publish_unfenced(m_, *c.word, c.next, std::move(payload), "cceh.write.commit");
  if (c.records < 0 && !version_first && !M::planted("cceh-removals-leave-the-version"))
    c.stripe->outdate();
  return started;
}

template <medium M, class Kind>
status table<M, Kind>::finish_write(const target&, const change& c, status answer) {
  if (c.wants_survey) [[unlikely]]
    return survey(c), answer;
  return answer;
}

template <medium M, class Kind>
[[gnu::always_inline]] inline void table<M, Kind>::end(change& c, const durable& done) {
  segments_.marks().end(c.stripe->mark, done);
  if (c.records != 0) c.stripe->add_records(c.records);
  c.wants_survey = c.records < 0 && c.stripe->survey_is_due();
}

}  // namespace durahash::cceh
