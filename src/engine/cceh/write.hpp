// CCEH: insert, update, removal (paper §4), and groups of them that share fences.
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
//
// A group writes the records of up to 64 keys, then one fence if there are some, then the slots and
// commit words of all, each seeing those before it, then one fence. Each record is atomic by
// itself; the group is not. All locks are taken before the first flush: a locked instruction
// between flushes waits for them.
#pragma once

#include "engine/cceh/table.hpp"

namespace durahash::cceh {

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

/// Whether the stripe of the key's segment is locked now: not when another thread, or this one,
/// holds it, and not when the segment has just become another stripe's. Under a read_guard.
template <medium M, class Kind>
[[gnu::always_inline]] inline bool table<M, Kind>::try_lock_for(const target& t, key_type key,
                                                                bool& as_named_before) {
  if (!escapes<Kind>(key)) [[likely]] {
    if (!t.stripe->lock.try_lock()) return false;
    if (segments_.as_named(t)) [[likely]]
      return as_named_before = true;
    t.stripe->lock.unlock();
  }
  segment seen = escapes<Kind>(key) ? segments_.of_escapes() : segments_.of(t.hash);
  if (!segments_.stripes()[seen.stripe].lock.try_lock()) return false;
  if (escapes<Kind>(key) || segments_.still_named(seen) ||
      segments_.of(t.hash).stripe == seen.stripe)
    return true;
  segments_.lock_of(seen).unlock();
  return false;
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
  if (!may_set<Decide> || wanted.act == act::remove) return stage_removal(at, c), staged::ready;
  if (at.found == nullptr && at.room_is_away) c.passes_full_buckets = true;
  const auto made = word_of(wanted.value);
  if (!made) [[unlikely]]
    return answer = status::no_space, staged::nothing_to_do;
  stage_value(at, *made, key_word, c);
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
  if (!may_set<Decide> || wanted.act == act::remove) return stage_removal(at, c), staged::ready;
  if (at.found == nullptr && at.room == nullptr) return staged::no_room;
  auto value_word = new_value_word<Kind>(m_, heap_, p_, key, wanted.value, started);
  if (!value_word) return answer = status::no_space, staged::nothing_to_do;
  c.apart = !Kind::in_slot;
  stage_value(at, *value_word, w.key_word, c);
  return staged::ready;
}

/// A new value for the record that was found, or a new record in the room that was found. All but
/// the commit word is stored.
template <medium M, class Kind>
[[gnu::always_inline]] inline void table<M, Kind>::stage_value(const lookup& at,
                                                               std::uint64_t value_word,
                                                               std::uint64_t key_word,
                                                               change& c) const {
  if (at.found != nullptr) return stage_update(*at.found, value_word, c);
  if (M::planted("cceh-a-claimed-slot")) store(m_, at.room->key, 0x5e17);
  c.where = at.room;
  c.records = 1;
  if (M::planted("cceh-the-key-before-the-value")) {
    store(m_, at.room->key, key_word);
    c.word = &at.room->value, c.next = value_word;
    return;
  }
  store(m_, at.room->value, value_word);
  c.word = &at.room->key;
  c.next = key_word;
}

template <medium M, class Kind>
[[gnu::always_inline]] inline void table<M, Kind>::stage_update(slot& s, std::uint64_t value_word,
                                                                change& c) const {
  c.where = &s;
  c.word = &s.value;
  c.next = value_word;
}

template <medium M, class Kind>
[[gnu::always_inline]] inline void table<M, Kind>::stage_removal(const lookup& at,
                                                                 change& c) const {
  c.where = at.found;
  c.word = &at.found->key;
  c.next = at.bucket_has_room ? empty_word : removed_word;  // C3
  if (M::planted("cceh-a-full-bucket-gets-an-empty-slot")) c.next = empty_word;
  if (M::planted("cceh-a-removed-key-of-another-segment"))
    c.next = load(m_, at.found->key) ^ std::uint64_t{1} << 63;
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
    return survey(segments_.stripes().index_of(c.stripe)), answer;
  return answer;
}

template <medium M, class Kind>
[[gnu::always_inline]] inline void table<M, Kind>::end(change& c, const durable& done) {
  segments_.marks().end(c.stripe->mark, done);
  if (c.records != 0) c.stripe->add_records(c.records);
  c.wants_survey = c.records < 0 && c.stripe->survey_is_due();
}

// ------------------------------------------------------------------------------------------ groups

template <medium M, class Kind>
void table<M, Kind>::look_ahead(std::span<const key_type> keys, target* targets,
                                bool) const noexcept {
  // no lock is held yet: segments and records that are looked at may be on their way out
  [[maybe_unused]] const read_guard guard = reading();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    targets[i] = target_of(keys[i]);
    prefetch_for_write(targets[i].stripe);
  }
  ask_for_records({targets, keys.size()});
}

