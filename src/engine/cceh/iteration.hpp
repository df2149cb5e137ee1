// CCEH: iteration. Stretches are segments.
#pragma once

#include "engine/cceh/table.hpp"

namespace durahash::cceh {

/// Calls visit(resident) for each record of the segment that is not stale.
template <medium M, class Kind>
template <class Visit>
[[gnu::always_inline]] inline void table<M, Kind>::for_each_resident(const segment& s,
                                                                     Visit&& visit) const {
  const std::uint64_t prefix = s.prefix, of_prefix = prefix_mask(s.depth());
  bucket* const first = buckets_at(s.offset());
  bucket* const end = first + shape_.buckets();
  for (bucket* b = first; b != end; ++b)
    for (slot& at : b->slots) {
      const std::uint64_t key_word = load(m_, at.key);
      if (key_word == empty_word || key_word == removed_word) continue;
      const std::uint64_t hash = hash_of_slot(key_word);
      if ((hash & of_prefix) == prefix)
        visit(resident{
            {hash, key_word, load(m_, at.value)}, &at, static_cast<std::uint32_t>(b - first)});
    }
}

template <medium M, class Kind>
auto table<M, Kind>::residents(const segment& s) const -> std::vector<resident> {
  std::vector<resident> found;
  found.reserve(shape_.slots());
  for_each_resident(s, [&](const resident& r) { found.push_back(r); });
  return found;
}

/// Calls visit(record) for those of the two records in the escape slots whose hashes are the
/// segment's.
template <medium M, class Kind>
template <class Visit>
void table<M, Kind>::for_each_escaped([[maybe_unused]] const segment& s,
                                      [[maybe_unused]] Visit&& visit) const {
  if constexpr (Kind::in_slot) {
    for (std::uint64_t key : {empty_word, removed_word}) {
      std::uint64_t hash = hash_of_slot(key);
      std::optional<value_type> value;
      unsigned buckets = 0;
      if (s.owns(hash) && probe(escape_window(key), key, value, buckets) == probed::hit)
        visit(live_record{hash, key, *value});
    }
  }
}

template <medium M, class Kind>
std::uint32_t table<M, Kind>::escaped_count() const {
  std::uint32_t count = 0;
  for_each_escaped(everything(), [&](const live_record&) { ++count; });
  return count;
}

/// A segment's.
template <medium M, class Kind>
std::optional<std::uint64_t> table<M, Kind>::read_stretch(std::uint64_t position, stretch& found) {
  segment s = segment_under_guard(position);
  segment escape = escape_segment();
  found.records.clear();
  for_each_escaped(s, [&](const live_record& r) { found.records.push_back(r); });
  for_each_resident(s, [&](const resident& r) { found.records.push_back(r); });
  if (!unchanged(s) || !unchanged(escape)) return std::nullopt;
  auto buckets = static_cast<unsigned>(shape_.buckets());
  settle_for_reader(s.stripe, {buckets_at(s.offset()), 0, shape_.mask(), 0, 0}, buckets);
  settle_for_reader(stripes::of_escapes, escape_window({}), 1);
  return s.end();
}

}  // namespace durahash::cceh
