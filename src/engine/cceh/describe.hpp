// CCEH: tells what lies where (engine/structure.hpp).
#pragma once

#include "engine/cceh/table.hpp"
#include "engine/structure.hpp"

namespace durahash::cceh {

template <medium M, class Kind>
void table<M, Kind>::each_part_of_table(part_visitor& v) {
  directory_view d = segments_.directory();
  std::uint64_t root_word = p_.offset_of(&segments_.root_of_table().directory);
  v.visit({.kind = "root", .offset = root_word, .bytes = sizeof(root), .listed = true},
          [&](pool_part& into) {
            into.name = "root";
            into.add("directory", d.offset());
            into.add("global_depth", std::uint64_t{d.exponent()});
            into.add("buckets_per_segment", segments_.shape().buckets());
            into.add("probe", std::uint64_t{segments_.shape().probe});
            into.add("copy_on_write", copy_on_write_);
          });
  each_part_of_bucket(segments_.of_escapes(), 0, nullptr, v);
  v.visit({.kind = "directory",
           .offset = d.offset(),
           .bytes = std::uint64_t{8} << d.exponent(),
           .named_by = root_word,
           .listed = true},
          [&](pool_part& into) {
            into.name = "directory";
            into.add("entries", std::uint64_t{1} << d.exponent());
          });
  for (std::uint64_t i = 0; i < std::uint64_t{1} << d.exponent(); ++i) each_part_of_entry(i, v);
  segments_.for_each([&](const segment& s) { each_part_of_segment(s, v); });
}

template <medium M, class Kind>
void table<M, Kind>::each_part_of_entry(std::uint64_t index, part_visitor& v) const {
  pm<std::uint64_t>& word = segments_.entries_of(segments_.directory().offset())[index];
  checked_place names{load(m_, word)};
  v.visit({.kind = "directory entry", .offset = p_.offset_of(&word), .bytes = sizeof word},
          [&](pool_part& into) {
            into.name = "directory entry " + std::to_string(index);
            into.add("names", names.offset());
            into.add("local_depth", std::uint64_t{names.exponent()});
            if (!names.sound()) into.add("damaged", std::string("its check bits are wrong"));
          });
}

/// By the bits that its hashes begin with.
template <medium M, class Kind>
std::string table<M, Kind>::name_of(const segment& s) const {
  if (s.stripe == stripes::of_escapes) return "the escape slots";
  if (s.depth() == 0) return "the only segment";
  std::string bits;
  for (unsigned i = 0; i < s.depth(); ++i) bits += (s.prefix >> (63 - i) & 1) != 0 ? '1' : '0';
  return "segment " + bits;
}

template <medium M, class Kind>
void table<M, Kind>::each_part_of_segment(const segment& s, part_visitor& v) const {
  std::string depth = "depth " + std::to_string(s.depth());
  unsigned global_depth = s.directory.exponent();
  v.visit({.kind = "segment",
           .offset = s.offset(),
           .bytes = segments_.shape().bytes(),
           .named_by = p_.offset_of(s.named),
           .state = depth},
          [&](pool_part& into) {
            into.name = name_of(s);
            into.add("local_depth", std::uint64_t{s.depth()});
            if (s.depth() <= global_depth)
              into.add("directory_entries", std::uint64_t{1} << (global_depth - s.depth()));
            into.add("records", std::uint64_t{reader_.all_of(s).size()});
          });
  for (std::uint64_t b = 0; b < segments_.shape().buckets(); ++b)
    each_part_of_bucket(s, b, nullptr, v);
}

template <medium M, class Kind>
void table<M, Kind>::each_part_of_bucket(const segment& s, std::uint64_t index,
                                         const key_type* wanted, part_visitor& v) const {
  bool escape = s.stripe == stripes::of_escapes;
  const bucket& b = escape ? segments_.root_of_table().escapes : segments_.buckets_of(s)[index];
  auto which = [&] {
    return escape ? name_of(s) : "bucket " + std::to_string(index) + " of " + name_of(s);
  };
  v.visit({.kind = escape ? "escape bucket" : "bucket",
           .offset = p_.offset_of(&b),
           .bytes = sizeof b,
           .state = escape                          ? ""
                    : match(m_, b, empty_word) != 0 ? "ends paths"
                                                    : "paths pass"},
          [&](pool_part& into) { into.name = which(); });
  for (int i = 0; i < slots_per_bucket; ++i) {
    const slot& at = b.slots[i];
    std::uint64_t key_word = load(m_, at.key);
    if (escape && key_word == escape_of_removed) key_word = removed_word;
    else if (escape && key_word == escape_of_empty) key_word = empty_word;
    bool filled =
        escape ? load(m_, at.key) != 0 : key_word != empty_word && key_word != removed_word;
    live_record r{hash_of_slot(key_word), key_word, load(m_, at.value)};
    bool live = filled && (escape || s.owns(r.hash));
    v.visit({.kind = escape ? "escape slot" : "slot",
             .offset = p_.offset_of(&at),
             .bytes = sizeof at,
             .state = live                                ? "live"
                      : filled                            ? "stale"
                      : !escape && key_word != empty_word ? "removed"
                                                          : "empty"},
            [&](pool_part& into) {
              into.name = "slot " + std::to_string(i) + " of " + which();
              if (filled) into.add("hash", hex(r.hash));
              if (live) add_record<Kind>(m_, p_, r, wanted, into);
            });
    if (live) visit_record<Kind>(m_, p_, r, p_.offset_of(&at.value), v);
  }
}

template <medium M, class Kind>
void table<M, Kind>::each_candidate(key_type key, part_visitor& v) {
  std::uint64_t hash = hash_of<Kind>(key, seeds_);
  segment s = escapes<Kind>(key) ? segments_.of_escapes() : segments_.of(hash);
  window w = segments_.window_for(s, hash, key);
  unsigned buckets = 1;
  while (buckets < w.buckets && match(m_, w[buckets - 1], empty_word) == 0) ++buckets;
  v.visit({.kind = "search", .offset = p_.offset_of(s.named), .bytes = 0, .listed = true},
          [&](pool_part& into) {
            into.name = "search";
            into.add("hash", hex(hash));
            into.add("segment", name_of(s));
            into.add("home_bucket", w.home);
            into.add("buckets", std::uint64_t{buckets});
          });
  for (unsigned n = 0; n < buckets; ++n) each_part_of_bucket(s, (w.home + n) & w.mask, &key, v);
}

}  // namespace durahash::cceh
