// TurboHash: insert, near-place update, delete (paper §3.4, algorithms 2-4), and groups of them
// that share fences.
//
// One write, under its shard's lock:
//   1  payload (record, slot, tag) stored where no reader looks
//      crash: nothing refers to it; a record's cell is unreachable, hence free
//   2  payload flushed and fenced, unless it lies in the commit word's line
//   3  COMMIT: the bucket's meta word published
//      crash before: old state; after: new state; old and new version swap in one word
//   4  the old record is retired: reused after its readers left
//      crash: unreachable, hence free
//
// A u64 value is one word, and an update of it needs no new slot: one fence.
//   1  COMMIT: the value word stored, flushed, fenced
//      crash before: old value; after: new value
// Departs from the paper, whose values are 16-byte items; the setting in_place=0 brings near-place
// update back (docs/explanation/engines/turbo.md).
//
// A group does step 1 for up to 64 keys in as many shards, then one fence, step 3 for all, one
// fence. Each record is atomic by itself; the group is not. All locks are taken before the first
// flush: a locked instruction between flushes waits for them.
#pragma once

#include "engine/turbo/table.hpp"

namespace durahash::turbo {

template <medium M, class Kind>
[[gnu::always_inline]] inline auto table<M, Kind>::look_up(key_type key,
                                                           std::uint64_t nodes) const noexcept
    -> target_type {
  const std::uint64_t hash = Kind::hash(key, seeds_);
  const split_hash h = split(hash, nodes);
  shard_state* const state = &shards_[h.shard];
  const shard_view v = state->mirror.view();
  return {hash, state, v, shards_.home_in(v, h)};
}

/// The bucket's first line, and the one where the record is or will be if it has room.
template <medium M, class Kind>
[[gnu::always_inline]] inline void table<M, Kind>::ask_for_home(
    const target_type& target) const noexcept {
  prefetch_for_write(target.home);
  prefetch_for_write(near_line(target.home, target.hash));
}

template <medium M, class Kind>
[[gnu::always_inline]] inline auto table<M, Kind>::target_of(key_type key) const noexcept
    -> target_type {
  const target_type t = look_up(key, shards_.nodes_to_begin_at());
  ask_for_home(t);
  return t;
}

/// Of the node where the search begins: no shard, perhaps, and not settled then.
template <medium M, class Kind>
[[gnu::always_inline]] inline auto table<M, Kind>::lock_home(const target_type& target) noexcept
    -> unit_type {
  target.state->lock.lock();
  return {target.state, target.state->mirror.view()};
}

template <medium M, class Kind>
[[gnu::always_inline]] inline auto table<M, Kind>::lock_unit(const target_type& target, key_type)
    -> unit_type {
  const unit_type u = lock_home(target);
  if (!u.view.elsewhere()) [[likely]]
    return u;
  u.state->lock.unlock();
  return lock_leaf(target.hash);
}

template <medium M, class Kind>
[[gnu::noinline]] auto table<M, Kind>::lock_leaf(std::uint64_t hash) noexcept -> unit_type {
  while (true) {  // ends: each further round means that the shard was split
    const shard_index s = shards_.leaf_of(hash);
    shards_[s].lock.lock();
    if (!view(s).elsewhere()) return unit_at(s);
    shards_[s].lock.unlock();
  }
}

/// The key's home bucket in the array that the shard has now.
template <medium M, class Kind>
[[gnu::always_inline]] inline bucket* table<M, Kind>::home_under_lock(
    const unit_type& u, const target_type& target) const noexcept {
  if (u.view.word == target.view.word) [[likely]]
    return target.home;
  const shard_index s = shards_.index_of(u.state);
  return shards_.home_in(u.view, {s, rest_in(s, target.hash)});
}

// --------------------------------------------------------------------------------- the home bucket

/// A write that ends in the home bucket, which most do; or `look_further`.
template <medium M, class Kind>
template <class Decide>
[[gnu::always_inline]] inline staged table<M, Kind>::stage_home(const unit_type& u,
                                                                const target_type& target,
                                                                key_type key, Decide& decide,
                                                                change& c, status& answer,
                                                                flushed& started) {
  using act = typename decision<value_type>::what;
  const std::uint64_t hash = target.hash;
  bucket& b = *home_under_lock(u, target);
  const meta_word meta = load(m_, b.meta);
  c.state = u.state, c.view = u.view;
  const std::uint64_t key_word = Kind::key_word(key, hash);
  if (const std::uint32_t hits = find_in(m_, b, meta, match_valid(m_, b, meta, hash), key_word);
      hits != 0) {
    const std::size_t i = first_of(hits);
    slot& at = slot_in(b, i);
    const std::optional<value_type> present = frame::replaceable(load(m_, at.value), key, c);
    if (!present || (!Kind::in_slot && !meta.well_formed())) [[unlikely]]
      return staged::look_further;
    const decision<value_type> wanted = decide(present);
    answer = wanted.answer;
    if (wanted.act == act::keep) return staged::nothing_to_do;
    if (may_set<Decide> && wanted.act == act::set) {
      if constexpr (Kind::in_slot) {
        if (!in_place_) [[unlikely]]
          return staged::look_further;
        c.word = &at.value, c.next = wanted.value;
        return staged::ready;
      }
      const auto made = new_value_word<Kind>(m_, heap_, p_, key, wanted.value, started);
      if (!made) [[unlikely]]
        return answer = status::no_space, staged::nothing_to_do;
      const std::size_t empty = best_of(meta.empty(), hash);
      store_slot(b, empty, hash, key_word, *made, c);
      c.next = meta.with_replaced(empty, i).bits;
      return staged::ready;
    }
    if (Kind::in_slot && !meta.well_formed()) [[unlikely]]
      return staged::look_further;
    c.word = commit_word(b), c.next = meta.with_deleted(i).bits, c.records = -1;
    return staged::ready;
  }
  if (!meta.ends_path() || !meta.well_formed()) return staged::look_further;
  const decision<value_type> wanted = decide(std::optional<value_type>());
  answer = wanted.answer;
  if (!may_set<Decide> || wanted.act != act::set) return staged::nothing_to_do;
  const auto made = new_value_word<Kind>(m_, heap_, p_, key, wanted.value, started);
  if (!made) [[unlikely]]
    return answer = status::no_space, staged::nothing_to_do;
  const std::size_t i = best_of(open_in(meta), hash);
  store_slot(b, i, hash, key_word, *made, c);
  c.next = meta.with_filled(i).bits, c.records = 1;
  return staged::ready;
}

// ---------------------------------------------------------------------------------------- the path

/// A new record goes to the first deleted slot on the path, else into the bucket that ends it
/// (§3.4). A call: what leads to it keeps its registers.
template <medium M, class Kind>
[[gnu::noinline]] auto table<M, Kind>::walk(shard_view v, const bucket* home, std::uint64_t hash,
                                            key_type key) const -> lookup {
  lookup found;
  if (v.none()) return found;
  const std::uint64_t mask = v.bytes() - 1, key_word = Kind::key_word(key, hash);
  char* const first = shards_.bytes_of(v);
  auto at_byte = static_cast<std::uint64_t>(reinterpret_cast<const char*>(home) - first);
  bucket* room = nullptr;
  unsigned n = 0;
  for (const unsigned last = scope_in(v) - 1;; ++n, at_byte = (at_byte + block_bytes) & mask) {
    bucket& b = *reinterpret_cast<bucket*>(first + at_byte);
    const meta_word meta = load(m_, b.meta);
    for (std::uint32_t hits = match_valid(m_, b, meta, hash);
         (hits = find_in(m_, b, meta, hits, key_word)) != 0; hits &= hits - 1)
      if (names_key<Kind>(m_, p_, load(m_, slot_in(b, first_of(hits)).value), key)) [[likely]]
        return {&b, static_cast<std::uint32_t>(first_of(hits)), n};
    const bool ends = meta.ends_path();
    const bool takes_more = ends || meta.deleted() != 0 || M::planted("no-slot-kept-empty");
    if (takes_more && room == nullptr && open_in(meta) != 0) room = &b;
    if (ends || n == last) break;
  }
  found.at = room, found.distance = n;
  return found;
}

// -------------------------------------------------------------------------------- stage and commit

template <medium M, class Kind>
template <class Decide>
[[gnu::always_inline]] inline staged table<M, Kind>::stage(const unit_type& u,
                                                           const target_type& target, key_type key,
                                                           Decide& decide, change& c,
                                                           status& answer, flushed& started) {
  using act = typename decision<value_type>::what;
  const std::uint64_t hash = target.hash;
  if (u.view.elsewhere()) [[unlikely]]
    return staged::no_room;                            // of a group: it is written by itself
  c.state = u.state, c.view = u.state->mirror.view();  // settled by now
  const lookup at = walk(u.view, home_under_lock(u, target), hash, key);
  std::optional<value_type> present;
  if (at.found()) {
    present = frame::replaceable(load(m_, slot_in(*at.at, at.slot).value), key, c);
    if (!present || !load(m_, at.at->meta).well_formed())
      return answer = status::damaged, staged::nothing_to_do;
  }
  decision<value_type> wanted = decide(present);
  answer = wanted.answer;
  switch (wanted.act) {
    case act::set:
      if constexpr (may_set<Decide>)
        return stage_set(at, hash, key, wanted.value, c, answer, started);
      break;
    case act::remove: stage_removal(at, c); return staged::ready;
    case act::keep: break;
  }
  return staged::nothing_to_do;
}

template <medium M, class Kind>
[[gnu::always_inline]] inline staged table<M, Kind>::stage_set(const lookup& at, std::uint64_t hash,
                                                               key_type key, value_type value,
                                                               change& c, status& answer,
                                                               flushed& started) {
  const bool update = at.found();
  if constexpr (Kind::in_slot)
    if (update && in_place_) {
      c.word = &slot_in(*at.at, at.slot).value;
      c.next = value;
      return staged::ready;
    }
  if (at.at == nullptr) return staged::no_room;
  const meta_word meta = load(m_, at.at->meta);
  if (!meta.well_formed()) return answer = status::damaged, staged::nothing_to_do;
  const auto value_word = new_value_word<Kind>(m_, heap_, p_, key, value, started);
  if (!value_word) return answer = status::no_space, staged::nothing_to_do;
  const std::uint64_t key_word = Kind::key_word(key, hash);
  if (update) return stage_update(at, hash, key_word, *value_word, c), staged::ready;
  const std::size_t open = best_of(open_in(meta), hash);
  store_slot(*at.at, open, hash, key_word, *value_word, c);
  c.next = meta.with_filled(open).bits;
  c.records = 1;
  c.wants_survey = at.distance >= collect_distance_;
  return staged::ready;
}

/// In the slot that its bucket keeps empty (§3.4).
template <medium M, class Kind>
void table<M, Kind>::stage_update(const lookup& at, std::uint64_t hash, std::uint64_t key_word,
                                  std::uint64_t value_word, change& c) {
  const meta_word meta = load(m_, at.at->meta);
  const std::size_t target = best_of(meta.empty(), hash);
  store_slot(*at.at, target, hash, key_word, value_word, c);
  c.next = meta.with_replaced(target, at.slot).bits;
}

template <medium M, class Kind>
void table<M, Kind>::stage_removal(const lookup& at, change& c) const {
  c.word = commit_word(*at.at);
  c.next = load(m_, at.at->meta).with_deleted(at.slot).bits;
  c.records = -1;
}

template <medium M, class Kind>
[[gnu::always_inline]] inline void table<M, Kind>::store_slot(bucket& b, std::size_t target,
                                                              std::uint64_t hash,
                                                              std::uint64_t key_word,
                                                              std::uint64_t value_word, change& c) {
  slot& at = slot_in(b, target);
  store(m_, at.key, key_word);
  store(m_, at.value, value_word);
  store(m_, tag_field(b, target), tag_of(hash));
  c.word = commit_word(b);
  c.filled = &at;
  c.apart = !Kind::in_slot || target >= slots_in_first_line;
}

template <medium M, class Kind>
[[gnu::always_inline]] inline flushed table<M, Kind>::flush_payload(const change& c) const {
  if (!c.apart || (!Kind::in_slot && in_one_line(c.word, c.filled))) return {};
  return flush_in_line(m_, *c.filled, "turbo.write.slot");
}

template <medium M, class Kind>
[[gnu::always_inline]] inline flushed table<M, Kind>::publish_change(const change& c,
                                                                     ordered payload) {
  // COMMIT: the record appears, changes or goes
  return publish_unfenced(m_, *c.word, c.next, std::move(payload), "turbo.write.commit");
}

/// Why a payload that was not flushed needs no fence of its own.
template <medium M, class Kind>
[[gnu::always_inline]] inline ordered table<M, Kind>::payload_order(const change& c) const {
  return c.filled != nullptr ? after_same_line(c.word, c.filled, sizeof(slot))
                             : after_nothing("one word is all that changes");
}

template <medium M, class Kind>
template <class LetGo>
[[gnu::always_inline]] inline void table<M, Kind>::end(const change& c, const durable& done,
                                                       LetGo&& let_go) {
  c.state->mirror.end_publishing(c.view, done);
  if (c.records == 0) return;
  std::atomic<std::int32_t>& sum = c.state->records;
  sum.store(sum.load(std::memory_order_relaxed) + c.records, std::memory_order_relaxed);
  if (c.wants_survey) [[unlikely]] {  // after an insert
    let_go();
    if_memory_allows([this, s = c.state] { survey(shards_.index_of(s)); });
  }
}

// ------------------------------------------------------------------------------------------ groups

/// All begin at one level: the same key twice has the same lock, and a group has it once. A split
/// that moves the level on leaves the first of two to be written behind its group. Of records in
/// two passes: the slot tells which one's lines are needed.
template <medium M, class Kind>
void table<M, Kind>::look_ahead(std::span<const key_type> keys, target_type* targets,
                                bool) const noexcept {
  // no lock is held yet: arrays and records that are looked at may be on their way out
  [[maybe_unused]] const read_guard guard = reading();
  const std::uint64_t nodes = shards_.nodes_to_begin_at();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const target_type t = targets[i] = look_up(keys[i], nodes);
    ask_for_home(t);
  }
  if constexpr (!Kind::in_slot)
    for (const target_type& t : std::span(targets, keys.size())) {
      const std::uint32_t hits = match_valid(m_, *t.home, load(m_, t.home->meta), t.hash);
      if (hits != 0) prefetch_record(p_, load(m_, t.home->slots[std::countr_zero(hits)].value));
    }
}

/// A shard that this group holds already is also found locked.
template <medium M, class Kind>
std::size_t table<M, Kind>::lock_group(std::span<const key_type> keys, const target_type* targets,
                                       group& g) {
  return g.locks.lock_first(
      keys.size(), [targets](std::size_t i) -> spin_lock& { return targets[i].state->lock; });
}

}  // namespace durahash::turbo
