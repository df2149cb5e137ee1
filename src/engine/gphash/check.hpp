// GPHash: verifies every invariant over every byte that is reachable, and tells figures.
#pragma once

#include "engine/gphash/table.hpp"

namespace durahash::gphash {

template <medium M, class Kind>
std::string table<M, Kind>::where(const level_view& l, std::uint64_t index) const {
  return "level of 2^" + std::to_string(l.log2) + " buckets at offset " + std::to_string(l.offset) +
         ", bucket " + std::to_string(index);
}

template <medium M, class Kind>
std::string table<M, Kind>::fault_of(const found_record& r) const {
  return durahash::fault_of<Kind>(m_, p_, seeds_, r,
                                  [this](key_type key, const hash_seeds&) { return hash_of(key); });
}

/// Whether a search for the hash looks into the bucket.
template <medium M, class Kind>
bool table<M, Kind>::belongs(const level_view& l, std::uint64_t index, std::uint64_t hash) const {
  return places_.place_in(hash, l.log2, index) >= 0;
}

template <medium M, class Kind>
std::uint64_t table<M, Kind>::check_units(violations& violated, std::uint64_t& reached_bytes) {
  const levels_view& v = levels();
  geometry g{load(m_, root_of_table().geometry)};
  if (!g.sound() || g.bottom() + shape_.levels - 1 != v.at[0].log2)
    violated("the root does not name the levels in use");
  if (coming_.is_begun()) reached_bytes += cell_bytes_for(shape_.level_bytes(top_to_be_.log2));
  std::uint64_t records = check_escapes(violated);
  std::vector<found_record> seen;
  for (const level_view& l : v.all()) records += check_level(l, violated, reached_bytes, seen);
  std::sort(seen.begin(), seen.end(), live_record::before);
  for (std::size_t i = 0; i < seen.size(); ++i)
    if (seen_before<Kind>(m_, p_, seen, i)) violated("a key lives in two slots");
  return records;
}

/// G1, and that the root names the level. Returns its records, and adds them to `seen`.
template <medium M, class Kind>
std::uint64_t table<M, Kind>::check_level(const level_view& l, violations& violated,
                                          std::uint64_t& reached_bytes,
                                          std::vector<found_record>& seen) {
  std::uint64_t bytes = shape_.level_bytes(l.log2), records = 0;
  reached_bytes += cell_bytes_for(bytes);
  if (!heap_.holds(l.offset, bytes))
    violated("the level at offset " + std::to_string(l.offset) + " is not allocated");
  if (load(m_, level_word(bank(), l.log2)) != checked_place::of(l.offset, l.log2).word)
    violated("the root does not name the level of 2^" + std::to_string(l.log2) + " buckets in use");
  for (std::uint64_t index = 0; index < l.buckets(); ++index) {
    bucket b = bucket_at(l, index);
    for (unsigned i = 0; i < shape_.slots && !p_.read_only(); ++i)
      if (std::uint64_t state = load(m_, *slot_at(b, i).state);
          state != empty_state && state < first_fingerprint)
        violated(where(l, index) + ": a slot is neither empty nor a record's");
    for_each_resident(b, [&](const resident& r) {
      ++records;
      seen.push_back(r);
      if (!belongs(l, index, r.hash)) violated(where(l, index) + ": a record out of place");
      if (std::string fault = fault_of(r); !fault.empty()) violated(where(l, index) + ": " + fault);
      if constexpr (!Kind::in_slot) {
        auto record = record_at(m_, p_, r.value_word);
        if (record && !heap_.holds(r.value_word, record->bytes()))
          violated(where(l, index) + ": the record at offset " + std::to_string(r.value_word) +
                   " is not allocated");
        if (record) reached_bytes += cell_bytes_for(record->bytes());
      }
    });
  }
  return records;
}

/// Returns the records in the escape slots.
template <medium M, class Kind>
std::uint64_t table<M, Kind>::check_escapes(violations& violated) {
  std::uint64_t records = 0;
  for (int i = 0; i < static_cast<int>(first_fingerprint); ++i) {
    std::uint64_t state = load(m_, *escape_slot(i).state);
    bool holds = Kind::in_slot && state == escape_fingerprint;
    records += holds;
    if (!holds && state != empty_state && !p_.read_only())
      violated("escape slot " + std::to_string(i) + " is neither empty nor a record's");
  }
  return records;
}

// ----------------------------------------------------------------------------------------- figures

template <medium M, class Kind>
void table<M, Kind>::describe(table_stats& stats) {
  const levels_view& v = levels();
  std::uint64_t records = 0, in_top = 0, hit_buckets = 0;
  auto add = [&](bucket b, bool top) {
    for_each_resident(b, [&](const resident& r) {
      ++records;
      in_top += top;
      candidates s = candidates_of(r.hash);
      for (unsigned n = 0; n < shape_.levels * shape_.hashes; ++n) {
        ++hit_buckets;
        if (bucket_of(v.at[n / shape_.hashes], s.place[n % shape_.hashes]) == b) break;
      }
    });
  };
  constexpr std::uint64_t at_once = 4096;  // buckets: nobody waits longer for this reader
  for (const level_view& l : v.all())
    for (std::uint64_t n = 0; n < l.buckets(); n += at_once) {
      [[maybe_unused]] read_guard guard = reading();
      if (&levels() != &v) break;  // these may be gone: what was seen has to do
      for (std::uint64_t each = n; each < std::min(n + at_once, l.buckets()); ++each)
        add(bucket_at(l, each), &l == v.at);
    }
  auto mean = [&](std::uint64_t sum) {
    return records == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(records);
  };
  stats.figures = {{"levels", static_cast<double>(shape_.levels)},
                   {"hashes", static_cast<double>(shape_.hashes)},
                   {"slots_per_bucket", static_cast<double>(shape_.slots)},
                   {"top_log2", static_cast<double>(v.at[0].log2)},
                   {"in_top", mean(in_top)},
                   {"positive_probe_mean", mean(hit_buckets)},
                   {"resizes", static_cast<double>(resizes_.load())},
                   {"rehashed", static_cast<double>(rehashed_.load())},
                   {"lost_claims", static_cast<double>(lost_claims_.load())}};
  if constexpr (Kind::fixed_key)
    stats.figures.push_back({"key_bytes", static_cast<double>(shape_.key_bytes)});
  if (v.cache == nullptr) return;
  bucket_cache::counts cache = v.cache->figures();
  stats.figures.push_back({"cache_copies", static_cast<double>(cache.copies)});
  stats.figures.push_back({"cache_looks", static_cast<double>(cache.looks)});
  stats.figures.push_back({"cache_loads", static_cast<double>(cache.loads)});
  stats.figures.push_back(
      {"cache_hit_rate",
       cache.looks == 0 ? 0 : static_cast<double>(cache.hits) / static_cast<double>(cache.looks)});
}

}  // namespace durahash::gphash
