// The frame: room that is asked for, and given back. Part of engine/frame/frame.hpp.
#pragma once

#include "engine/frame/frame.hpp"

namespace durahash {

template <medium M, class Kind, class Engine>
status engine_frame<M, Kind, Engine>::reserve(std::uint64_t records) {
  constexpr std::uint64_t more_than_any_pool = std::uint64_t{1} << 48;
  return records < more_than_any_pool ? this->self().make_room_for(records) : status::no_space;
}

template <medium M, class Kind, class Engine>
status engine_frame<M, Kind, Engine>::compact() {
  Engine& e = this->self();
  this->await_count();  // the allocation state must be known
  typename heap<M>::front_first front(this->heap_);
  if (status s = e.shrink_to_fit(); s != status::ok) return s;
  this->heap_.settle();
  // Twice or more: what moves late leaves room for what moved before.
  constexpr int most = 4;
  std::uint64_t end = 0;
  for (int n = 0; n < 2 || (n < most && end != this->p_.end()); ++n) {
    end = this->p_.end();
    if (status s = e.move_arrays_down(); s != status::ok) return s;
    this->heap_.settle();
    if constexpr (!Kind::in_slot) {
      if (status s = move_records_down(); s != status::ok) return s;
      this->heap_.settle();
    }
    this->heap_.release_idle_slabs();
    if (status s = this->p_.give_back_tail(); s != status::ok) return s;
  }
  return status::ok;
}

/// Records behind the point where all that is live would end, if it lay without gaps, have room in
/// front of it.
template <medium M, class Kind, class Engine>
status engine_frame<M, Kind, Engine>::move_records_down() requires(!Kind::in_slot) {
  status answer = status::ok;
  std::uint64_t behind = this->live_bytes();
  this->self().for_each_locked([&](const auto& r) {
    if (answer == status::ok) answer = move_down(r, behind);
  });
  return answer;
}

/// An update with the same key and value.
template <medium M, class Kind, class Engine>
template <class Resident>
status engine_frame<M, Kind, Engine>::move_down(const Resident& r, std::uint64_t behind) {
  auto record = record_at(this->m_, this->p_, r.value_word);
  if (!record) return status::damaged;
  if (r.value_word < behind || !this->heap_.has_room_before(r.value_word, record->bytes()))
    return status::ok;
  if (!this->p_.may_change()) return status::io_error;
  key_type key = record->key;
  if constexpr (Kind::fixed_key) key = r.key;
  flushed started;
  auto moved = new_value_word<Kind>(this->m_, this->heap_, this->p_, key, record->value, started);
  return moved ? this->self().replace_value(r, *moved, std::move(started)) : status::ok;
}

}  // namespace durahash
