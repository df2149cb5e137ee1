// Level hashing: expansion and shrinking in place (paper §3.2), a bucket at a time; compaction.
//
// Expansion:
//   1  a level of twice the top's size is written, flushed, fenced
//      crash: unreachable, hence free
//   2  COMMIT: its word in the root
//      crash after: the drain begins anew
//   3  the smallest level is drained, each bucket as one movement (move.hpp): records go to the
//      buckets above it, under the same lock
//   4  COMMIT: the smallest level's word removed; it is freed when writers and readers have left it
//
// Shrinking:
//   1  a level of a quarter of the top's size, as above; its word
//      crash after: an expansion, which drains the new level
//   2  the top's word is marked as draining, when that may be; not flushed
//      crash after: the drain begins anew, the top's or the new level's
//   3, 4  as above, with the top
//
// A record that finds no place while a level is drained: shrinking is called off by taking the mark
// away, likewise; else one more level is put on top.
#pragma once

#include "engine/level/table.hpp"

namespace durahash::level {

// ------------------------------------------------------------------------------------------ levels

/// Writes a level that nothing refers to, durably. Returns false when the table is being closed.
template <medium M, class Kind>
bool table<M, Kind>::fill_level(std::uint64_t offset, new_level made, const background* asking) {
  level_view l = buckets_.view_of(offset, made.log2);
  flushed started;
  for (std::uint64_t n = 0; n < std::uint64_t{1} << made.log2; ++n) {
    if (asking != nullptr && n % 4096 == 0 && asking->stopping()) return false;
    pm<std::uint64_t>& state = *buckets_.at(l, n).state;
    store(m_, state, made.every.word);
    started += flush(m_, extent_of(state), "level.fill.states");
  }
  [[maybe_unused]] durable written = fence(m_, std::move(started), "level.fill.all");
  return true;
}

/// New levels join, which nobody sees before all of them are there. Under the levels' lock.
template <medium M, class Kind>
status table<M, Kind>::add_levels(std::span<const new_level> made, bool drain_largest) {
  std::vector<level_view> now = levels_.present();
  std::vector<loose_cell<M>> places;
  for (const new_level& l : made) {
    bool is_prepared = prepared_ != 0 && prepared_log2_ == l.log2 && !preparing_;
    places.reserve(places.size() + 1);
    auto place = is_prepared ? std::optional<loose_cell<M>>(std::in_place, heap_,
                                                            std::exchange(prepared_, 0),
                                                            buckets_.shape.level_bytes(l.log2))
                             : allocate_loose(heap_, buckets_.shape.level_bytes(l.log2));
    if (!place) return status::no_space;
    if (!is_prepared) fill_level(place->offset(), l);
    now.push_back(buckets_.view_of(place->offset(), l.log2));
    places.push_back(std::move(*place));
  }
  levels_view& planned = plan_levels(std::move(now), drain_largest, dynamic_ && !drain_largest);
  if (!p_.may_change()) return status::io_error;
  for (std::size_t n = 0; n < made.size(); ++n) {
    [[maybe_unused]] durable done =
        publish(m_, root_of(p_).levels[made[n].log2],
                checked_place::of(places[n].keep(), made[n].log2).word,
                // COMMIT: it belongs to the table
                after_nothing("the level is durable"), "level.grow.commit");
  }
  levels_.switch_to(planned);
  return status::ok;
}

/// What the levels are to become; nobody sees it yet. Under their lock.
template <medium M, class Kind>
auto table<M, Kind>::plan_levels(std::vector<level_view> wanted, bool drain_largest,
                                 bool bottom_first) -> levels_view& {
  levels_view& planned = levels_.plan(std::move(wanted), drain_largest, bottom_first);
  if (levels_.renumbers(planned)) await_count();  // it is by stripe
  return planned;
}

/// Of a level that readers may still see.
template <medium M, class Kind>
void table<M, Kind>::give_back(std::uint64_t offset, std::uint64_t bytes) {
  p_.readers().before_reuse();
  if constexpr (Kind::in_slot) heap_.free(offset, bytes);  // readers notice; the bytes stay mapped
  else heap_.retire(offset, bytes);
}

// --------------------------------------------------------------------------------------- expansion

/// For a record that found no place in these levels. Nothing is locked. Writers wait for a drain
/// that does not get on, as when the thread that has its last bucket sleeps; else they would fill
/// all the levels there can be. Who drains a bucket has no patience: others may wait for that
/// bucket.
template <medium M, class Kind>
status table<M, Kind>::make_room(const levels_view* full, patience p) {
  if (p == patience::waits) {
    await_change(preparing_, true);
    if (full->count >= max_levels_of_writers && full == &levels_.now()) return drain_all();
  }
  std::scoped_lock lock(levels_.changing());
  if (&levels_.now() != full) return status::ok;
  const level_view& top = full->at[0];
  if (full->draining != nullptr && full->draining->log2 == top.log2) {  // shrinking is called off
    levels_view& both = plan_levels(levels_.present(), false, false);
    if (!p_.may_change()) return status::io_error;
    mark_top(top, 0);
    levels_.switch_to(both);
    return status::ok;
  }
  if (full->count == max_levels || top.log2 + 1 == level_sizes || is_vain(*full))
    return status::no_space;
  new_level made{top.log2 + 1, new_bucket};
  status answer = add_levels({&made, 1});
  if (answer == status::ok) expansions_.fetch_add(1, std::memory_order_relaxed);
  return answer;
}

/// Whether another level would be as empty as these: keys that no growth sets apart are refused,
/// before they take the disk.
template <medium M, class Kind>
bool table<M, Kind>::is_vain(const levels_view& v) {
  constexpr std::uint64_t max_slots_per_record = 64;
  return buckets_.shape.level_bytes(v.at[0].log2) > at_once_bytes && counted() &&
         size() * max_slots_per_record < slots();
}

/// Large levels are written in the background, before they are needed.
template <medium M, class Kind>
void table<M, Kind>::prepare_ahead() {
  if (!worth_a_thread(buckets_.shape.level_bytes(levels_.now().at[0].log2 + 1),
                      at_once_bytes + 1) ||
      levels_.now().at[0].log2 + 1 == level_sizes || will_prepare_.exchange(true))
    return;
  unsigned log2 = levels_.now().at[0].log2 + 1;
  if (!background_.submit([this, log2](const background& self) { prepare(log2, self); }))
    will_prepare_ = false;
}

/// Those who need the level wait for it from when it has its place. The thread is that of all
/// pools: it does not wait for who holds the lock for long, as a check does. A later write asks
/// again.
template <medium M, class Kind>
void table<M, Kind>::prepare(unsigned log2, const background& asking) {
  {
    std::unique_lock lock(levels_.changing(), std::try_to_lock);
    will_prepare_ = false;
    if (!lock) return;
    bool wanted = prepared_ == 0 && log2 == levels_.now().at[0].log2 + 1;
    if (!wanted || !p_.changing()) return;  // a pool that was synced meanwhile is left in peace
    auto place = allocate_loose(heap_, buckets_.shape.level_bytes(log2));
    if (!place) return;
    prepared_ = place->keep();
    prepared_log2_ = log2;
    preparing_ = true;
  }
  std::unique_lock lock(levels_.changing(), std::defer_lock);
  const bool done = fill_level(prepared_, {prepared_log2_, new_bucket}, &asking);
  if (!done) lock.lock();  // the pool is being closed: nobody takes the level for a whole one
  preparing_ = false;
  preparing_.notify_all();
  if (!done) drop_prepared();
}

/// Under the levels' lock. One that is being written stays.
template <medium M, class Kind>
void table<M, Kind>::drop_prepared() noexcept {
  if (prepared_ != 0 && !preparing_)
    heap_.free(std::exchange(prepared_, 0), buckets_.shape.level_bytes(prepared_log2_));
}

// ------------------------------------------------------------------------- when the table is right

/// The load of a level, from a few of its buckets.
template <medium M, class Kind>
double table<M, Kind>::sampled_load(const level_view& l) {
  constexpr unsigned buckets = 32;
  int tokens = 0;
  std::uint64_t at = looks_.fetch_add(1, std::memory_order_relaxed);
  for (unsigned n = 0; n < buckets; ++n)
    tokens += std::popcount(buckets_.state_of(l.bucket_of(mixed(at * buckets + n + 1))).tokens() &
                            buckets_.shape.all_tokens);
  return static_cast<double>(tokens) / (buckets * buckets_.shape.slots);
}

/// Now and then after writes: which level to search first, whether a new level will be needed soon,
/// whether the table is too large. Nothing is locked.
template <medium M, class Kind>
void table<M, Kind>::look_around() {
  const levels_view* v = &levels_.now();
  double top = 0, bottom = 0;
  {
    [[maybe_unused]] read_guard guard = reading();
    if (v->count != 2) return;
    top = sampled_load(v->at[0]), bottom = sampled_load(v->at[1]);
  }
  double load = (2 * top + bottom) / 3;
  constexpr double nearly_full = 0.85, nearly_empty = 0.125;
  if (v->bottom_first && !mostly_below(top, bottom)) {
    std::scoped_lock lock(levels_.changing());
    if (&levels_.now() == v) levels_.switch_to(plan_levels(levels_.present(), false, false));
  }
  if (load > nearly_full) prepare_ahead();
  std::uint64_t switches = levels_.switches();
  bool too_often = switches * switches / 64 > looks_.load(std::memory_order_relaxed);
  if (load > nearly_empty || too_often || v->at[0].log2 <= first_log2_ || !counted() ||
      size() * 8 > slots() || shrinking_.exchange(true))
    return;
  auto start = [this](const background&) {
    if_memory_allows([&] {
      {
        std::unique_lock lock(levels_.changing(), std::try_to_lock);
        if (lock && p_.changing()) shrink();  // a pool that was synced meanwhile is left in peace
      }
      start_helper();
    });
    shrinking_ = false;
  };
  if (!worth_a_thread(buckets_.shape.level_bytes(v->at[0].log2), at_once_bytes + 1) ||
      !background_.submit(start))
    start(background_);
}

/// Which level is drained when a crash comes. Not flushed: without the mark what has moved down
/// moves up again.
template <medium M, class Kind>
void table<M, Kind>::mark_top(const level_view& top, unsigned mark) {
  store(m_, root_of(p_).levels[top.log2], checked_place::of(top.offset, top.log2 | mark).word);
}

/// Begins to; those who write go on with it. Under the levels' lock.
template <medium M, class Kind>
status table<M, Kind>::shrink() {
  const levels_view& v = levels_.now();
  if (v.count != 2 || v.at[0].log2 < 3 || !v.under_previous(1)) return status::ok;
  drop_prepared();
  new_level below{v.at[0].log2 - 2, {}};
  if (status added = add_levels({&below, 1}, true); added != status::ok) return added;
  mark_top(v.at[0], draining);
  shrinks_.fetch_add(1, std::memory_order_relaxed);
  return status::ok;
}

// ---------------------------------------------------------------------------------- size on demand

template <medium M, class Kind>
status table<M, Kind>::make_room_for(std::uint64_t records) {
  unsigned log2 = top_for(records, buckets_.shape.slots);
  if (log2 + 1 >= level_sizes) return status::no_space;
  if (log2 <= levels_.now().at[0].log2) return status::ok;
  if (status drained = drain_all(); drained != status::ok) return drained;
  await_change(preparing_, true);
  {
    std::scoped_lock lock(levels_.changing());
    const levels_view& v = levels_.now();
    unsigned top = v.at[0].log2;
    if (log2 <= top || v.count != 2) return status::ok;  // others were faster
    if (status s = p_.reserve(buckets_.shape.level_bytes(log2) * 3 / 2); s != status::ok) return s;
    if (prepared_log2_ != log2) drop_prepared();
    bool one = log2 == top + 1;
    new_level made[] = {{log2 - 1, new_bucket}, {log2, one ? new_bucket : bucket_state{}}};
    if (status added = add_levels(std::span(made).subspan(one ? 1 : 0)); added != status::ok)
      return added;
    expansions_.fetch_add(1, std::memory_order_relaxed);
  }
  return drain_all();
}

template <medium M, class Kind>
status table<M, Kind>::shrink_to_fit() {
  if (status drained = drain_all(); drained != status::ok) return drained;
  await_change(preparing_, true);
  {
    std::scoped_lock lock(levels_.changing());
    drop_prepared();
  }
  constexpr double full = 0.8;
  // ends: each round halves the table
  while (static_cast<double>(size()) <= full * static_cast<double>(slots()) / 2 &&
         levels_.now().at[0].log2 > 2) {
    unsigned before = levels_.now().at[0].log2;
    {
      std::scoped_lock lock(levels_.changing());
      if (status shrunk = shrink(); shrunk != status::ok) return shrunk;
    }
    if (status drained = drain_all(); drained != status::ok) return drained;
    if (levels_.now().at[0].log2 >= before) break;
  }
  return status::ok;
}

template <medium M, class Kind>
status table<M, Kind>::move_arrays_down() {
  for (unsigned log2 = 1; log2 < level_sizes; ++log2) move_level_down(log2);
  return status::ok;
}

/// Writes the level anew if there is room in front of it. Writers wait.
template <medium M, class Kind>
void table<M, Kind>::move_level_down(unsigned log2) {
  std::scoped_lock lock(levels_.changing());
  const levels_view& v = levels_.now();
  unsigned index = v.index_of(log2);
  std::uint64_t bytes = buckets_.shape.level_bytes(log2);
  if (index == v.count || v.count > 2 || !heap_.has_room_before(v.at[index].offset, bytes)) return;
  auto place = allocate_loose(heap_, bytes);
  if (!place) return;
  level_view old = v.at[index];
  std::vector<level_view> now = levels_.present();
  now[index] = buckets_.view_of(place->offset(), log2);
  levels_view& planned = plan_levels(std::move(now), false, v.bottom_first);
  stripes_.lock_all(v);
  if (!p_.may_change()) return stripes_.unlock_all(v);
  for (stripe_index s = 0; s < v.stripes(); ++s) stripes_.settle_inherited(v, s);
  auto words = [](std::byte* first) { return reinterpret_cast<pm<std::uint64_t>*>(first); };
  // readers may have been here before
  for (std::uint64_t n = 0; n < bytes / 8; ++n)
    store(m_, words(p_.at(place->offset()))[n], load(m_, words(old.first)[n]));
  durable written = persist(m_, extent{p_.at(place->offset()), bytes}, "level.compact.level");
  [[maybe_unused]] durable done =
      // COMMIT: it has moved
      publish(m_, root_of(p_).levels[log2], checked_place::of(place->keep(), log2).word,
              after(std::move(written)), "level.compact.commit");
  levels_.switch_to(planned);
  stripes_.unlock_all(v);
  give_back(old.offset, bytes);
}

template <medium M, class Kind>
template <class Visit>
void table<M, Kind>::for_each_locked(Visit&& visit) {
  for (stripe_index stripe = 0; stripe < levels_.now().stripes(); ++stripe) {
    const levels_view& v = levels_.now();
    std::scoped_lock lock(stripes_.lock_of(stripe));
    // the table changes its size: it will be compacted another time
    if (levels_.now().stripe_bits != v.stripe_bits) return;
    stripes_.settle_inherited(levels_.now(), stripe);
    levels_.now().for_each_bucket(
        v.place_of(stripe), v.stripe_bits, [&](const level_view& l, std::uint64_t index) {
          buckets_.for_each_resident(buckets_.at(l, index), [&](const resident& r) {
            visit(located{r, stripe});
          });
        });
  }
}

template <medium M, class Kind>
status table<M, Kind>::replace_value(const located& r, std::uint64_t value_word, flushed started) {
  slot& at = buckets_.slot_of(r.where, r.slot);
  change c;
  c.stripe = r.stripe;
  c.value = &at.value;
  c.value_word = value_word;
  c.apart = true;
  frame::replaces(load(m_, at.value), c);
  frame::commit(c, std::move(started));
  return status::ok;
}

}  // namespace durahash::level
