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

/// All lines of the home bucket are asked for: which slot's it will be is known too late.
template <medium M, class Kind>
[[gnu::always_inline]] inline auto table<M, Kind>::target_of(key_type key) const noexcept
    -> target_type {
  std::uint64_t hash = Kind::hash(key, seeds_);
  shard_view v = view(shard_of(hash));
  prefetch_all_for_write(buckets_of(v) + home_of(hash, v.log2_buckets()));
  return hash;
}

template <medium M, class Kind>
[[gnu::always_inline]] inline auto table<M, Kind>::lock_unit(target_type hash, key_type)
    -> unit_type {
  shard_index s = shard_of(hash);
  states_[s].lock.lock();
  return {s, view(s)};
}

// ---------------------------------------------------------------------------------------- the path

/// A new record goes to the first deleted slot on the path, else into the bucket that ends it
/// (§3.4).
template <medium M, class Kind>
auto table<M, Kind>::walk(shard_view v, std::uint64_t hash, key_type key) const -> lookup {
  lookup found;
  bucket* first = buckets_of(v);
  std::uint64_t home = home_of(hash, v.log2_buckets()), mask = v.buckets() - 1;
  std::uint64_t key_word = Kind::key_word(key, hash);
  unsigned scope = scope_in(v);
  for (unsigned distance = 0; distance < scope; ++distance) {
    bucket& b = first[(home + distance) & mask];
    meta_word meta = load(m_, b.meta);
    found.distance = distance;
    for (std::uint32_t hits = match_tags(b, tag_of(hash)) & meta.live(); hits != 0;) {
      int at = take_lowest(hits);
      if (load(m_, b.slots[at].key) != key_word ||
          !names_key<Kind>(m_, p_, load(m_, b.slots[at].value), key))
        continue;
      found.holder = &b, found.slot = at, found.meta = meta;
      return found;
    }
    bool takes_more = meta.ends_path() || M::planted("no-slot-kept-empty");
    std::uint32_t open = meta.deleted() != 0 ? meta.deleted() : takes_more ? meta.empty() : 0;
    if (found.room == nullptr && open != 0)
      found.room = &b, found.room_slot = std::countr_zero(open), found.room_meta = meta;
    if (meta.ends_path()) break;
  }
  return found;
}

// -------------------------------------------------------------------------------- stage and commit

