// CCEH: verifies every invariant over every byte that is reachable, and tells figures.
#pragma once

#include "engine/cceh/table.hpp"

namespace durahash::cceh {

template <medium M, class Kind>
std::string table<M, Kind>::where(const segment& s, std::uint64_t bucket) {
  return "segment at offset " + std::to_string(s.offset()) + ", bucket " + std::to_string(bucket);
}

template <medium M, class Kind>
std::string table<M, Kind>::fault_of(const live_record& r) const {
  return durahash::fault_of<Kind>(m_, p_, seeds_, r, hash_of<Kind>);
}

template <medium M, class Kind>
std::uint64_t table<M, Kind>::check_units(violations& violated, std::uint64_t& reached_bytes) {
  std::uint64_t records = check_escapes(violated);
  check_directory(violated, reached_bytes);
  segments_.for_each(
      [&](const segment& s) { records += check_segment(s, violated, reached_bytes); });
  return records;
}

/// C1, and that the root names the directory in use.
template <medium M, class Kind>
void table<M, Kind>::check_directory(violations& violated, std::uint64_t& reached_bytes) {
  directory_view now = segments_.directory();
  checked_place on_medium{load(m_, segments_.root_of_table().directory)};
  if (!on_medium.sound() || !now.mirrors(on_medium))
    violated("the root does not name the directory in use");
  reached_bytes += cell_bytes_for(directory_bytes(now.exponent()));
  if (!heap_.holds(now.offset(), directory_bytes(now.exponent())))
    violated("the directory is not allocated");
  std::uint64_t deepest = 0;
  for (const leaf& l : read_tree(segments_.directory().exponent(), segments_.entry_reader())) {
    if (l.state != detail::node_state::whole && !p_.read_only())
      violated("the directory entries from " + std::to_string(l.where.begin) + " to " +
               std::to_string(l.where.begin + l.where.count - 1) + " do not name one segment");
    deepest += l.where.level == now.exponent();
  }
  if (!p_.read_only() && deepest != directory_.deepest())
    violated("the deepest segments are " + std::to_string(deepest) + ", not " +
             std::to_string(directory_.deepest()));
}

/// C2. Returns the records in the segment.
template <medium M, class Kind>
std::uint64_t table<M, Kind>::check_segment(const segment& s, violations& violated,
                                            std::uint64_t& reached_bytes) {
  reached_bytes += cell_bytes_for(segments_.shape().bytes());
  if (!heap_.holds(s.offset(), segments_.shape().bytes()))
    violated("the segment at offset " + std::to_string(s.offset()) + " is not allocated");
  std::vector<resident> found = reader_.all_of(s);
  for (const resident& r : found) {
    if (segments_.shape().distance_of(r.hash, r.bucket) >= segments_.shape().probe ||
        !reader_.reaches(s, r))
      violated(where(s, r.bucket) + ": a search for a key ends before it gets here");
    if (std::string fault = fault_of(r); !fault.empty())
      violated(where(s, r.bucket) + ": " + fault);
    if constexpr (!Kind::in_slot) {
      auto record = record_at(m_, p_, r.value_word);
      if (record && !heap_.holds(r.value_word, record->bytes()))
        violated(where(s, r.bucket) + ": the record at offset " + std::to_string(r.value_word) +
                 " is not allocated");
      if (record) reached_bytes += cell_bytes_for(record->bytes());
    }
  }
  std::sort(found.begin(), found.end(), live_record::before);
  for (std::size_t i = 0; i < found.size(); ++i)
    if (seen_before<Kind>(m_, p_, found, i))
      violated("segment at offset " + std::to_string(s.offset()) + ": a key lives in two slots");
  return found.size();
}

/// Returns the records in the escape slots.
template <medium M, class Kind>
std::uint64_t table<M, Kind>::check_escapes(violations& violated) {
  const bucket& b = segments_.root_of_table().escapes;
  if (impossible_escapes<Kind>(m_, b) != 0)
    violated("the escape slots hold a key that cannot be there");
  std::uint32_t present = match(m_, b, escape_of_empty) | match(m_, b, escape_of_removed);
  return static_cast<std::uint64_t>(std::popcount(present));
}

// ----------------------------------------------------------------------------------------- figures

template <medium M, class Kind>
void table<M, Kind>::describe(table_stats& stats) {
  std::uint64_t segments = 0, deepest = 0, removed = 0, stale = 0, reach_sum = 0, reach_most = 0,
                hits = 0, hit_lines = 0;
  segments_.for_each([&](const segment& s) {
    ++segments;
    deepest = std::max<std::uint64_t>(deepest, s.depth());
    bucket* first = segments_.buckets_of(s);
    std::uint64_t mask = segments_.shape().mask();
    for (std::uint64_t home = 0; home < segments_.shape().buckets(); ++home) {
      removed += static_cast<unsigned>(std::popcount(match(m_, first[home], removed_word)));
      for (const slot& at : first[home].slots) {
        std::uint64_t word = load(m_, at.key);
        stale += word != empty_word && word != removed_word && !s.owns(hash_of_slot(word));
      }
      std::uint64_t reach = 1;
      while (reach < segments_.shape().probe &&
             match(m_, first[(home + reach - 1) & mask], empty_word) == 0)
        ++reach;
      reach_sum += reach;
      reach_most = std::max(reach_most, reach);
    }
    reader_.for_each(s, [&](const resident& r) {
      ++hits;
      hit_lines += segments_.shape().distance_of(r.hash, r.bucket) + 1;
    });
  });
  auto mean = [](std::uint64_t sum, std::uint64_t count) {
    return count == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(count);
  };
  stats.figures = {{"segments", static_cast<double>(segments)},
                   {"global_depth", static_cast<double>(segments_.directory().exponent())},
                   {"deepest_segment", static_cast<double>(deepest)},
                   {"removed_slots", static_cast<double>(removed)},
                   {"stale_slots", static_cast<double>(stale)},
                   {"positive_probe_mean", mean(hit_lines, hits)},
                   {"negative_probe_mean", mean(reach_sum, segments * segments_.shape().buckets())},
                   {"negative_probe_max", static_cast<double>(reach_most)},
                   {"splits", static_cast<double>(splits_.load())},
                   {"rewrites", static_cast<double>(rewrites_.load())},
                   {"merges", static_cast<double>(merges_.load())},
                   {"doublings", static_cast<double>(directory_.doublings())},
                   {"halvings", static_cast<double>(directory_.halvings())}};
}

}  // namespace durahash::cceh
