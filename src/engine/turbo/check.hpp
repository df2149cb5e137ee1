// TurboHash: verifies every invariant over every byte that is reachable.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "engine/frame/reached.hpp"
#include "engine/turbo/table.hpp"

namespace durahash::turbo {

/// Of a table that nobody writes to.
template <medium M, class Kind>
class table<M, Kind>::checker {
 public:
  checker(table& t, violations& violated, std::uint64_t& reached_bytes)
      : t_(t),
        m_(t.m_),
        shards_(t.shards_),
        violated_(violated),
        reached_(t.p_, t.heap_, violated, reached_bytes) {}

  /// Returns the records.
  std::uint64_t check() {
    return shards_.sum_of([&](shard_index s) { return check_shard(s); });
  }

 private:
  /// Returns the records in it.
  std::uint64_t check_shard(shard_index s) {
    const shard_view v = shards_.view(s);
    if (v.is_part()) return 0;
    const directory_entry entry{{load(m_, shards_.entry_of(s))}};
    const bool as_in_use = v.is_split() ? entry == directory_entry::of_pair(shards_.pair_of(s))
                                        : !entry.is_pair() && v.mirrors(entry);
    if (!entry.sound() || !as_in_use) {
      violated_(shards_.name_of(s) + ": the directory entry on the medium is not the one in use");
      return 0;
    }
    if (entry.none()) return 0;
    reached_.add(entry.offset(), entry.bytes(),
                 [&] { return shards_.name_of(s) + ": what it has"; });

    seen_.clear();
    for (std::uint64_t index = 0; index < v.buckets(); ++index) check_bucket(s, index);
    reached_.each_is_there_once(seen_, shards_.name_of(s) + ": ");
    return seen_.size();
  }

  void check_bucket(shard_index s, std::uint64_t index) {
    const meta_word meta = load(m_, shards_.buckets_of(shards_.view(s))[index].meta);
    if (!meta.well_formed())
      violated_(shards_.name_of(s) + ", bucket " + std::to_string(index) +
                ": impossible bitmaps (deleted without valid, or more than 13 valid)");
    for (std::uint32_t live = meta.live(); live != 0;) check_slot(s, index, take_lowest(live));
  }

  void check_slot(shard_index s, std::uint64_t index, int i) {
    const shard_view v = shards_.view(s);
    const bucket& b = shards_.buckets_of(v)[index];
    const std::uint64_t key_word = load(m_, b.slots[i].key);
    const live_record r{t_.hash_of_slot(key_word), key_word, load(m_, b.slots[i].value)};
    seen_.push_back(r);
    const std::string where =
        shards_.name_of(s) + ", bucket " + std::to_string(index) + ", slot " + std::to_string(i);
    if (tag_at(m_, b, i) != tag_of(r.hash)) violated_(where + ": the tag is not the key's");
    if (!belongs(s, r.hash))
      return violated_(where + ": the key belongs to " + shards_.name_of(shards_.leaf_of(r.hash)));
    if (!t_.path(v).reaches(home_of(s, r.hash, v.log2_buckets()), index))
      violated_(where + ": a search for the key ends before it gets here");
    if (std::string fault = fault_of<Kind>(m_, t_.p_, t_.seeds_, r, Kind::hash); !fault.empty())
      violated_(where + ": " + fault);
    reached_.add_record(r, [&] { return where; });
  }

  table& t_;
  M& m_;
  const shards<M>& shards_;
  violations& violated_;
  reached_parts<M, Kind> reached_;
  std::vector<live_record> seen_;  // of this shard
};

}  // namespace durahash::turbo
