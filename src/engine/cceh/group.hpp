// CCEH: groups of writes, which share fences.
//
// A group writes the records of up to 64 keys, then one fence if there are some, then the slots and
// commit words of all, each seeing those before it, then one fence. Each record is atomic by
// itself; the group is not. All locks are taken before the first flush: a locked instruction
// between flushes waits for them.
#pragma once

#include "engine/cceh/table.hpp"
#include "engine/cceh/write.hpp"

namespace durahash::cceh {

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

/// The records of a group, durable together: what a batch sets does not depend on what is there.
/// Where there is no space for one, its word is 0. Words have none.
template <medium M, class Kind>
template <class DecideOf>
void table<M, Kind>::begin_group([[maybe_unused]] group& g,
                                 [[maybe_unused]] std::span<const key_type> keys,
                                 [[maybe_unused]] DecideOf& decide_of) {
  if constexpr (!Kind::in_slot) {
    flushed started;
    for (std::size_t n = 0; n < keys.size(); ++n) {
      decision<value_type> wanted = decide_of(n)(std::nullopt);
      if (wanted.act != decision<value_type>::what::set) return;  // removals
      std::optional<std::uint64_t> made;
      status answer = with_memory([&] {
        made = new_value_word<Kind>(m_, heap_, p_, keys[n], wanted.value, started);
        return status::ok;
      });
      g.value_words[n] = made.value_or(0);
      g.unused |= std::uint64_t{made.has_value()} << n;
      g.starved |= std::uint64_t{answer == status::out_of_memory} << n;
    }
    g.records_written = fence(m_, std::move(started), "cceh.group.payloads");
  }
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
  if (sets) stage_value(m_, at, g.value_words[n], w.key_word, c);
  else stage_removal(m_, at, c);
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
  // while its locks are held: whoever holds all of them finds no record that nothing names
  if constexpr (!Kind::in_slot)
    for (; g.unused != 0; g.unused &= g.unused - 1) {
      std::uint64_t offset = g.value_words[std::countr_zero(g.unused)];
      heap_.free(offset, record_at(m_, p_, offset)->bytes());
    }
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
  if (g.wants_survey) [[unlikely]]
    for (const change& c : g.all())
      if (c.wants_survey) survey(c);
}

}  // namespace durahash::cceh
