// Level hashing: expansion and shrinking in place (paper §3.2), a bucket at a time; compaction.
//
// Expansion:
//   1  a level of twice the top's size is written, flushed, fenced           crash: unreachable, hence free
//   2  COMMIT: its word in the root                                          crash after: the drain begins anew
//   3  the smallest level is drained, each bucket as one movement (move.hpp): records go to the buckets above it, under the same lock
//   4  COMMIT: the smallest level's word removed; it is freed when writers and readers have left it
//
// Shrinking:
//   1  a level of a quarter of the top's size, as above; its word            crash after: an expansion, which drains the new level
//   2  the top's word is marked as draining, when that may be; not flushed   crash after: the drain begins anew, the top's or the new level's
//   3, 4  as above, with the top
//
// A record that finds no place while a level is drained: shrinking is called off by taking the mark away, likewise; else one more level is put on top.
#pragma once

#include "table/level/table.hpp"

namespace durahash::level {

// ------------------------------------------------------------------------------------------------------------------ levels

/// A level that nothing refers to, durable; nothing when there is no space, or the table is being closed.
template <medium M, class Kind>
std::optional<std::uint64_t> table<M, Kind>::write_level(new_level made, const background* asking) {
  std::uint64_t bytes = shape_.level_bytes(made.log2);
  auto offset = heap_.allocate(bytes);
  if (!offset && heap_.pending_bytes() != 0) {  // what readers still hold may do
    heap_.settle();
    offset = heap_.allocate(bytes);
  }
  if (!offset) return std::nullopt;
  level_view l = view_of(*offset, made.log2);
  flushed started;
  for (std::uint64_t n = 0; n < std::uint64_t{1} << made.log2; ++n) {
    if (asking != nullptr && n % 4096 == 0 && asking->stopping()) {
      heap_.free(*offset, bytes);
      return std::nullopt;
    }
    pm<std::uint64_t>& state = *bucket_at(l, n).state;
    store(m_, state, made.every.word);
    started += flush(m_, extent_of(state));
  }
  [[maybe_unused]] durable written = fence(m_, std::move(started));
  return offset;
}

template <medium M, class Kind>
auto table<M, Kind>::present_levels() const -> std::vector<level_view> {
  const levels_view* v = levels_.load(std::memory_order_acquire);
  return v == nullptr ? std::vector<level_view>() : std::vector<level_view>(v->at, v->at + v->count);
}

/// New levels join, which nobody sees before all of them are there. Under resize_lock_.
template <medium M, class Kind>
status table<M, Kind>::add_levels(std::span<const new_level> made, bool drain_largest) {
  std::vector<level_view> now = present_levels();
  std::vector<std::uint64_t> offsets;
  for (const new_level& l : made) {
    std::optional<std::uint64_t> offset;
    if (prepared_ != 0 && prepared_log2_ == l.log2)
      offset = std::exchange(prepared_, 0);
    else
      offset = write_level(l);
    if (!offset) {
      for (std::size_t n = 0; n < offsets.size(); ++n) heap_.free(offsets[n], shape_.level_bytes(made[n].log2));
      return status::no_space;
    }
    offsets.push_back(*offset);
  }
  p_.about_to_change();
  for (std::size_t n = 0; n < made.size(); ++n) {
    [[maybe_unused]] durable done = publish(m_, root_of_table().levels[made[n].log2], checked_place::of(offsets[n], made[n].log2).word,
                                            after_nothing("the level is durable"));  // COMMIT: it belongs to the table
    now.push_back(view_of(offsets[n], made[n].log2));
  }
  switch_levels(std::move(now), drain_largest, dynamic_ && !drain_largest);
  return status::ok;
}

/// These are the levels from here on. Where the stripes change, all of them are locked meanwhile. Under resize_lock_.
template <medium M, class Kind>
void table<M, Kind>::switch_levels(std::vector<level_view> now, bool drain_largest, bool bottom_first) {
  std::sort(now.begin(), now.end(), [](const level_view& a, const level_view& b) { return a.log2 > b.log2; });
  const levels_view* old = levels_.load(std::memory_order_acquire);
  levels_view& made = views_.emplace_back();
  switches_.fetch_add(1, std::memory_order_relaxed);
  made.count = static_cast<unsigned>(now.size());
  std::copy(now.begin(), now.end(), made.at);
  made.bottom_first = bottom_first && made.count > 1;
  made.filtered = made.count > 1 && under_previous(made, 1);
  made.stripe_bits = std::min(most_stripe_bits, now.back().log2);
  made.end_open = made.count;
  if (made.count > 2) {
    unsigned log2 = drain_largest ? now.front().log2 : now.back().log2;
    bool goes_on = old != nullptr && old->draining != nullptr && old->draining->log2 == log2;
    made.draining = goes_on ? old->draining : &drains_.emplace_back(log2);
    made.first_open = drain_largest;
    made.end_open -= !drain_largest;
  }
  bool other_stripes = old != nullptr && old->stripe_bits != made.stripe_bits;
  if (other_stripes) {
    counted_.wait(false, std::memory_order_acquire);  // the recount is by stripe
    lock_stripes(*old);
    for (stripe_index s = 0; s < stripes_of(*old); ++s) settle_inherited(*old, s);  // a mark means other buckets from here on
    count_anew(old->stripe_bits, made.stripe_bits);
  }
  levels_.store(&made, std::memory_order_release);
  if (other_stripes) unlock_stripes(*old);
}

/// Moves the counts of records to where the stripes now have their numbers.
template <medium M, class Kind>
void table<M, Kind>::count_anew(unsigned old_bits, unsigned bits) {
  std::vector<std::int32_t> counts(std::size_t{1} << bits);
  for (stripe_index s = 0; s < stripe_index{1} << old_bits; ++s)
    counts[bits > old_bits ? std::size_t{s} << (bits - old_bits) : s >> (old_bits - bits)] += stripes_[s].records.exchange(0, std::memory_order_relaxed);
  for (stripe_index s = 0; s < stripe_index{1} << bits; ++s) stripes_[s].records.store(counts[s], std::memory_order_relaxed);
}

template <medium M, class Kind>
void table<M, Kind>::lock_stripes(const levels_view& v) {
  for (stripe_index s = 0; s < stripes_of(v); ++s) locks_[s].lock();
}

template <medium M, class Kind>
void table<M, Kind>::unlock_stripes(const levels_view& v) {
  for (stripe_index s = 0; s < stripes_of(v); ++s) locks_[s].unlock();
}

/// Until nobody writes with levels that were replaced before this.
template <medium M, class Kind>
void table<M, Kind>::await_writers() {
  const levels_view& v = levels();
  for (stripe_index s = 0; s < stripes_of(v); ++s) std::scoped_lock lock(locks_[s]);
}

/// Of a level that readers may still see.
template <medium M, class Kind>
void table<M, Kind>::give_back(std::uint64_t offset, std::uint64_t bytes) {
  if constexpr (Kind::in_slot)
    heap_.free(offset, bytes);  // readers notice; the bytes stay mapped
  else
    heap_.retire(offset, bytes);
}

template <medium M, class Kind>
unsigned table<M, Kind>::index_of(const levels_view& v, unsigned log2) noexcept {
  unsigned i = 0;
  while (i < v.count && v.at[i].log2 != log2) ++i;
  return i;
}

// --------------------------------------------------------------------------------------------------------------- expansion

/// For a record that found no place in these levels. Nothing is locked. Writers wait for a drain that does not get on, as when the thread that has its
/// last bucket sleeps; else they would fill all the levels there can be. Who drains a bucket has no patience: others may wait for that bucket.
template <medium M, class Kind>
status table<M, Kind>::make_room(const levels_view* full, patience p) {
  if (p == patience::waits) {
    preparing_.wait(true, std::memory_order_acquire);
    if (full->count >= most_levels_of_writers && full == &levels()) return drain_all();
  }
  std::scoped_lock lock(resize_lock_);
  if (&levels() != full) return status::ok;
  const level_view& top = full->at[0];
  if (full->draining != nullptr && full->draining->log2 == top.log2) {  // shrinking is called off
    p_.about_to_change();
    mark_top(top, 0);
    switch_levels(present_levels(), false, false);
    return status::ok;
  }
  if (full->count == most_levels || top.log2 + 1 == level_sizes) return status::no_space;
  new_level made{top.log2 + 1, new_bucket};
  status answer = add_levels({&made, 1});
  if (answer == status::ok) expansions_.fetch_add(1, std::memory_order_relaxed);
  return answer;
}

/// Large levels are written in the background, before they are needed.
template <medium M, class Kind>
void table<M, Kind>::prepare_ahead() {
  if (shape_.level_bytes(levels().at[0].log2 + 1) <= at_once_bytes || levels().at[0].log2 + 1 == level_sizes || preparing_.exchange(true)) return;
  background_.submit([this](const background& self) {
    unsigned log2 = levels().at[0].log2 + 1;
    bool wanted;
    {
      std::scoped_lock lock(resize_lock_);
      wanted = prepared_ == 0;
    }
    auto offset = wanted ? write_level({log2, new_bucket}, &self) : std::nullopt;
    if (offset) {
      std::scoped_lock lock(resize_lock_);
      prepared_ = *offset;
      prepared_log2_ = log2;
    }
    preparing_ = false;
    preparing_.notify_all();
  });
}

/// Under resize_lock_.
template <medium M, class Kind>
void table<M, Kind>::drop_prepared() {
  if (prepared_ != 0) heap_.free(std::exchange(prepared_, 0), shape_.level_bytes(prepared_log2_));
}

// -------------------------------------------------------------------------------------------------- when the table is right

/// The load of a level, from a few of its buckets.
template <medium M, class Kind>
double table<M, Kind>::sampled_load(const level_view& l) {
  constexpr unsigned buckets = 32;
  int tokens = 0;
  std::uint64_t at = looks_.fetch_add(1, std::memory_order_relaxed);
  for (unsigned n = 0; n < buckets; ++n) tokens += std::popcount(state_of(bucket_of(l, mixed(at * buckets + n + 1))).tokens() & shape_.all_tokens());
  return static_cast<double>(tokens) / (buckets * shape_.slots);
}

/// Now and then after writes: which level to search first, whether a new level will be needed soon, whether the table is too large. Nothing is locked.
template <medium M, class Kind>
void table<M, Kind>::look_around() {
  const levels_view* v = &levels();
  double top = 0, bottom = 0;
  {
    [[maybe_unused]] read_guard guard;
    if (v->count != 2) return;
    top = sampled_load(v->at[0]), bottom = sampled_load(v->at[1]);
  }
  double load = (2 * top + bottom) / 3;
  constexpr double nearly_full = 0.85, nearly_empty = 0.125;
  if (v->bottom_first && 2 * top > bottom) {
    std::scoped_lock lock(resize_lock_);
    if (&levels() == v) switch_levels(present_levels(), false, false);
  }
  if (load > nearly_full) prepare_ahead();
  std::uint64_t switches = switches_.load(std::memory_order_relaxed);
  bool too_often = switches * switches / 64 > looks_.load(std::memory_order_relaxed);
  if (load > nearly_empty || too_often || v->at[0].log2 <= first_log2_ || !counted_ || size() * 8 > slots() || shrinking_.exchange(true)) return;
  auto start = [this](const background&) {
    shrink();
    start_helper();
    shrinking_ = false;
  };
  if (shape_.level_bytes(v->at[0].log2) <= at_once_bytes)
    start(background_);
  else
    background_.submit(start);
}

/// Which level is drained when a crash comes. Not flushed: without the mark what has moved down moves up again.
template <medium M, class Kind>
void table<M, Kind>::mark_top(const level_view& top, unsigned mark) {
  store(m_, root_of_table().levels[top.log2], checked_place::of(top.offset, top.log2 | mark).word);
}

/// Begins to; those who write go on with it.
template <medium M, class Kind>
status table<M, Kind>::shrink() {
  std::scoped_lock lock(resize_lock_);
  const levels_view& v = levels();
  if (v.count != 2 || v.at[0].log2 < 3 || !under_previous(v, 1)) return status::ok;
  drop_prepared();
  new_level below{v.at[0].log2 - 2, {}};
  if (status added = add_levels({&below, 1}, true); added != status::ok) return added;
  mark_top(v.at[0], draining);
  shrinks_.fetch_add(1, std::memory_order_relaxed);
  return status::ok;
}

// ---------------------------------------------------------------------------------------------------------- size on demand

template <medium M, class Kind>
status table<M, Kind>::reserve(std::uint64_t records) {
  constexpr std::uint64_t more_than_any_pool = std::uint64_t{1} << 48;
  if (records >= more_than_any_pool) return status::no_space;
  unsigned log2 = top_for(records, shape_.slots);
  if (log2 + 1 >= level_sizes) return status::no_space;
  if (log2 <= levels().at[0].log2) return status::ok;
  if (status drained = drain_all(); drained != status::ok) return drained;
  preparing_.wait(true, std::memory_order_acquire);
  {
    std::scoped_lock lock(resize_lock_);
    const levels_view& v = levels();
    unsigned top = v.at[0].log2;
    if (log2 <= top || v.count != 2) return status::ok;  // others were faster
    if (p_.reserve(shape_.level_bytes(log2) * 3 / 2) != status::ok) return status::no_space;
    if (prepared_log2_ != log2) drop_prepared();
    bool one = log2 == top + 1;
    new_level made[] = {{log2 - 1, new_bucket}, {log2, one ? new_bucket : bucket_state{}}};
    if (status added = add_levels(std::span(made).subspan(one ? 1 : 0)); added != status::ok) return added;
    expansions_.fetch_add(1, std::memory_order_relaxed);
  }
  return drain_all();
}

template <medium M, class Kind>
status table<M, Kind>::compact() {
  size();  // the allocation state must be known
  if (status drained = drain_all(); drained != status::ok) return drained;
  preparing_.wait(true, std::memory_order_acquire);
  {
    std::scoped_lock lock(resize_lock_);
    drop_prepared();
  }
  typename heap<M>::front_first front(heap_);
  constexpr double full = 0.8;
  while (static_cast<double>(size()) <= full * static_cast<double>(slots()) / 2 && levels().at[0].log2 > 2) {  // ends: each round halves the table
    unsigned before = levels().at[0].log2;
    if (status shrunk = shrink(); shrunk != status::ok) return shrunk;
    if (status drained = drain_all(); drained != status::ok) return drained;
    if (levels().at[0].log2 >= before) break;
  }
  heap_.settle();
  for (unsigned log2 = 1; log2 < level_sizes; ++log2) move_level_down(log2);
  heap_.settle();
  // Records behind the point where all that is live would end, if it lay without gaps, have room in front of it.
  if constexpr (!Kind::in_slot)
    if (status moved = move_records_down(live_bytes()); moved != status::ok) return moved;
  heap_.settle();
  heap_.release_idle_slabs();
  return p_.give_back_tail();
}

/// Writes the level anew if there is room in front of it. Writers wait.
template <medium M, class Kind>
void table<M, Kind>::move_level_down(unsigned log2) {
  std::scoped_lock lock(resize_lock_);
  const levels_view& v = levels();
  unsigned index = index_of(v, log2);
  std::uint64_t bytes = shape_.level_bytes(log2);
  if (index == v.count || v.count > 2 || !heap_.has_room_before(v.at[index].offset, bytes)) return;
  auto offset = heap_.allocate(bytes);
  if (!offset) return;
  lock_stripes(v);
  for (stripe_index s = 0; s < stripes_of(v); ++s) settle_inherited(v, s);
  p_.about_to_change();
  level_view old = v.at[index];
  auto words = [](std::byte* first) { return reinterpret_cast<pm<std::uint64_t>*>(first); };
  for (std::uint64_t n = 0; n < bytes / 8; ++n) store(m_, words(p_.at(*offset))[n], load(m_, words(old.first)[n]));  // readers may have been here before
  durable written = persist(m_, extent{p_.at(*offset), bytes});
  [[maybe_unused]] durable done =
      publish(m_, root_of_table().levels[log2], checked_place::of(*offset, log2).word, after(std::move(written)));  // COMMIT: it has moved
  std::vector<level_view> now = present_levels();
  now[index] = view_of(*offset, log2);
  switch_levels(std::move(now), false, v.bottom_first);
  unlock_stripes(v);
  give_back(old.offset, bytes);
}

/// Updates with the same key and value, for records behind `behind` that have room in front of it.
template <medium M, class Kind>
status table<M, Kind>::move_records_down(std::uint64_t behind) {
  status answer = status::ok;
  if constexpr (!Kind::in_slot) {
    for (stripe_index stripe = 0; stripe < stripes_of(levels()) && answer == status::ok; ++stripe) {
      const levels_view& v = levels();
      std::scoped_lock lock(locks_[stripe]);
      if (levels().stripe_bits != v.stripe_bits) return status::ok;  // the table changes its size: it will be compacted another time
      for_each_bucket(levels(), place_of(v, stripe), v.stripe_bits, [&](const level_view& l, std::uint64_t index) {
        for_each_resident(bucket_at(l, index), [&](const resident& r) {
          auto record = record_at(m_, p_, r.value_word);
          if (!record) answer = status::damaged;
          if (answer != status::ok || r.value_word < behind || !heap_.has_room_before(r.value_word, record->bytes())) return;
          p_.about_to_change();
          settle_inherited(v, stripe);
          flushed started;
          auto moved = new_value_word<Kind>(m_, heap_, p_, record->key, record->value, started);
          if (!moved) return;
          change c;
          c.stripe = stripe;
          c.value = &slot_of(r.where, r.slot).value;
          c.value_word = *moved;
          c.payload_apart = true;
          retire_record(slot_of(r.where, r.slot), c);
          commit_group({&c, 1}, std::move(started));
        });
      });
    }
  }
  return answer;
}

}  // namespace durahash::level
