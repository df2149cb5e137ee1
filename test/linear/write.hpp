// Linear: insert, update, removal, and groups of them that share fences.
#pragma once

#include "test/linear/table.hpp"

namespace durahash::linear {

template <medium M, class Kind>
auto table<M, Kind>::lock_unit(target_type hash, key_type) -> array {
  prefetch_for_write(&current()[current().home_of(hash)]);
  lock_.lock();
  return current();
}

template <medium M, class Kind>
template <class Decide>
staged table<M, Kind>::stage(const array& a, target_type hash, key_type key, Decide& decide,
                             change& c, status& answer, flushed& started) {
  using act = typename decision<value_type>::what;
  lookup at = walk(a, hash, key);
  if (at.damaged) return answer = status::damaged, staged::nothing_to_do;
  std::optional<value_type> present;
  if (at.found != nullptr) present = frame::replaceable(load(m_, at.found->value), key, c);
  decision<value_type> wanted = decide(present);
  answer = wanted.answer;
  if (wanted.act == act::keep) return staged::nothing_to_do;
  if (!may_set<Decide> || wanted.act == act::remove)
    return stage_removal(*at.found, c), staged::ready;
  if (at.found == nullptr && at.room == nullptr) return staged::no_room;
  auto value_word = new_value_word<Kind>(m_, heap_, p_, key, wanted.value, started);
  if (!value_word) return answer = status::no_space, staged::nothing_to_do;
  c.apart = !Kind::in_slot;
  if (at.found != nullptr) return stage_update(*at.found, *value_word, c), staged::ready;
  store(m_, at.room->key, Kind::key_word(key, hash));
  store(m_, at.room->value, *value_word);
  c.where = at.room;
  c.word = &at.room->state;
  c.next = state_live;
  c.records = 1;
  return staged::ready;
}

template <medium M, class Kind>
void table<M, Kind>::stage_update(slot& s, std::uint64_t value_word, change& c) const {
  c.where = &s;
  c.word = &s.value;
  c.next = value_word;
}

template <medium M, class Kind>
void table<M, Kind>::stage_removal(slot& s, change& c) const {
  c.where = &s;
  c.word = &s.state;
  c.next = M::planted("linear-a-removal-leaves-an-empty-slot") ? state_empty : state_removed;  // N3
  c.records = -1;
}

/// Why the commit word of a change without a new record may follow what was stored before it.
template <medium M, class Kind>
ordered table<M, Kind>::payload_order(const change& c) const {
  return c.records > 0 ? after_same_line(&c.where->state, &c.where->key, 2 * sizeof c.where->key)
                       : after_nothing("one word is all that changes");
}

template <medium M, class Kind>
flushed table<M, Kind>::publish_change(const change& c, ordered payload) {
  // COMMIT: the record appears, changes or goes
  flushed started =
      publish_unfenced(m_, *c.word, c.next, std::move(payload), "linear.write.commit");
  if (c.records < 0 && !M::planted("linear-a-removal-leaves-the-version")) outdate();
  return started;
}

template <medium M, class Kind>
void table<M, Kind>::end(const change& c, const durable& done) {
  unsettled_.end(0, done);
  records_.store(records_.load(std::memory_order_relaxed) + c.records, std::memory_order_relaxed);
}

/// Reads that began before this are void (N6).
template <medium M, class Kind>
void table<M, Kind>::outdate() noexcept {
  version_.store(version_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

// ------------------------------------------------------------------------------------------ groups

template <medium M, class Kind>
void table<M, Kind>::look_ahead(std::span<const key_type> keys, target_type* hashes,
                                bool) const noexcept {
  array a = current();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    hashes[i] = target_of(keys[i]);
    __builtin_prefetch(&a[a.home_of(hashes[i])]);
  }
}

template <medium M, class Kind>
std::size_t table<M, Kind>::lock_group(std::span<const key_type> keys, const target_type*,
                                       group& g) {
  g.locks.lock(lock_);
  g.held = current();
  return keys.size();
}

/// Whether a slot of the key's path has a change that is staged: it may be the key's own, or one
/// that is not empty for this group alone, behind which nothing may lie yet (N2).
template <medium M, class Kind>
bool table<M, Kind>::ends_before(const group& g, target_type hash) const {
  if (M::planted("linear-a-group-passes-what-it-has-staged")) return false;
  const array& a = g.held;
  for (std::uint64_t n = 0; n < reach_in(a); ++n) {
    const slot& s = a[a.home_of(hash) + n];
    const std::span<const change> staged = g.all();
    if (std::any_of(staged.begin(), staged.end(), [&](const change& c) { return c.where == &s; }))
      return true;
    if (load(m_, s.state) == state_empty) return false;
  }
  return false;
}

}  // namespace durahash::linear
