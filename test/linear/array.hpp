// Linear: another array in place of the one in use: for growth, compaction and salvage.
#pragma once

#include "test/linear/table.hpp"

namespace durahash::linear {

/// Returns false when the record finds no room within reach of its home slot.
template <medium M, class Kind>
bool table<M, Kind>::put_into(const array& made, const live_record& r) {
  for (std::uint64_t n = 0; n < reach_in(made); ++n) {
    slot& s = made[made.home_of(r.hash) + n];
    if (load(m_, s.state) != state_empty) continue;
    store(m_, s.key, r.key_word);
    store(m_, s.value, r.value_word);
    store(m_, s.state, state_live);
    return true;
  }
  return false;
}

/// In space that nothing refers to, and that others had.
template <medium M, class Kind>
bool table<M, Kind>::write_array(const array& made, std::span<const live_record> records) {
  for (std::uint64_t index = 0; index < made.slots(); ++index)
    if (load(m_, made[index].state) != state_empty) store(m_, made[index].state, state_empty);
  return std::all_of(records.begin(), records.end(),
                     [&](const live_record& r) { return put_into(made, r); });
}

/// An array of 2^log2 slots for these records takes the place of the one in use; a larger one where
/// some record finds no room. Of keys that were chosen so that none would do, no_space. The lock is
/// held.
template <medium M, class Kind>
status table<M, Kind>::build(std::span<const live_record> records, unsigned log2, flushed started) {
  for (unsigned least = log2;; ++log2) {
    bool out_of_proportion = log2 > least && !in_proportion(log2, records.size());
    if (log2 > max_log2 || out_of_proportion) return status::no_space;
    array made;
    auto cell = allocate_loose(heap_, sizeof(slot) << log2);
    if (!cell) return status::no_space;
    checked_place place = checked_place::of(cell->offset(), log2);
    array old = current();
    made.place = place_view::of(place, old.place.generation() + 1);
    made.first = p_.at(poff<slot>{cell->offset()});
    if (!write_array(made, records)) continue;
    started += flush(m_, extent{made.first, made.bytes()}, "linear.array.slots");
    durable written = fence(m_, std::move(started), "linear.array.all");
    cell->keep();
    // COMMIT: the array changes
    [[maybe_unused]] durable done = publish(m_, root_of_table().array, place.word,
                                            after(std::move(written)), "linear.array.commit");
    array_.store(made.place.word, std::memory_order_release);
    outdate();
    if (old.place.none()) return status::ok;
    ++resizes_;
    // readers of words notice, and the bytes stay mapped
    if constexpr (Kind::in_slot) heap_.free(old.place.offset(), old.bytes());
    else heap_.retire(old.place.offset(), old.bytes());
    return status::ok;
  }
}

/// For a write that found no room. Where few slots are live, an array of the same size has some
/// again; if it had not, the next round doubles it.
template <medium M, class Kind>
status table<M, Kind>::make_room(const array& full, target_type, int round) {
  std::scoped_lock lock(lock_);
  array a = current();
  if (a.place != full.place) return status::ok;
  if (!p_.may_change()) return status::io_error;
  std::vector<live_record> all = residents(a);
  bool doubles = round > 0 || 2 * all.size() > a.slots();
  if (doubles && !in_proportion(a.place.exponent(), all.size())) return status::no_space;
  return build(all, a.place.exponent() + doubles, {});
}

template <medium M, class Kind>
status table<M, Kind>::make_room_for(std::uint64_t records) {
  std::scoped_lock lock(lock_);
  array a = current();
  if (log2_for(records) <= a.place.exponent()) return status::ok;
  if (!p_.may_change()) return status::io_error;
  return build(residents(a), log2_for(records), {});
}

template <medium M, class Kind>
status table<M, Kind>::shrink_to_fit() {
  std::scoped_lock lock(lock_);
  array a = current();
  std::vector<live_record> all = residents(a);
  unsigned log2 = std::max(min_log2, log2_ceiling(all.size() + all.size() / 4 + 1));
  if (log2 >= a.place.exponent()) return status::ok;
  return p_.may_change() ? build(all, log2, {}) : status::io_error;
}

template <medium M, class Kind>
status table<M, Kind>::move_arrays_down() {
  std::scoped_lock lock(lock_);
  array a = current();
  if (!heap_.has_room_before(a.place.offset(), a.bytes())) return status::ok;
  return p_.may_change() ? build(residents(a), a.place.exponent(), {}) : status::io_error;
}

template <medium M, class Kind>
template <class Visit>
void table<M, Kind>::for_each_locked(Visit&& visit) {
  std::scoped_lock lock(lock_);
  for_each_resident(current(), visit);
}

template <medium M, class Kind>
status table<M, Kind>::replace_value(const resident& r, std::uint64_t value_word, flushed started) {
  change c;
  frame::replaces(load(m_, r.where->value), c);
  stage_update(*r.where, value_word, c);
  c.apart = true;
  frame::commit(c, std::move(started));
  return status::ok;
}

}  // namespace durahash::linear
