// TurboHash: tells what lies where (engine/structure.hpp).
#pragma once

#include "engine/structure.hpp"
#include "engine/turbo/table.hpp"

namespace durahash::turbo {

template <medium M, class Kind>
void table<M, Kind>::each_part_of_table(part_visitor& v) {
  v.visit({.kind = "directory",
           .offset = p_.block().engine_offset,
           .bytes = p_.block().engine_bytes,
           .listed = true},
          [&](pool_part& into) {
            into.name = "directory";
            into.add("shards", std::uint64_t{first_node_});
            into.add("slots_per_bucket", std::uint64_t{slots_per_bucket});
            into.add("scope", std::uint64_t{scope_});
            into.add("first_buckets", power_of_two(first_log2_));
            into.add("collect_distance", std::uint64_t{collect_distance_});
            into.add("in_place", in_place_);
            if (max_level_ > level_of(first_node_))
              into.add("shard_buckets", power_of_two(most_log2_));
          });
  each_node([&](shard_index s) { each_part_of_shard(s, v); });
}

template <medium M, class Kind>
void table<M, Kind>::each_part_of_shard(shard_index s, part_visitor& v) {
  const shard_view array = view(s);
  if (array.is_part()) return;
  const bool is_split = array.is_split();
  std::uint64_t entry = p_.offset_of(&entry_of(s));
  std::string which = name_of(s);
  v.visit({.kind = "directory entry",
           .offset = entry,
           .bytes = sizeof(std::uint64_t),
           .state = is_split       ? "names a pair"
                    : array.none() ? "empty"
                                   : "names an array"},
          [&](pool_part& into) {
            into.name = "directory entry of " + which;
            if (is_split) return into.add("names", pairs_[s]);
            if (array.none()) return into.add("names", std::string("nothing: the shard is empty"));
            into.add("names", array.offset());
            into.add("buckets", array.buckets());
          });
  if (is_split)
    v.visit({.kind = "pair",
             .offset = pairs_[s],
             .bytes = sizeof(shard_pair),
             .named_by = entry,
             .state = "names two shards"},
            [&](pool_part& into) {
              into.name = "pair of " + which;
              into.add("first", name_of(2 * s));
              into.add("second", name_of(2 * s + 1));
            });
  if (array.none()) return;
  std::string size = power_of_two(array.log2_buckets()) + " buckets";
  v.visit({.kind = "array",
           .offset = array.offset(),
           .bytes = array.bytes(),
           .named_by = entry,
           .state = size},
          [&](pool_part& into) {
            into.name = "array of " + which;
            into.add("buckets", array.buckets());
          });
  for (std::uint64_t index = 0; index < array.buckets(); ++index)
    each_part_of_bucket(s, index, nullptr, v);
}

template <medium M, class Kind>
void table<M, Kind>::each_part_of_bucket(shard_index s, std::uint64_t index, const key_type* wanted,
                                         part_visitor& v) {
  bucket& b = buckets_of(view(s))[index];
  meta_word meta = load(m_, b.meta);
  auto which = [&] { return "bucket " + std::to_string(index) + " of " + name_of(s); };
  v.visit({.kind = "bucket",
           .offset = p_.offset_of(&b),
           .bytes = sizeof b,
           .state = meta.ends_path() ? "ends paths" : "paths pass"},
          [&](pool_part& into) {
            into.name = which();
            into.add("meta", hex(meta.bits));
            into.add("changes", meta.bits / meta_word::one_write);
            into.add("records", static_cast<std::uint64_t>(std::popcount(meta.live())));
            if (!meta.well_formed()) into.add("damaged", std::string("impossible bitmaps"));
          });
  for (int i = 0; i < slots_per_bucket; ++i) {
    slot& at = b.slots[i];
    bool live = (meta.live() >> i & 1) != 0, deleted = (meta.deleted() >> i & 1) != 0;
    std::uint64_t key_word = load(m_, at.key);
    live_record r{hash_of_slot(key_word), key_word, load(m_, at.value)};
    v.visit({.kind = "slot",
             .offset = p_.offset_of(&at),
             .bytes = sizeof at,
             .state = live      ? "live"
                      : deleted ? "deleted"
                                : "empty"},
            [&](pool_part& into) {
              into.name = "slot " + std::to_string(i) + " of " + which();
              if (!live) return;
              into.add("hash", hex(r.hash));
              into.add("tag", std::uint64_t{tag_at(b, i)});
              add_record<Kind>(m_, p_, r, wanted, into);
            });
    if (live) visit_record<Kind>(m_, p_, r, p_.offset_of(&at.value), v);
  }
}

template <medium M, class Kind>
void table<M, Kind>::each_candidate(key_type key, part_visitor& v) {
  std::uint64_t hash = Kind::hash(key, seeds_);
  shard_index s = leaf_of(hash);
  shard_view array = view(s);
  std::uint64_t home = home_of(s, hash, array.log2_buckets());
  std::uint64_t buckets = array.none() ? 0 : path_length(array, home);
  v.visit({.kind = "search", .offset = p_.offset_of(&entry_of(s)), .bytes = 0, .listed = true},
          [&](pool_part& into) {
            into.name = "search";
            into.add("hash", hex(hash));
            const std::uint64_t shards_there = std::uint64_t{1} << level_of(s);
            into.add("shard", s - shards_there);
            if (shards_there != first_node_) into.add("of_shards", shards_there);
            into.add("tag", std::uint64_t{tag_of(hash)});
            if (!array.none()) into.add("home_bucket", home);
            into.add("buckets", buckets);
          });
  for (std::uint64_t n = 0; n < buckets; ++n)
    each_part_of_bucket(s, (home + n) & (array.buckets() - 1), &key, v);
}

}  // namespace durahash::turbo