template <medium M, class Kind>
std::size_t table<M, Kind>::lock_group(std::span<const key_type> keys, const target* targets,
                                       group& g) {
  g.locks.adopt(segments_.lock_of(lock_unit(targets[0], keys[0])));
  [[maybe_unused]] const read_guard guard = reading();  // nothing is waited for from here on
  g.as_named = !escapes<Kind>(keys[0]) && segments_.as_named(targets[0]);
  std::size_t locked = 1;
  for (; locked < keys.size(); ++locked) {
    const target& t = targets[locked];
    bool as_named_before = false;
    spin_lock* held = nullptr;
    if (try_lock_for(t, keys[locked], as_named_before)) {
      held = as_named_before ? &t.stripe->lock
                             : &segments_.lock_of(segments_.for_key(keys[locked], t.hash));
      g.locks.adopt(*held);
    } else if (g.locks.holds(segments_.lock_of(segments_.for_key(keys[locked], t.hash)))) {
      as_named_before = !escapes<Kind>(keys[locked]) && segments_.as_named(t);
    } else {
      break;  // another thread's
    }
    g.as_named |= std::uint64_t{as_named_before} << locked;
  }
  return locked;
}

template <medium M, class Kind>
template <class DecideOf>
void table<M, Kind>::begin_group(group& g, std::span<const key_type> keys, DecideOf& decide_of) {
  if constexpr (!Kind::in_slot) write_group_records(keys, decide_of, g);
}

/// The records of a group, durable together: what a batch sets does not depend on what is there.
/// Where there is no space for one, its word is 0.
template <medium M, class Kind>
template <class DecideOf>
void table<M, Kind>::write_group_records(std::span<const key_type> keys, DecideOf& decide_of,
                                         group& g) {
  flushed started;
  for (std::size_t n = 0; n < keys.size(); ++n) {
    decision<value_type> wanted = decide_of(n)(std::nullopt);
    if (wanted.act != decision<value_type>::what::set) return;  // removals
    std::optional<std::uint64_t> made;
    status answer = with_memory([&] {
      return made = new_value_word<Kind>(m_, heap_, p_, keys[n], wanted.value, started), status::ok;
    });
    g.value_words[n] = made.value_or(0);
    g.unused |= std::uint64_t{made.has_value()} << n;
    g.starved |= std::uint64_t{answer == status::out_of_memory} << n;
  }
  g.records_written = fence(m_, std::move(started), "cceh.group.payloads");
}

