// CCEH: as many segments as asked for, or as few as there can be; and a whole table from its
// records.
//
// A move of a segment is a rewrite (grow.hpp) to a place in front of its own.
#pragma once

#include "engine/cceh/table.hpp"

namespace durahash::cceh {

template <medium M, class Kind>
status table<M, Kind>::make_room_for(std::uint64_t records) {
  unsigned depth = depth_for(records, segments_.shape().slots(), segments_.shape().probe);
  std::uint64_t needed = (segments_.shape().bytes() << depth) + directory_bytes(depth),
                present = slots() / slots_per_bucket * sizeof(bucket);
  if (needed > present)
    if (status s = p_.reserve(needed - present); s != status::ok) return s;
  // ends: at each place as many rounds as its segment gets deeper
  for (std::uint64_t at = 0, next = 1; next != 0;) {
    segment s = segments_.lock(at);
    auto held = held_by(s);
    bool shallow = s.depth() < depth;
    if (shallow && !p_.may_change()) return status::io_error;
    settle(s);
    if (status answer = shallow ? split(s) : status::ok; answer != status::ok) return answer;
    if (!shallow) at = next = s.end();
  }
  return status::ok;
}

template <medium M, class Kind>
status table<M, Kind>::shrink_to_fit() {
  for (bool merged = true; merged;) {  // ends: each round but the last has a segment less
    merged = false;
    std::uint64_t at = 0;
    do {
      if (merge(at, segments_.shape().slots())) merged = true;  // if they fit
      at = segments_.of(at).end();
    } while (at != 0);
  }
  return status::ok;
}

template <medium M, class Kind>
status table<M, Kind>::move_arrays_down() {
  std::uint64_t at = 0;
  do {
    segment s = segments_.lock(at);
    auto held = held_by(s);
    if (status moved = move_segment_down(s); moved != status::ok) return moved;
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

/// Writes the segment anew if there is room in front of it. `s` is locked.
template <medium M, class Kind>
status table<M, Kind>::move_segment_down(const segment& s) {
  if (!heap_.has_room_before(s.offset(), segments_.shape().bytes())) return status::ok;
  if (!p_.may_change()) return status::io_error;
  rewrite(s);
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
  c.stripe = &segments_.stripes()[stripes::of(r.hash)];
  frame::replaces(load(m_, r.where->value), c);
  stage_update(*r.where, value_word, c);
  c.apart = true;
  frame::commit(c, std::move(started));
  return status::ok;
}

// ----------------------------------------------------------------------------------- a whole table

/// A directory and segments of at least that depth for these records, in place of what there is.
/// Nobody is at work. crash before the root's word is published: what was there stays.
template <medium M, class Kind>
status table<M, Kind>::build(std::vector<live_record> records, unsigned min_depth,
                             flushed started) {
  std::sort(records.begin(), records.end(), live_record::before);
  std::vector<checked_place> leaves;
  if (status s = build_segments(records, 0, 0, min_depth, leaves, started); s != status::ok)
    return s;
  unsigned depth = 0;
  for (checked_place l : leaves) depth = std::max(depth, l.exponent());
  if (depth > segments_.directory().exponent() && !in_proportion(depth, leaves.size()))
    return status::no_space;
  std::vector<std::uint64_t> entries;
  for (checked_place l : leaves)
    entries.insert(entries.end(), std::size_t{1} << (depth - l.exponent()), l.word);
  durahash::check(entries.size() == std::size_t{1} << depth, "the leaves fill the directory (C1)");
  if (!directory_.switch_to(
          depth, [&](std::uint64_t i) { return entries[i]; }, std::move(started)))
    return status::no_space;
  directory_.count_segments();
  return status::ok;
}

/// The segments for the records of one prefix, from left to right.
template <medium M, class Kind>
status table<M, Kind>::build_segments(std::span<const live_record> records, std::uint64_t prefix,
                                      unsigned depth, unsigned min_depth,
                                      std::vector<checked_place>& leaves, flushed& started) {
  if (depth >= min_depth && records.size() <= segments_.shape().slots()) {
    auto made = segments_.make();
    if (!made) return status::no_space;
    if (made->lay_out(records)) {
      started += made->finish();
      leaves.push_back(checked_place::of(made->offset(), depth));
      made->keep();
      return status::ok;
    }
  }
  if (depth == max_depth) return status::no_space;
  std::uint64_t right = prefix | std::uint64_t{1} << (63 - depth);
  auto middle =
      std::lower_bound(records.begin(), records.end(), right,
                       [](const live_record& r, std::uint64_t hash) { return r.hash < hash; });
  if (status s =
          build_segments({records.begin(), middle}, prefix, depth + 1, min_depth, leaves, started);
      s != status::ok)
    return s;
  return build_segments({middle, records.end()}, right, depth + 1, min_depth, leaves, started);
}

}  // namespace durahash::cceh
