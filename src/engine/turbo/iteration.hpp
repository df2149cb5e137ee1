// TurboHash: iteration. Stretches are home buckets side by side of one shard.
#pragma once

#include "engine/turbo/table.hpp"

namespace durahash::turbo {

/// Adds those of a bucket's records whose hashes are in [first, last].
template <medium M, class Kind>
meta_word table<M, Kind>::collect(const bucket& b, std::uint64_t first, std::uint64_t last,
                                  std::vector<live_record>& found) const {
  const std::size_t before = found.size();
  while (true) {  // ends: each further round means that a writer of this bucket got on
    const meta_word meta = load(m_, b.meta);
    for (std::uint32_t live = meta.live(); live != 0;) {
      const slot& at = b.slots[take_lowest(live)];
      const std::uint64_t key_word = load(m_, at.key);
      if (M::planted("a-key-that-means-empty") && key_word == 0) continue;
      const std::uint64_t hash = hash_of_slot(key_word);
      if (hash - first <= last - first) found.push_back({hash, key_word, load(m_, at.value)});
    }
    if (load(m_, b.meta) == meta) return meta;
    found.resize(before);
  }
}

/// Calls visit(resident) for each record of an array that nobody else writes to.
template <medium M, class Kind>
template <class Visit>
void table<M, Kind>::for_each_resident(shard_view v, Visit&& visit) const {
  for (std::uint64_t index = 0; index < v.buckets(); ++index) {
    bucket& b = shards_.buckets_of(v)[index];
    for (std::uint32_t live = load(m_, b.meta).live(); live != 0;) {
      int i = take_lowest(live);
      std::uint64_t key_word = load(m_, b.slots[i].key);
      visit(resident{{hash_of_slot(key_word), key_word, load(m_, b.slots[i].value)}, &b, i});
    }
  }
}

/// That of some home buckets side by side: their paths end soon behind them (T1).
template <medium M, class Kind>
std::optional<std::uint64_t> table<M, Kind>::read_stretch(std::uint64_t position, stretch& found) {
  constexpr std::uint64_t homes = 16;
  const shard_index s = shards_.leaf_of(position);
  const unsigned level = level_of(s);
  const shard_view v = view(s);
  found.records.clear();
  if (v.elsewhere()) return std::nullopt;
  const std::uint64_t behind_shard = first_hash_of(std::uint64_t{s} + 1, level);
  if (v.none()) return behind_shard;
  const std::uint64_t first = home_of(s, position, v.log2_buckets());
  const std::uint64_t last = std::min(first + homes, v.buckets()) - 1, mask = v.buckets() - 1;
  const std::uint64_t end =
      last == mask ? behind_shard
                   : first_hash_of(s, level) + ((last + 1) << (64 - level - v.log2_buckets()));
  const std::uint64_t all = last - first + scope_in(v);  // buckets, if no path ends before
  unsigned buckets = 0;
  meta_word meta;
  do {
    const std::uint64_t n = first + buckets++;
    meta = collect(shards_.buckets_of(v)[n & mask], position, end - 1, found.records);
    if (n >= last && meta.ends_path()) break;
  } while (buckets < all && buckets < v.buckets());
  if (!view(s).same_array(v)) return std::nullopt;
  settle_for_reader(s, v, first, buckets);
  return end;
}

}  // namespace durahash::turbo
