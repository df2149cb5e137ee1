// TurboHash: verifies every invariant over every byte that is reachable, and tells figures.
#pragma once

#include "engine/turbo/table.hpp"

namespace durahash::turbo {

namespace detail {

inline std::string where(const std::string& shard, std::uint64_t bucket) {
  return shard + ", bucket " + std::to_string(bucket);
}
inline std::string where(const std::string& shard, std::uint64_t bucket, int slot) {
  return where(shard, bucket) + ", slot " + std::to_string(slot);
}

}  // namespace detail

template <medium M, class Kind>
std::uint64_t table<M, Kind>::check_units(violations& violated, std::uint64_t& reached_bytes) {
  std::uint64_t records = 0;
  each_node([&](shard_index s) { records += check_shard(s, violated, reached_bytes); });
  return records;
}

/// "shard 5"; of what was split "shard 10 of 128".
template <medium M, class Kind>
std::string table<M, Kind>::name_of(shard_index s) const {
  const shard_index nodes = shard_index{1} << level_of(s);
  return "shard " + std::to_string(s - nodes) +
         (nodes == first_node_ ? std::string() : " of " + std::to_string(nodes));
}

/// Returns the records in the shard.
template <medium M, class Kind>
std::uint64_t table<M, Kind>::check_shard(shard_index s, violations& violated,
                                          std::uint64_t& reached_bytes) {
  const shard_view v = view(s);
  if (v.is_part()) return 0;
  const directory_entry entry{{load(m_, entry_of(s))}};
  const bool as_in_use = v.is_split() ? entry == directory_entry::of_pair(pairs_[s])
                                      : !entry.is_pair() && v.mirrors(entry);
  if (!entry.sound() || !as_in_use) {
    violated(name_of(s) + ": the directory entry on the medium is not the one in use");
    return 0;
  }
  if (entry.none()) return 0;
  reached_bytes += cell_bytes_for(entry.bytes());
  if (!heap_.holds(entry.offset(), entry.bytes()))
    violated(name_of(s) + ": what it has is not allocated");

  std::vector<live_record> seen;
  for (std::uint64_t index = 0; index < v.buckets(); ++index)
    check_bucket(s, index, violated, seen, reached_bytes);
  std::sort(seen.begin(), seen.end(), live_record::before);
  for (std::size_t i = 0; i < seen.size(); ++i)
    if (seen_before<Kind>(m_, p_, seen, i)) violated(name_of(s) + ": a key lives in two slots");
  return seen.size();
}

template <medium M, class Kind>
void table<M, Kind>::check_bucket(shard_index s, std::uint64_t index, violations& violated,
                                  std::vector<live_record>& seen, std::uint64_t& reached_bytes) {
  shard_view v = view(s);
  bucket& b = buckets_of(v)[index];
  meta_word meta = load(m_, b.meta);
  if (!meta.well_formed())
    violated(detail::where(name_of(s), index) +
             ": impossible bitmaps (deleted without valid, or more than 13 valid)");
  for (std::uint32_t live = meta.live(); live != 0;) {
    int i = take_lowest(live);
    std::uint64_t key_word = load(m_, b.slots[i].key), value_word = load(m_, b.slots[i].value);
    std::uint64_t hash = hash_of_slot(key_word);
    seen.push_back({hash, key_word, value_word});
    if (tag_at(b, i) != tag_of(hash))
      violated(detail::where(name_of(s), index, i) + ": the tag is not the key's");
    if (!belongs(s, hash)) {
      violated(detail::where(name_of(s), index, i) + ": the key belongs to " +
               name_of(leaf_of(hash)));
      continue;
    }
    if (!on_path(s, hash, index))
      violated(detail::where(name_of(s), index, i) +
               ": a search for the key ends before it gets here");
    if constexpr (!Kind::in_slot) {
      auto record = record_at(m_, p_, value_word);
      if (std::string fault = fault_of<Kind>(m_, p_, seeds_, seen.back(), byte_records::hash);
          !fault.empty())
        violated(detail::where(name_of(s), index, i) + ": " + fault);
      else if (!heap_.holds(value_word, record->bytes()))
        violated(detail::where(name_of(s), index, i) + ": the record at offset " +
                 std::to_string(value_word) + " is not allocated");
      if (record) reached_bytes += cell_bytes_for(record->bytes());
    }
  }
}

/// Whether a search for the hash gets as far as this bucket.
template <medium M, class Kind>
bool table<M, Kind>::on_path(shard_index s, std::uint64_t hash, std::uint64_t index) const {
  const shard_view v = view(s);
  std::uint64_t mask = v.buckets() - 1, home = home_of(s, hash, v.log2_buckets());
  std::uint64_t distance = (index - home) & mask;
  if (distance >= scope_in(v)) return false;
  for (std::uint64_t d = 0; d < distance; ++d)
    if (load(m_, buckets_of(v)[(home + d) & mask].meta).ends_path()) return false;
  return true;
}

// ----------------------------------------------------------------------------------------- figures

/// Buckets that a search for an absent key with this home looks at, the home included.
template <medium M, class Kind>
std::uint64_t table<M, Kind>::path_length(shard_view v, std::uint64_t home) const {
  std::uint64_t length = 1;
  while (length < scope_in(v) &&
         !load(m_, buckets_of(v)[(home + length - 1) & (v.buckets() - 1)].meta).ends_path())
    ++length;
  return length;
}

template <medium M, class Kind>
void table<M, Kind>::describe(table_stats& stats) {
  std::uint64_t buckets = 0, probed_sum = 0, probed_most = 0, deleted = 0, largest = 0, arrays = 0;
  std::uint64_t shards = 0;
  each_node([&](shard_index s) {
    [[maybe_unused]] read_guard guard = reading();
    shard_view v = view(s);
    shards += !v.elsewhere();
    arrays += !v.none();
    largest = std::max(largest, v.buckets());
    for (std::uint64_t home = 0; home < v.buckets(); ++home) {
      deleted += static_cast<unsigned>(std::popcount(load(m_, buckets_of(v)[home].meta).deleted()));
      std::uint64_t reach = path_length(v, home);
      ++buckets;
      probed_sum += reach;
      probed_most = std::max(probed_most, reach);
    }
  });
  stats.figures = {
      {"shards", static_cast<double>(shards)},
      {"shards_in_use", static_cast<double>(arrays)},
      {"largest_shard_buckets", static_cast<double>(largest)},
      {"buckets", static_cast<double>(buckets)},
      {"deleted_slots", static_cast<double>(deleted)},
      {"negative_probe_mean",
       buckets == 0 ? 0 : static_cast<double>(probed_sum) / static_cast<double>(buckets)},
      {"negative_probe_max", static_cast<double>(probed_most)},
      {"resizes", static_cast<double>(resizes_.load())},
      {"collections", static_cast<double>(collections_.load())},
      {"splits", static_cast<double>(splits_.load())}};
}

}  // namespace durahash::turbo
