// GPHash: tells what lies where (engine/structure.hpp).
#pragma once

#include "engine/gphash/table.hpp"
#include "engine/structure.hpp"

namespace durahash::gphash {

template <medium M, class Kind>
void table<M, Kind>::each_part_of_table(part_visitor& v) {
  const levels_view& now = levels();
  v.visit({.kind = "root",
           .offset = p_.offset_of(&root_of_table()),
           .bytes = sizeof(root),
           .listed = true},
          [&](pool_part& into) {
            geometry g{load(m_, root_of_table().geometry)};
            into.name = "root";
            into.add("bank", std::uint64_t{g.bank()});
            into.add("bottom_buckets", power_of_two(g.bottom()));
            into.add("levels", std::uint64_t{shape_.levels});
            into.add("hashes", std::uint64_t{shape_.hashes});
            into.add("slots_per_bucket", std::uint64_t{shape_.slots});
            if (Kind::fixed_key) into.add("key_bytes", std::uint64_t{shape_.key_bytes});
          });
  if constexpr (Kind::in_slot)
    for (int i = 0; i < static_cast<int>(first_fingerprint); ++i) each_escape(i, nullptr, v);
  for (const level_view& l : now.all()) each_part_of_level(l, v);
}

template <medium M, class Kind>
void table<M, Kind>::each_escape(int index, const key_type* wanted,
                                 part_visitor& v) requires(Kind::in_slot) {
  slot_ref at = escape_slot(index);
  bool live = load(m_, *at.state) == escape_fingerprint;
  v.visit(
      {.kind = "escape slot",
       .offset = p_.offset_of(at.state),
       .bytes = sizeof(slot),
       .state = live ? "live" : "empty"},
      [&](pool_part& into) {
        into.name = "escape slot " + std::to_string(index);
        if (!live) return;
        auto mixed = static_cast<std::uint64_t>(index);
        add_record<Kind>(m_, p_, {mixed, key_word_of(mixed), load(m_, *at.value)}, wanted, into);
      });
}

template <medium M, class Kind>
void table<M, Kind>::each_part_of_level(const level_view& l, part_visitor& v) {
  pm<std::uint64_t>& word = level_word(bank(), l.log2);
  std::string which = "level of " + power_of_two(l.log2) + " buckets";
  v.visit({.kind = "level word", .offset = p_.offset_of(&word), .bytes = sizeof word},
          [&](pool_part& into) {
            into.name = "word of the " + which;
            into.add("names", l.offset);
          });
  v.visit({.kind = "level",
           .offset = l.offset,
           .bytes = shape_.level_bytes(l.log2),
           .named_by = p_.offset_of(&word),
           .listed = true},
          [&](pool_part& into) {
            std::uint64_t records = 0;
            for (std::uint64_t n = 0; n < l.buckets(); ++n)
              for_each_resident(bucket_at(l, n), [&](const resident&) { ++records; });
            into.name = which;
            into.add("buckets", l.buckets());
            into.add("records", records);
          });
  for (std::uint64_t n = 0; n < l.buckets(); ++n) each_part_of_bucket(l, n, nullptr, v);
}

template <medium M, class Kind>
void table<M, Kind>::each_part_of_bucket(const level_view& l, std::uint64_t index,
                                         const key_type* wanted, part_visitor& v) {
  bucket b = bucket_at(l, index);
  v.visit({.kind = "bucket", .offset = p_.offset_of(b), .bytes = shape_.bucket_bytes()},
          [&](pool_part& into) {
            std::uint64_t records = 0;
            for_each_resident(b, [&](const resident&) { ++records; });
            into.name = name_of_bucket(l, index);
            into.add("records", records);
          });
  for (unsigned i = 0; i < shape_.slots; ++i) each_part_of_slot(l, index, i, wanted, v);
}

template <medium M, class Kind>
std::string table<M, Kind>::name_of_bucket(const level_view& l, std::uint64_t index) const {
  return "bucket " + std::to_string(index) + " of the level of " + power_of_two(l.log2);
}

/// A slot's words lie apart: its state counts as the slot.
template <medium M, class Kind>
void table<M, Kind>::each_part_of_slot(const level_view& l, std::uint64_t index, unsigned i,
                                       const key_type* wanted, part_visitor& v) {
  slot_ref at = slot_at(bucket_at(l, index), i);
  std::uint64_t state = load(m_, *at.state);
  bool live = state >= first_fingerprint;
  found_record r;
  r.hash = state, r.key_word = key_word_of(state), r.value_word = load(m_, *at.value);
  if constexpr (Kind::fixed_key)
    r.key = {reinterpret_cast<const char*>(at.key->raw()), shape_.key_bytes};
  auto which = [&] { return "slot " + std::to_string(i) + " of " + name_of_bucket(l, index); };
  v.visit({.kind = "slot",
           .offset = p_.offset_of(at.state),
           .bytes = sizeof *at.state,
           .state = live                   ? "live"
                    : state == empty_state ? "empty"
                                           : "claimed"},
          [&](pool_part& into) {
            into.name = which();
            if (!live) return;
            into.add("hash", hex(r.hash));
            add_record<Kind>(m_, p_, r, wanted, into);
          });
  v.visit({.kind = "value word", .offset = p_.offset_of(at.value), .bytes = sizeof *at.value},
          [&](pool_part& into) { into.name = "value word of " + which(); });
  if constexpr (Kind::fixed_key)
    v.visit({.kind = "key", .offset = p_.offset_of(at.key), .bytes = shape_.key_bytes},
            [&](pool_part& into) { into.name = "key of " + which(); });
  if (live) visit_record<Kind>(m_, p_, r, p_.offset_of(at.value), v);
}

template <medium M, class Kind>
void table<M, Kind>::each_candidate(key_type key, part_visitor& v) {
  const levels_view& now = levels();
  candidates s = candidates_of(hash_of(key));
  v.visit({.kind = "search", .offset = p_.offset_of(&root_of_table()), .bytes = 0, .listed = true},
          [&](pool_part& into) {
            into.name = "search";
            into.add("hash", hex(s.hash));
            into.add("fingerprint", hex(s.fingerprint));
            for (unsigned n = 0; n < shape_.hashes; ++n)
              into.add("place_" + std::to_string(n), hex(s.place[n]));
            into.add("buckets", std::uint64_t{now.count} * shape_.hashes);
          });
  if constexpr (Kind::in_slot)
    if (s.escape >= 0) return each_escape(s.escape, &key, v);
  for (const level_view& l : now.all())
    for (unsigned n = 0; n < shape_.hashes; ++n)
      each_part_of_bucket(l, number(l, s.place[n]), &key, v);
}

}  // namespace durahash::gphash
