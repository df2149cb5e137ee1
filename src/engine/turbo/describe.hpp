// TurboHash: tells what lies where (engine/structure.hpp), and figures.
#pragma once

#include <algorithm>
#include <bit>
#include <string>

#include "engine/turbo/rebuild.hpp"
#include "engine/turbo/table.hpp"

namespace durahash::turbo {

/// Of a table that nobody writes to.
template <medium M, class Kind>
class table<M, Kind>::describer {
 public:
  describer(const table& t, part_visitor& v)
      : t_(t), m_(t.m_), p_(t.p_), shards_(t.shards_), visitor_(v) {}

  void each_part() {
    directory();
    shards_.each([&](shard_index s) { shard(s); });
  }

  /// The buckets that a search for the key looks at.
  void each_candidate(key_type key) {
    const std::uint64_t hash = Kind::hash(key, t_.seeds_);
    const shard_index s = shards_.leaf_of(hash);
    const shard_view v = shards_.view(s);
    const std::uint64_t home = home_of(s, hash, v.log2_buckets());
    const std::uint64_t buckets = v.none() ? 0 : t_.path(v).length_from(home);
    visitor_.visit({.kind = "search",
                    .offset = p_.offset_of(&shards_.entry_of(s)),
                    .bytes = 0,
                    .listed = true},
                   [&](pool_part& into) {
                     into.name = "search";
                     into.add("hash", hex(hash));
                     const std::uint64_t shards_there = std::uint64_t{1} << level_of(s);
                     into.add("shard", s - shards_there);
                     if (shards_there != shards_.first_node()) into.add("of_shards", shards_there);
                     into.add("tag", std::uint64_t{tag_of(hash)});
                     if (!v.none()) into.add("home_bucket", home);
                     into.add("buckets", buckets);
                   });
    for (std::uint64_t n = 0; n < buckets; ++n) one_bucket(s, (home + n) & (v.buckets() - 1), &key);
  }

 private:
  void directory() {
    visitor_.visit({.kind = "directory",
                    .offset = p_.block().engine_offset,
                    .bytes = p_.block().engine_bytes,
                    .listed = true},
                   [&](pool_part& into) {
                     into.name = "directory";
                     into.add("shards", std::uint64_t{shards_.first_node()});
                     into.add("slots_per_bucket", std::uint64_t{slots_per_bucket});
                     into.add("scope", std::uint64_t{t_.scope_});
                     into.add("first_buckets", power_of_two(t_.first_log2_));
                     into.add("collect_distance", std::uint64_t{t_.collect_distance_});
                     into.add("in_place", t_.in_place_);
                     if (shards_.may_be_split(shards_.first_node()))
                       into.add("shard_buckets", power_of_two(t_.most_log2_));
                   });
  }

  void shard(shard_index s) {
    const shard_view v = shards_.view(s);
    if (v.is_part()) return;
    entry(s);
    if (v.is_split()) pair(s);
    if (!v.none()) array(s);
  }

  void entry(shard_index s) {
    const shard_view v = shards_.view(s);
    visitor_.visit({.kind = "directory entry",
                    .offset = p_.offset_of(&shards_.entry_of(s)),
                    .bytes = sizeof(std::uint64_t),
                    .state = v.is_split() ? "names a pair"
                             : v.none()   ? "empty"
                                          : "names an array"},
                   [&](pool_part& into) {
                     into.name = "directory entry of " + shards_.name_of(s);
                     if (v.is_split()) return into.add("names", shards_.pair_of(s));
                     if (v.none())
                       return into.add("names", std::string("nothing: the shard is empty"));
                     into.add("names", v.offset());
                     into.add("buckets", v.buckets());
                   });
  }

  void pair(shard_index s) {
    visitor_.visit({.kind = "pair",
                    .offset = shards_.pair_of(s),
                    .bytes = sizeof(shard_pair),
                    .named_by = p_.offset_of(&shards_.entry_of(s)),
                    .state = "names two shards"},
                   [&](pool_part& into) {
                     into.name = "pair of " + shards_.name_of(s);
                     into.add("first", shards_.name_of(2 * s));
                     into.add("second", shards_.name_of(2 * s + 1));
                   });
  }

