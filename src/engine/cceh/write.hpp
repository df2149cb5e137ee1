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

// --------------------------------------------------------------------------------------- the locks

/// The segment of a hash, locked: it stays what it is until it is unlocked. Its home bucket is
/// asked for on the way.
template <medium M, class Kind>
auto table<M, Kind>::lock_segment(std::uint64_t hash) -> segment {
  segment s = segment_of(hash);
  while (true) {  // ends: each further round means that a split or merge got on
    prefetch_for_write(&buckets_at(s.offset())[home_of(hash)]);
    stripes_[s.stripe].lock.lock();
    if (still_named(s)) [[likely]]
      return s;
    segment now = segment_of(hash);
    if (now.stripe == s.stripe) return now;
    lock_of(s).unlock();
    s = now;
  }
}

template <medium M, class Kind>
auto table<M, Kind>::lock_unit(target_type hash, key_type key) -> segment {
  if (!escapes(key)) [[likely]]
    return lock_segment(hash);
  stripes_[escape_stripe].lock.lock();
  return escape_segment();
}

/// The same, or nothing when another thread, or this one, holds it.
template <medium M, class Kind>
auto table<M, Kind>::try_lock_for(std::uint64_t hash, key_type key) -> std::optional<segment> {
  segment seen = escapes(key) ? escape_segment() : segment_of(hash);
  if (!stripes_[seen.stripe].lock.try_lock()) return std::nullopt;
  if (escapes(key)) return seen;
  segment s = still_named(seen) ? seen : segment_of(hash);
  if (s.stripe == seen.stripe) return s;
  lock_of(seen).unlock();
  return std::nullopt;
}

// -------------------------------------------------------------------------------------- the window

template <medium M, class Kind>
auto table<M, Kind>::window_for(const segment& s, std::uint64_t hash, key_type key) const noexcept
    -> window {
  return s.stripe == escape_stripe ? escape_window(key) : window_of(s, hash, key);
}

/// Where the key's record is, or the first slot on its way that a new one can have: empty, removed
/// or stale (§3.3).
template <medium M, class Kind>
auto table<M, Kind>::walk(const segment& s, const window& w, key_type key) const -> lookup {
  lookup at;
  for (unsigned distance = 0; distance < w.buckets; ++distance) {
    bucket& b = w[distance];
    bucket_keys keys = keys_of(b);
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
      if (open == 0) open = stale_slots(s, b);
      if (open != 0) at.room = &b.slots[std::countr_zero(open)], at.room_is_away = distance > 0;
    }
    if (empty != 0 || (M::planted("cceh-insert-takes-the-first-room") && at.room != nullptr)) break;
  }
  return at;
}

/// Of a bucket without an empty or removed slot.
template <medium M, class Kind>
std::uint32_t table<M, Kind>::stale_slots(const segment& s, const bucket& b) const {
  std::uint32_t found = 0;
  for (int i = 0; i < slots_per_bucket; ++i)
    found |= std::uint32_t{!s.owns(hash_of_slot(load(m_, b.slots[i].key)))} << i;
  return found;
}

// -------------------------------------------------------------------------------- stage and commit

