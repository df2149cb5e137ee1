// CCEH: as few segments as there can be, as far in front as they fit.
#pragma once

#include <mutex>

#include "engine/cceh/merge.hpp"
#include "engine/cceh/rewrite.hpp"
#include "engine/cceh/table.hpp"
#include "engine/cceh/write.hpp"

namespace durahash::cceh {

template <medium M, class Kind>
status table<M, Kind>::shrink_to_fit() {
  for (bool merged = true; merged;) {  // ends: each round but the last has a segment less
    merged = false;
    std::uint64_t at = 0;
    do {
      if (merger(*this).merge(at, segments_.shape().slots())) merged = true;  // if they fit
      at = segments_.of(at).end();
    } while (at != 0);
  }
  return status::ok;
}

/// Writes each segment anew, and then the directory, if there is room in front of it.
template <medium M, class Kind>
status table<M, Kind>::move_arrays_down() {
  std::uint64_t at = 0;
  do {
    segment s = segments_.lock(at);
    auto held = held_by(s);
    if (heap_.has_room_before(s.offset(), segments_.shape().bytes())) {
      if (!p_.may_change()) return status::io_error;
      rewriter(*this).rewrite(s);
    }
    at = s.end();
  } while (at != 0);
  std::scoped_lock lock(directory_);
  directory_view now = segments_.directory();
  pm<std::uint64_t>* entries = segments_.entries_of(now.offset());
  if (heap_.has_room_before(now.offset(), directory_bytes(now.exponent()))) {
    if (!p_.may_change()) return status::io_error;
    directory_.switch_to(now.exponent(), [&](std::uint64_t i) { return load(m_, entries[i]); });
  }
  return status::ok;
}

template <medium M, class Kind>
template <class Visit>
void table<M, Kind>::for_each_locked(Visit&& visit) {
  std::uint64_t at = 0;
  do {
    segment s = segments_.lock(at);
    auto held = held_by(s);
    settle(s);
    reader_.for_each(s, visit);
    at = s.end();
  } while (at != 0);
}

template <medium M, class Kind>
status table<M, Kind>::replace_value(const resident& r, std::uint64_t value_word, flushed started) {
  change c;
  c.stripe = &segments_.stripes()[segments_.under_guard(r.hash).stripe];  // C7: of its segment
  frame::replaces(load(m_, r.where->value), c);
  stage_update(*r.where, value_word, c);
  c.apart = true;
  frame::commit(c, std::move(started));
  return status::ok;
}

}  // namespace durahash::cceh