  void array(shard_index s) {
    const shard_view v = shards_.view(s);
    const std::string size = power_of_two(v.log2_buckets()) + " buckets";
    visitor_.visit({.kind = "array",
                    .offset = v.offset(),
                    .bytes = v.bytes(),
                    .named_by = p_.offset_of(&shards_.entry_of(s)),
                    .state = size},
                   [&](pool_part& into) {
                     into.name = "array of " + shards_.name_of(s);
                     into.add("buckets", v.buckets());
                   });
    for (std::uint64_t index = 0; index < v.buckets(); ++index) one_bucket(s, index, nullptr);
  }

  void one_bucket(shard_index s, std::uint64_t index, const key_type* wanted) {
    const bucket& b = shards_.buckets_of(shards_.view(s))[index];
    const meta_word meta = load(m_, b.meta);
    auto which = [&] { return "bucket " + std::to_string(index) + " of " + shards_.name_of(s); };
    visitor_.visit({.kind = "bucket",
                    .offset = p_.offset_of(&b),
                    .bytes = sizeof b,
                    .state = meta.ends_path() ? "ends paths" : "paths pass"},
                   [&](pool_part& into) {
                     into.name = which();
                     into.add("meta", hex(meta.bits));
                     into.add("changes", meta.bits / meta_word::one_write);
                     into.add("records", static_cast<std::uint64_t>(std::popcount(meta.live())));
                     if (!meta.well_formed())
                       into.add("damaged", std::string("impossible bitmaps"));
                   });
    for (int i = 0; i < slots_per_bucket; ++i) {
      const slot& at = b.slots[i];
      const bool live = (meta.live() >> i & 1) != 0, deleted = (meta.deleted() >> i & 1) != 0;
      const std::uint64_t key_word = load(m_, at.key);
      const live_record r{t_.hash_of_slot(key_word), key_word, load(m_, at.value)};
      visitor_.visit({.kind = "slot",
                      .offset = p_.offset_of(&at),
                      .bytes = sizeof at,
                      .state = live      ? "live"
                               : deleted ? "deleted"
                                         : "empty"},
                     [&](pool_part& into) {
                       into.name = "slot " + std::to_string(i) + " of " + which();
                       if (!live) return;
                       into.add("hash", hex(r.hash));
                       into.add("tag", std::uint64_t{tag_at(m_, b, i)});
                       add_record<Kind>(m_, p_, r, wanted, into);
                     });
      if (live) visit_record<Kind>(m_, p_, r, p_.offset_of(&at.value), visitor_);
    }
  }

  const table& t_;
  M& m_;
  const pool<M>& p_;
  const shards<M>& shards_;
  part_visitor& visitor_;
};

// ----------------------------------------------------------------------------------------- figures

template <medium M, class Kind>
void table<M, Kind>::describe(table_stats& stats) {
  std::uint64_t buckets = 0, probed_sum = 0, probed_most = 0, deleted = 0, largest = 0, arrays = 0;
  std::uint64_t count = 0;
  shards_.each([&](shard_index s) {
    [[maybe_unused]] read_guard guard = reading();
    const shard_view v = view(s);
    const path_in<M> paths = path(v);
    count += !v.elsewhere();
    arrays += !v.none();
    largest = std::max(largest, v.buckets());
    buckets += v.buckets();
    deleted += rebuilding(*this).deleted_in(v);
    for (std::uint64_t home = 0; home < v.buckets(); ++home) {
      const std::uint64_t reach = paths.length_from(home);
      probed_sum += reach;
      probed_most = std::max(probed_most, reach);
    }
  });
  add_figures(stats, {{"shards", count},
                      {"shards_in_use", arrays},
                      {"largest_shard_buckets", largest},
                      {"buckets", buckets},
                      {"deleted_slots", deleted},
                      {"negative_probe_mean", mean_of(probed_sum, buckets)},
                      {"negative_probe_max", probed_most},
                      {"resizes", resizes_.load()},
                      {"collections", collections_.load()},
                      {"splits", splits_.load()}});
}

}  // namespace durahash::turbo
