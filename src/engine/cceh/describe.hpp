// CCEH: tells what lies where (engine/structure.hpp).
#pragma once

#include <string>

#include "engine/cceh/table.hpp"

namespace durahash::cceh {

/// Tells a visitor of a table's parts.
template <medium M, class Kind>
class table<M, Kind>::describer {
 public:
  describer(table& t, part_visitor& v) noexcept
      : t_(t), m_(t.m_), p_(t.p_), segments_(t.segments_), v_(v) {}

  void each_part() {
    const directory_view d = segments_.directory();
    v_.visit({.kind = "root",
              .offset = p_.offset_of(&segments_.root_of_table().directory),
              .bytes = sizeof(root),
              .listed = true},
             [&](pool_part& into) {
               into.name = "root";
               into.add("directory", d.offset());
               into.add("global_depth", std::uint64_t{d.exponent()});
               into.add("buckets_per_segment", segments_.shape().buckets());
               into.add("probe", std::uint64_t{segments_.shape().probe});
               into.add("copy_on_write", t_.copy_on_write_);
             });
    each_part_of_bucket(segments_.of_escapes(), 0);
    directory_in_use();
    segments_.for_each([&](const segment& s) { each_part_of(s); });
  }

  /// The buckets that a search for the key looks at.
  void each_candidate(key_type key) {
    const std::uint64_t hash = hash_of<Kind>(key, t_.seeds_);
    const segment s = segments_.for_key(key, hash);
    const window w = segments_.window_for(s, hash, key);
    unsigned buckets = 1;
    while (buckets < w.buckets && match(m_, w[buckets - 1], empty_word) == 0) ++buckets;
    v_.visit({.kind = "search", .offset = p_.offset_of(s.named), .bytes = 0, .listed = true},
             [&](pool_part& into) {
               into.name = "search";
               into.add("hash", hex(hash));
               into.add("segment", name_of(s));
               into.add("home_bucket", w.home);
               into.add("buckets", std::uint64_t{buckets});
             });
    for (unsigned n = 0; n < buckets; ++n) each_part_of_bucket(s, (w.home + n) & w.mask, &key);
  }

 private:
  void directory_in_use() {
    const directory_view d = segments_.directory();
    const std::uint64_t entries = std::uint64_t{1} << d.exponent();
    v_.visit({.kind = "directory",
              .offset = d.offset(),
              .bytes = 8 * entries,
              .named_by = p_.offset_of(&segments_.root_of_table().directory),
              .listed = true},
             [&](pool_part& into) {
               into.name = "directory";
               into.add("entries", entries);
             });
    for (std::uint64_t i = 0; i < entries; ++i) {
      pm<std::uint64_t>& word = segments_.entries_of(d.offset())[i];
      const checked_place names{load(m_, word)};
      v_.visit({.kind = "directory entry", .offset = p_.offset_of(&word), .bytes = sizeof word},
               [&](pool_part& into) {
                 into.name = "directory entry " + std::to_string(i);
                 into.add("names", names.offset());
                 into.add("local_depth", std::uint64_t{names.exponent()});
                 if (!names.sound()) into.add("damaged", std::string("its check bits are wrong"));
               });
    }
  }

  void each_part_of(const segment& s) {
    std::string depth = "depth " + std::to_string(s.depth());
    unsigned global_depth = s.directory.exponent();
    v_.visit({.kind = "segment",
              .offset = s.offset(),
              .bytes = segments_.shape().bytes(),
              .named_by = p_.offset_of(s.named),
              .state = depth},
             [&](pool_part& into) {
               into.name = name_of(s);
               into.add("local_depth", std::uint64_t{s.depth()});
               if (s.depth() <= global_depth)
                 into.add("directory_entries", std::uint64_t{1} << (global_depth - s.depth()));
               into.add("records", std::uint64_t{t_.reader_.all_of(s).size()});
             });
    for (std::uint64_t b = 0; b < segments_.shape().buckets(); ++b) each_part_of_bucket(s, b);
  }

  void each_part_of_bucket(const segment& s, std::uint64_t index,
                           const key_type* wanted = nullptr) {
    const bool escape = is_escapes(s);
    const bucket& b = escape ? segments_.root_of_table().escapes : segments_.buckets_of(s)[index];
    auto which = [&] {
      return escape ? name_of(s) : "bucket " + std::to_string(index) + " of " + name_of(s);
    };
    v_.visit({.kind = escape ? "escape bucket" : "bucket",
              .offset = p_.offset_of(&b),
              .bytes = sizeof b,
              .state = escape                          ? ""
                       : match(m_, b, empty_word) != 0 ? "ends paths"
                                                       : "paths pass"},
             [&](pool_part& into) { into.name = which(); });
    for (int i = 0; i < slots_per_bucket; ++i)
      each_part_of_slot(
          s, b.slots[i], [&] { return "slot " + std::to_string(i) + " of " + which(); }, wanted);
  }

  template <class Name>
  void each_part_of_slot(const segment& s, const slot& at, Name&& name, const key_type* wanted) {
    const bool escape = is_escapes(s);
    std::uint64_t key_word = load(m_, at.key);
    if (escape && key_word == escape_of_removed) key_word = removed_word;
    else if (escape && key_word == escape_of_empty) key_word = empty_word;
    const bool filled =
        escape ? load(m_, at.key) != 0 : key_word != empty_word && key_word != removed_word;
    const live_record r{t_.reader_.hash_of_slot(key_word), key_word, load(m_, at.value)};
    const bool live = filled && (escape || s.owns(r.hash));
    v_.visit({.kind = escape ? "escape slot" : "slot",
              .offset = p_.offset_of(&at),
              .bytes = sizeof at,
              .state = live                                ? "live"
                       : filled                            ? "stale"
                       : !escape && key_word != empty_word ? "removed"
                                                           : "empty"},
             [&](pool_part& into) {
               into.name = name();
               if (filled) into.add("hash", hex(r.hash));
               if (live) add_record<Kind>(m_, p_, r, wanted, into);
             });
    if (live) visit_record<Kind>(m_, p_, r, p_.offset_of(&at.value), v_);
  }

  static bool is_escapes(const segment& s) noexcept { return s.stripe == stripes::of_escapes; }

  /// By the bits that its hashes begin with.
  static std::string name_of(const segment& s) {
    if (is_escapes(s)) return "the escape slots";
    if (s.depth() == 0) return "the only segment";
    std::string bits;
    for (unsigned i = 0; i < s.depth(); ++i) bits += (s.prefix >> (63 - i) & 1) != 0 ? '1' : '0';
    return "segment " + bits;
  }

  table& t_;
  M& m_;
  pool<M>& p_;
  segments_type& segments_;
  part_visitor& v_;
};

}  // namespace durahash::cceh