template <medium M, class Kind>
template <class Decide>
staged table<M, Kind>::stage(unit_type u, std::uint64_t hash, key_type key, Decide& decide,
                             change& c, status& answer, flushed& started) {
  using act = typename decision<value_type>::what;
  c.shard = u.shard;
  lookup at = walk(u.view, hash, key);
  std::optional<value_type> present;
  if (at.holder != nullptr) {
    present = value_of<Kind>(m_, p_, load(m_, at.holder->slots[at.slot].value));
    if (!present || !at.meta.well_formed()) return answer = status::damaged, staged::nothing_to_do;
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
  bool update = at.holder != nullptr;
  if constexpr (Kind::in_slot)
    if (update && in_place_) {
      c.where = at.holder;
      c.value = &at.holder->slots[at.slot].value;
      c.value_word = value;
      return staged::ready;
    }
  if (!update && at.room == nullptr) return staged::no_room;
  if (!update && !at.room_meta.well_formed())
    return answer = status::damaged, staged::nothing_to_do;
  auto value_word = new_value_word<Kind>(m_, heap_, p_, key, value, started);
  if (!value_word) return answer = status::no_space, staged::nothing_to_do;
  std::uint64_t key_word = Kind::key_word(key, hash);
  if (update) return stage_update(at, hash, key_word, *value_word, c, started), staged::ready;
  store_slot(*at.room, at.room_slot, hash, key_word, *value_word, c, started);
  c.next = at.room_meta.with_filled(at.room_slot);
  c.records = 1;
  if (at.distance >= collect_distance_) states_[c.shard].wants_survey = true;
  return staged::ready;
}

/// In the slot that its bucket keeps empty (§3.4).
template <medium M, class Kind>
void table<M, Kind>::stage_update(const lookup& at, std::uint64_t hash, std::uint64_t key_word,
                                  std::uint64_t value_word, change& c, flushed& started) {
  int target = std::countr_zero(at.meta.empty());
  stage_removal(at, c);  // for what it retires
  store_slot(*at.holder, target, hash, key_word, value_word, c, started);
  c.next = at.meta.with_replaced(target, at.slot);
  c.records = 0;
}

template <medium M, class Kind>
void table<M, Kind>::stage_removal(const lookup& at, change& c) const {
  c.where = at.holder;
  c.next = at.meta.with_deleted(at.slot);
  c.records = -1;
  frame::replaces(load(m_, at.holder->slots[at.slot].value), c);
}

template <medium M, class Kind>
void table<M, Kind>::store_slot(bucket& b, int target, std::uint64_t hash, std::uint64_t key_word,
                                std::uint64_t value_word, change& c, flushed& started) {
  c.where = &b;
  c.filled = target;
  c.apart = !Kind::in_slot;
  slot& at = b.slots[target];
  store(m_, at.key, key_word);
  store(m_, at.value, value_word);
  pm<std::uint64_t>& tags = b.tags[target / 8];
  unsigned shift = static_cast<unsigned>(target % 8 * 8);
  store(m_, tags,
        (load(m_, tags) & ~(std::uint64_t{0xff} << shift)) | std::uint64_t{tag_of(hash)} << shift);
  if (target >= slots_in_first_line) {
    started += flush(m_, extent_of(at), "turbo.write.slot");
    c.apart = true;
  }
}

template <medium M, class Kind>
flushed table<M, Kind>::publish_change(const change& c, ordered payload) {
  if (c.value != nullptr)
    // COMMIT: the value changes
    return publish_unfenced(m_, *c.value, c.value_word, std::move(payload), "turbo.update.commit");
  // COMMIT: the record appears, changes or goes
  return publish_unfenced(m_, c.where->meta, c.next, std::move(payload), "turbo.write.commit");
}

/// Why a payload that was not flushed needs no fence of its own.
template <medium M, class Kind>
ordered table<M, Kind>::payload_order(const change& c) const {
  return c.filled >= 0 ? after_same_line(&c.where->meta, &c.where->slots[c.filled], sizeof(slot))
                       : after_nothing("one word is all that changes");
}

template <medium M, class Kind>
void table<M, Kind>::end(const change& c, const durable& done) {
  unsettled_.end(c.shard, done);
  shard_state& state = states_[c.shard];
  if (c.records != 0)
    state.records.store(state.records.load(std::memory_order_relaxed) + c.records,
                        std::memory_order_relaxed);
  if (state.wants_survey) if_memory_allows([&] { survey(c.shard); });
}

// ------------------------------------------------------------------------------------------ groups

template <medium M, class Kind>
void table<M, Kind>::look_ahead(std::span<const key_type> keys, target_type* hashes,
                                bool) const noexcept {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    hashes[i] = Kind::hash(keys[i], seeds_);
    shard_view v = view(shard_of(hashes[i]));
    prefetch_for_write(buckets_of(v) + home_of(hashes[i], v.log2_buckets()));
  }
  for (std::size_t i = 0; i < keys.size(); ++i) prefetch_room(view(shard_of(hashes[i])), hashes[i]);
}

/// A shard that this group holds already is also found locked.
template <medium M, class Kind>
std::size_t table<M, Kind>::lock_group(std::span<const key_type> keys, const target_type* hashes,
                                       group& g) {
  g.locks.lock(states_[shard_of(hashes[0])].lock);
  while (g.locks.count() < keys.size() &&
         g.locks.try_lock(states_[shard_of(hashes[g.locks.count()])].lock)) {}
  return g.locks.count();
}

/// Brings the line that a new record of this key would be written to.
template <medium M, class Kind>
void table<M, Kind>::prefetch_room(shard_view v, std::uint64_t hash) const noexcept {
  if (v.none()) return;
  bucket& b = buckets_of(v)[home_of(hash, v.log2_buckets())];
  meta_word meta = load(m_, b.meta);
  std::uint32_t hits = match_tags(b, tag_of(hash)) & meta.live();
  if (hits != 0) __builtin_prefetch(&b.slots[std::countr_zero(hits)]);
  if (meta.empty() != 0) prefetch_for_write(&b.slots[std::countr_zero(meta.empty())]);
}

}  // namespace durahash::turbo
