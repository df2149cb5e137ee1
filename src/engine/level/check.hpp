// Level hashing: verifies every invariant over every byte that is reachable, and tells figures.
#pragma once

#include "engine/level/table.hpp"

namespace durahash::level {

template <medium M, class Kind>
std::string table<M, Kind>::where(const level_view& l, std::uint64_t index) const {
  return "level of 2^" + std::to_string(l.log2) + " buckets at offset " + std::to_string(l.offset) +
         ", bucket " + std::to_string(index);
}

template <medium M, class Kind>
std::uint64_t table<M, Kind>::check_units(violations& violated, std::uint64_t& reached_bytes) {
  const levels_view& v = levels_.now();
  if (prepared_ != 0) reached_bytes += cell_bytes_for(buckets_.shape.level_bytes(prepared_log2_));
  std::uint64_t records = 0;
  for (unsigned i = 0; i < v.count; ++i) records += check_level(v, i, violated, reached_bytes);
  return records - doubled_;
}

/// L1, L3, tags, and that the root names the level. Returns its records.
template <medium M, class Kind>
std::uint64_t table<M, Kind>::check_level(const levels_view& v, unsigned index,
                                          violations& violated, std::uint64_t& reached_bytes) {
  const level_view& l = v.at[index];
  std::uint64_t bytes = buckets_.shape.level_bytes(l.log2), records = 0, doubled = 0;
  reached_bytes += cell_bytes_for(bytes);
  if (!heap_.holds(l.offset, bytes))
    violated("the level at offset " + std::to_string(l.offset) + " is not allocated");
  checked_place named{load(m_, root_of(p_).levels[l.log2])};
  if (!named.sound() || named.offset() != l.offset)
    violated("the root does not name the level of 2^" + std::to_string(l.log2) + " buckets in use");
  for (std::uint64_t n = 0; n < std::uint64_t{1} << l.log2; ++n) {
    bucket b = buckets_.at(l, n);
    if ((buckets_.state_of(b).tokens() & ~buckets_.shape.all_tokens) != 0)
      violated(where(l, n) + ": a token of a slot that is not there");
    buckets_.for_each_resident(b, [&](const resident& r) {
      ++records;
      candidates s = second_maps_.candidates_of(r.hash, r.key_word);
      bool here[2] = {l.number(s.place[0]) == n, l.number(s.place[1]) == n};
      if (!here[0] && !here[1]) violated(where(l, n) + ": a record out of place");
      if ((buckets_.match(b, s.tag) >> r.slot & 1) == 0)
        violated(where(l, n) + ": a search for a key does not see its tag");
      for (unsigned which = 0; which < 2; ++which)
        if (here[which] && v.under_previous(index) &&
            !buckets_.state_of(v.at[index - 1].bucket_of(s.place[which])).admits(s.filter_class))
          violated(where(l, n) + ": a search for a key ends before it gets here");
      if (buckets_.copies_of(v, s, r) > 1) ++doubled;
      std::string fault = buckets_.fault_of(r);
      if (!fault.empty()) violated(where(l, n) + ": " + fault);
      if constexpr (!Kind::in_slot) {
        auto record = record_at(m_, p_, r.value_word);
        if (record && !heap_.holds(r.value_word, record->bytes()))
          violated(where(l, n) + ": the record at offset " + std::to_string(r.value_word) +
                   " is not allocated");
        if (record) reached_bytes += cell_bytes_for(record->bytes());
      }
    });
  }
  if (doubled != 0 && doubled_ == 0)
    violated("level of 2^" + std::to_string(l.log2) + " buckets: " + std::to_string(doubled) +
             " records are there twice");
  return records;
}

// ----------------------------------------------------------------------------------------- figures

template <medium M, class Kind>
void table<M, Kind>::describe(table_stats& stats) {
  const levels_view& v = levels_.now();
  std::uint64_t records = 0, in_top = 0, free_beside = 0, hit_buckets = 0, miss_buckets = 0;
  auto add = [&](bucket b, bool top) {
    buckets_.for_each_resident(b, [&](const resident& r) {
      ++records;
      in_top += top;
      free_beside += buckets_.free_slot(buckets_.state_of(b)) >= 0;
      candidates s = second_maps_.candidates_of(r.hash, r.key_word);
      bucket_reads seen, all;
      buckets_.look_everywhere(v, s, seen, [&](bucket where, bucket_state, int slot, unsigned) {
        return where == r.where && slot == r.slot;
      });
      hit_buckets += static_cast<unsigned>(std::popcount(seen.looked));
      ++s.tag;  // another key with these places
      s.filter_class = static_cast<std::uint8_t>((s.filter_class + 1) % filter_classes);
      buckets_.look_everywhere(v, s, all,
                               [](bucket, bucket_state, int, unsigned) { return false; });
      miss_buckets += static_cast<unsigned>(std::popcount(all.looked));
    });
  };
  constexpr std::uint64_t at_once = 4096;  // buckets: nobody waits longer for this reader
  for (unsigned i = 0; i < v.count; ++i)
    for (std::uint64_t n = 0, end = std::uint64_t{1} << v.at[i].log2; n < end; n += at_once) {
      [[maybe_unused]] read_guard guard = reading();
      if (&levels_.now() != &v) break;  // these may be gone: what was seen has to do
      for (std::uint64_t each = n; each < std::min(n + at_once, end); ++each)
        add(buckets_.at(v.at[i], each), i == 0);
    }
  auto mean = [&](std::uint64_t sum) {
    return records == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(records);
  };
  stats.figures = {{"levels", static_cast<double>(v.count)},
                   {"top_log2", static_cast<double>(v.at[0].log2)},
                   {"in_top", mean(in_top)},
                   {"free_beside", mean(free_beside)},
                   {"positive_probe_mean", mean(hit_buckets)},
                   {"negative_probe_mean", mean(miss_buckets)},
                   {"movements", static_cast<double>(movements_.load())},
                   {"expansions", static_cast<double>(expansions_.load())},
                   {"shrinks", static_cast<double>(shrinks_.load())},
                   {"rehashed", static_cast<double>(rehashed_.load())}};
}

}  // namespace durahash::level
