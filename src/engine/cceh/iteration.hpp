// CCEH: iteration. Stretches are segments.
#pragma once

#include "engine/cceh/table.hpp"

namespace durahash::cceh {

/// A segment's.
template <medium M, class Kind>
std::optional<std::uint64_t> table<M, Kind>::read_stretch(std::uint64_t position, stretch& found) {
  segment s = segments_.under_guard(position);
  segment escape = segments_.of_escapes();
  found.records.clear();
  reader_.for_each_escaped(s, [&](const live_record& r) { found.records.push_back(r); });
  reader_.for_each(s, [&](const resident& r) { found.records.push_back(r); });
  if (!segments_.unchanged(s) || !segments_.unchanged(escape)) return std::nullopt;
  auto buckets = static_cast<unsigned>(segments_.shape().buckets());
  segments_.settle_for_reader(
      s.stripe, {segments_.buckets_of(s), 0, segments_.shape().mask(), 0, 0}, buckets);
  segments_.settle_for_reader(stripes::of_escapes, segments_.escape_window({}), 1);
  return s.end();
}

}  // namespace durahash::cceh