template <medium M, class Kind>
template <class Decide>
staged table<M, Kind>::stage(const segment& s, std::uint64_t hash, key_type key, Decide& decide,
                             change& c, status& answer, flushed& started) {
  using act = typename decision<value_type>::what;
  window w = window_for(s, hash, key);
  lookup at = walk(s, w, key);
  std::optional<value_type> present;
  if (at.found != nullptr && !(present = value_of<Kind>(m_, p_, load(m_, at.found->value))))
    return answer = status::damaged, staged::nothing_to_do;
  decision<value_type> wanted = decide(present);
  answer = wanted.answer;
  if (wanted.act == act::keep) return staged::nothing_to_do;
  c.stripe = s.stripe;
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
void table<M, Kind>::stage_value(const lookup& at, std::uint64_t value_word, std::uint64_t key_word,
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
void table<M, Kind>::stage_update(slot& s, std::uint64_t value_word, change& c) const {
  c.where = &s;
  c.word = &s.value;
  c.next = value_word;
  frame::replaces(load(m_, s.value), c);
}

template <medium M, class Kind>
void table<M, Kind>::stage_removal(const lookup& at, change& c) const {
  c.where = at.found;
  c.word = &at.found->key;
  c.next = at.bucket_has_room ? empty_word : removed_word;  // C3
  if (M::planted("cceh-a-full-bucket-gets-an-empty-slot")) c.next = empty_word;
  if (M::planted("cceh-a-removed-key-of-another-segment"))
    c.next = load(m_, at.found->key) ^ std::uint64_t{1} << 63;
  c.records = -1;
  frame::replaces(load(m_, at.found->value), c);
}

/// Why the commit word of a change without a new record may follow what was stored before it.
template <medium M, class Kind>
ordered table<M, Kind>::payload_order(const change& c) const {
  return c.records > 0 ? after_same_line(&c.where->key, &c.where->value, sizeof c.where->value)
                       : after_nothing("one word is all that changes");
}

template <medium M, class Kind>
flushed table<M, Kind>::publish_change(const change& c, ordered payload) {
  bool version_first = M::planted("cceh-the-version-before-the-word");
  if (version_first && c.records < 0) outdate(c.stripe);
  // COMMIT: the record appears, changes or goes
  flushed started = publish_unfenced(m_, *c.word, c.next, std::move(payload), "cceh.write.commit");
  if (c.records < 0 && !version_first && !M::planted("cceh-removals-leave-the-version"))
    outdate(c.stripe);
  return started;
}

template <medium M, class Kind>
void table<M, Kind>::finish_write(target_type hash, const change& c) {
  if (c.wants_survey) if_memory_allows([&] { survey(hash); });
}

/// Reads of the stripe's segments that began before this are void (C6). Called when what took
/// something away is visible, and nothing has its place yet.
template <medium M, class Kind>
void table<M, Kind>::outdate(stripe_index stripe) noexcept {
  std::atomic<std::uint32_t>& version = stripes_[stripe].version;
  version.store(version.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

template <medium M, class Kind>
void table<M, Kind>::end(change& c, const durable& done) {
  unsettled_.end(c.stripe, done);
  if (c.records != 0) add_records(c.stripe, c.records);
  c.wants_survey = c.records < 0 && survey_is_due(c.stripe);
}

template <medium M, class Kind>
void table<M, Kind>::add_records(stripe_index stripe, std::int32_t records) noexcept {
  std::atomic<std::int32_t>& sum = stripes_[stripe].records;
  sum.store(sum.load(std::memory_order_relaxed) + records, std::memory_order_relaxed);
}

/// After a removal: whether to look if the segment could be merged.
template <medium M, class Kind>
bool table<M, Kind>::survey_is_due(stripe_index stripe) noexcept {
  if (stripe == escape_stripe) return false;
  stripe_state& state = stripes_[stripe];
  return ++state.removals >= (state.due != 0 ? state.due : slots_per_segment() / 4);
}

// ------------------------------------------------------------------------------------------ groups

template <medium M, class Kind>
void table<M, Kind>::look_ahead(std::span<const key_type> keys, target_type* hashes,
                                bool) const noexcept {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    hashes[i] = target_of(keys[i]);
    prefetch_for_write(&buckets_at(segment_of(hashes[i]).offset())[home_of(hashes[i])]);
  }
}

template <medium M, class Kind>
std::size_t table<M, Kind>::lock_group(std::span<const key_type> keys, const target_type* hashes,
                                       group& g) {
  g.held[0] = lock_unit(hashes[0], keys[0]);
  g.locks.adopt(lock_of(g.held[0]));
  std::size_t locked = 1;
  for (; locked < keys.size(); ++locked) {
    segment& s = g.held[locked];
    if (auto made = try_lock_for(hashes[locked], keys[locked])) {
      s = *made;
      g.locks.adopt(lock_of(s));
      continue;
    }
    s = escapes(keys[locked]) ? escape_segment() : segment_of(hashes[locked]);
    // another thread's
    if (std::none_of(g.held, g.held + locked,
                     [&](const segment& h) { return h.stripe == s.stripe; }))
      break;
  }
  return locked;
}

template <medium M, class Kind>
template <class DecideOf>
void table<M, Kind>::begin_group(group& g, std::span<const key_type> keys, DecideOf& decide_of) {
  for (std::size_t n = 0; n < keys.size(); ++n) settle(g.held[n]);
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
[[gnu::always_inline]] inline staged table<M, Kind>::stage_in_group(std::size_t n, target_type hash,
                                                                    key_type key, Decide& decide,
                                                                    group& g, status& answer) {
  using act = typename decision<value_type>::what;
  const segment& s = g.held[n];
  window w = window_for(s, hash, key);
  lookup at = walk(s, w, key);
  std::optional<value_type> present;
  if (at.found != nullptr && !(present = value_of<Kind>(m_, p_, load(m_, at.found->value))))
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
  auto beside_others = [&] {
    return std::any_of(g.changes, g.changes + g.ready,
                       [&](const change& c) { return c.stripe == s.stripe; });
  };
  if (at.room_is_away && beside_others() &&
      !M::planted("cceh-a-group-passes-what-it-has-just-filled")) [[unlikely]] {
    // C2: the full buckets on its way are full after a crash, too
    [[maybe_unused]] durable full = fence(m_, std::move(g.started), "cceh.group.full");
    g.started = {};
  }
  if constexpr (Kind::in_slot) g.value_words[n] = wanted.value;
  change& c = g.changes[g.ready++] = {};
  c.stripe = s.stripe;
  if (sets) stage_value(at, g.value_words[n], w.key_word, c);
  else stage_removal(at, c);
  g.unused &= ~(std::uint64_t{1} << n);
  begin(c);
  g.started +=
      publish_change(c, g.records_written ? after_group(*g.records_written) : payload_order(c));
  return staged::ready;
}

template <medium M, class Kind>
void table<M, Kind>::commit_group(group& g) {
  if (g.ready == 0) return;
  durable done = fence(m_, std::move(g.started), "cceh.group.done");
  for (change& c : g.all()) {
    end(c, done);
    frame::retire_replaced(c);
  }
}

template <medium M, class Kind>
void table<M, Kind>::finish_group(group& g, std::size_t) {
  if constexpr (!Kind::in_slot)
    for (; g.unused != 0; g.unused &= g.unused - 1) {
      std::uint64_t offset = g.value_words[std::countr_zero(g.unused)];
      heap_.free(offset, record_at(m_, p_, offset)->bytes());
    }
  for (const change& c : g.all()) finish_write(std::uint64_t{c.stripe} << (64 - stripe_bits), c);
}

}  // namespace durahash::cceh
