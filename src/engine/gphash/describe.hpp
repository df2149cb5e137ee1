// GPHash: tells what lies where (engine/structure.hpp).
#pragma once

#include "engine/gphash/table.hpp"

namespace durahash::gphash {

template <medium M, class Kind>
class table<M, Kind>::describer {
 public:
  describer(table& t, part_visitor& v) : t_(t), p_(t.p_), m_(t.m_), b_(t.buckets_), v_(v) {}

  void each_part() {
    const levels_view& now = t_.levels_.now();
    v_.visit({.kind = "root",
              .offset = p_.offset_of(&root_of(p_)),
              .bytes = sizeof(root),
              .listed = true},
             [&](pool_part& into) {
               geometry g = t_.cells_.named();
               into.name = "root";
               into.add("bank", std::uint64_t{g.bank()});
               into.add("bottom_buckets", power_of_two(g.bottom()));
               into.add("levels", std::uint64_t{b_.form().levels});
               into.add("hashes", std::uint64_t{b_.form().hashes});
               into.add("slots_per_bucket", std::uint64_t{b_.form().slots});
               if (Kind::fixed_key) into.add("key_bytes", std::uint64_t{b_.form().key_bytes});
             });
    if constexpr (Kind::in_slot)
      for (int i = 0; i < static_cast<int>(first_fingerprint); ++i) each_escape(i, nullptr);
    for (const level_view& l : now.all()) each_part_of_level(l);
  }

  void each_candidate(key_type key) {
    const levels_view& now = t_.levels_.now();
    candidates s = b_.candidates_of(b_.hash_of(key));
    v_.visit({.kind = "search", .offset = p_.offset_of(&root_of(p_)), .bytes = 0, .listed = true},
             [&](pool_part& into) {
               into.name = "search";
               into.add("hash", hex(s.hash));
               into.add("fingerprint", hex(s.fingerprint));
               for (unsigned n = 0; n < b_.form().hashes; ++n)
                 into.add("place_" + std::to_string(n), hex(s.place[n]));
               into.add("buckets", std::uint64_t{now.count} * b_.form().hashes);
             });
    if constexpr (Kind::in_slot)
      if (s.escape >= 0) return each_escape(s.escape, &key);
    for (const level_view& l : now.all())
      for (unsigned n = 0; n < b_.form().hashes; ++n)
        each_part_of_bucket(l, bucket_number(s.place[n], l.log2), &key);
  }

 private:
  void each_escape(int index, const key_type* wanted) requires(Kind::in_slot) {
    auto at = b_.escape_slot(index);
    bool live = load(m_, *at.state) == escape_fingerprint;
    v_.visit({.kind = "escape slot",
              .offset = p_.offset_of(at.state),
              .bytes = sizeof(slot),
              .state = live ? "live" : "empty"},
             [&](pool_part& into) {
               into.name = "escape slot " + std::to_string(index);
               if (!live) return;
               auto mixed = static_cast<std::uint64_t>(index);
               add_record<Kind>(m_, p_, {mixed, b_.key_word_of(mixed), load(m_, *at.value)}, wanted,
                                into);
             });
  }

  void each_part_of_level(const level_view& l) {
    pm<std::uint64_t>& word = t_.cells_.word_of(l);
    std::string which = "level of " + power_of_two(l.log2) + " buckets";
    v_.visit({.kind = "level word", .offset = p_.offset_of(&word), .bytes = sizeof word},
             [&](pool_part& into) {
               into.name = "word of the " + which;
               into.add("names", l.offset);
             });
    v_.visit({.kind = "level",
              .offset = l.offset,
              .bytes = t_.cells_.bytes_of(l.log2),
              .named_by = p_.offset_of(&word),
              .listed = true},
             [&](pool_part& into) {
               std::uint64_t records = 0;
               for (std::uint64_t n = 0; n < l.buckets(); ++n)
                 b_.for_each_resident(b_.at(l, n), [&](const resident<Kind>&) { ++records; });
               into.name = which;
               into.add("buckets", l.buckets());
               into.add("records", records);
             });
    for (std::uint64_t n = 0; n < l.buckets(); ++n) each_part_of_bucket(l, n, nullptr);
  }

  void each_part_of_bucket(const level_view& l, std::uint64_t index, const key_type* wanted) {
    bucket_ref b = b_.at(l, index);
    v_.visit({.kind = "bucket", .offset = p_.offset_of(b), .bytes = b_.form().bucket_bytes()},
             [&](pool_part& into) {
               std::uint64_t records = 0;
               b_.for_each_resident(b, [&](const resident<Kind>&) { ++records; });
               into.name = name_of_bucket(l, index);
               into.add("records", records);
             });
    for (unsigned i = 0; i < b_.form().slots; ++i) each_part_of_slot(l, index, i, wanted);
  }

  std::string name_of_bucket(const level_view& l, std::uint64_t index) const {
    return "bucket " + std::to_string(index) + " of the level of " + power_of_two(l.log2);
  }

  /// A slot's words lie apart: its state counts as the slot.
  void each_part_of_slot(const level_view& l, std::uint64_t index, unsigned i,
                         const key_type* wanted) {
    auto at = b_.slot_at(b_.at(l, index), i);
    std::uint64_t state = load(m_, *at.state);
    bool live = state >= first_fingerprint;
    record_of<Kind> r;
    r.hash = state, r.key_word = b_.key_word_of(state), r.value_word = load(m_, *at.value);
    if constexpr (Kind::fixed_key)
      r.key = {reinterpret_cast<const char*>(at.key->raw()), b_.form().key_bytes};
    auto which = [&] { return "slot " + std::to_string(i) + " of " + name_of_bucket(l, index); };
    v_.visit({.kind = "slot",
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
    v_.visit({.kind = "value word", .offset = p_.offset_of(at.value), .bytes = sizeof *at.value},
             [&](pool_part& into) { into.name = "value word of " + which(); });
    if constexpr (Kind::fixed_key)
      v_.visit({.kind = "key", .offset = p_.offset_of(at.key), .bytes = b_.form().key_bytes},
               [&](pool_part& into) { into.name = "key of " + which(); });
    if (live) visit_record<Kind>(m_, p_, r, p_.offset_of(at.value), v_);
  }

  table& t_;
  pool<M>& p_;
  M& m_;
  const decltype(table::buckets_)& b_;
  part_visitor& v_;
};

}  // namespace durahash::gphash