/// Visible at once: a later key of the group may be of the same segment.
template <medium M, class Kind>
template <class Decide>
[[gnu::always_inline]] inline staged table<M, Kind>::stage_in_group(std::size_t n, const target& t,
                                                                    key_type key, Decide& decide,
                                                                    group& g, status& answer) {
  const bool is_written = Kind::in_slot || !may_set<Decide> || (g.unused >> n & 1) != 0;
  if ((g.as_named >> n & 1) != 0 && is_written &&
      segments_.marks().settled_or_publishing(t.stripe->mark)) [[likely]] {
    const staged made =
        stage_at_home(t.stripe, t, key, decide, g.next(), answer,
                      [&]([[maybe_unused]] value_type value) -> std::optional<std::uint64_t> {
                        if constexpr (Kind::in_slot) return value;
                        else return g.value_words[n];
                      });
    if constexpr (!Kind::in_slot)
      if (made == staged::ready) g.unused &= ~(std::uint64_t{1} << n);
    if (made == staged::ready) publish_next(g);
    if (made != staged::look_further) [[likely]]
      return made;
  }
  return stage_long(n, t, key, decide, g, answer);
}

template <medium M, class Kind>
template <class Decide>
[[gnu::noinline]] staged table<M, Kind>::stage_long(std::size_t n, const target& t, key_type key,
                                                    Decide& decide, group& g, status& answer) {
  using act = typename decision<value_type>::what;
  const segment s = segments_.for_key(key, t.hash);
  settle(s);
  window w = segments_.window_for(s, t.hash, key);
  lookup at = walk(s, w, key);
  change& c = g.next();
  std::optional<value_type> present;
  if (at.found != nullptr && !(present = frame::replaceable(load(m_, at.found->value), key, c)))
    return answer = status::damaged, staged::nothing_to_do;
  decision<value_type> wanted = decide(present);
  answer = wanted.answer;
  if (wanted.act == act::keep) return staged::nothing_to_do;
  bool sets = may_set<Decide> && wanted.act == act::set;
  if (!Kind::in_slot && sets && (g.unused >> n & 1) == 0) {
    answer = (g.starved >> n & 1) != 0 ? status::out_of_memory : status::no_space;
    return staged::nothing_to_do;
  }
  if (at.found == nullptr && at.room == nullptr) return staged::no_room;
  if constexpr (Kind::in_slot) g.value_words[n] = wanted.value;
  c.stripe = &segments_.stripes()[s.stripe];
  c.passes_full_buckets = at.found == nullptr && at.room_is_away;
  if (sets) stage_value(at, g.value_words[n], w.key_word, c);
  else stage_removal(at, c);
  g.unused &= ~(std::uint64_t{1} << n);
  publish_next(g);
  return staged::ready;
}

template <medium M, class Kind>
[[gnu::always_inline]] inline void table<M, Kind>::publish_next(group& g) {
  change& c = *g.behind;
  // its stripe has begun: what the group has published there may not be durable
  if (c.passes_full_buckets && segments_.marks().publishing(c.stripe->mark) &&
      !M::planted("cceh-a-group-passes-what-it-has-just-filled")) [[unlikely]] {
    // C2: the full buckets on its way are full after a crash, too
    [[maybe_unused]] durable full = fence(m_, std::move(g.started), "cceh.group.full");
    g.started = {};
  }
  begin(c);
  g.started +=
      publish_change(c, g.records_written ? after_group(*g.records_written) : payload_order(c));
  g.keep_next();
}

template <medium M, class Kind>
void table<M, Kind>::commit_group(group& g) {
  if (g.all().empty()) return;
  durable done = fence(m_, std::move(g.started), "cceh.group.done");
  typename heap<M>::retiring several(heap_);
  for (change& c : g.all()) {
    end(c, done);
    g.wants_survey |= c.wants_survey;
    frame::retire_replaced(c, several);
  }
}

template <medium M, class Kind>
void table<M, Kind>::finish_group(group& g, std::size_t) {
  if constexpr (!Kind::in_slot)
    for (; g.unused != 0; g.unused &= g.unused - 1) {
      std::uint64_t offset = g.value_words[std::countr_zero(g.unused)];
      heap_.free(offset, record_at(m_, p_, offset)->bytes());
    }
  if (g.wants_survey) [[unlikely]]
    for (const change& c : g.all())
      if (c.wants_survey) survey(segments_.stripes().index_of(c.stripe));
}

}  // namespace durahash::cceh
