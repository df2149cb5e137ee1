// Level hashing: tells what lies where (engine/structure.hpp).
#pragma once

#include "engine/level/table.hpp"
#include "engine/structure.hpp"

namespace durahash::level {

template <medium M, class Kind>
void table<M, Kind>::each_part_of_table(part_visitor& v) {
  const levels_view& now = levels_.now();
  v.visit(
      {.kind = "root", .offset = p_.offset_of(&root_of(p_)), .bytes = sizeof(root), .listed = true},
      [&](pool_part& into) {
        into.name = "root";
        into.add("levels", std::uint64_t{now.count});
        into.add("slots_per_bucket", std::uint64_t{buckets_.shape.slots});
        into.add("in_place", in_place_);
        into.add("bottom_to_top", bottom_to_top_);
        into.add("dynamic", dynamic_);
        into.add("helper", helper_);
      });
  each_intent(v);
  for (unsigned i = 0; i < now.count; ++i) each_part_of_level(now, i, v);
}

template <medium M, class Kind>
void table<M, Kind>::each_intent(part_visitor& v) {
  for (std::size_t i = 0; i < intent_count; ++i) {
    intent& d = root_of(p_).intents[i];
    std::uint64_t at = load(m_, d.logged_slot), key = load(m_, d.logged_key),
                  value = load(m_, d.logged_value), moving = load(m_, d.moving);
    bool logged = load(m_, d.logged_check) == log_check(at, key, value);
    v.visit({.kind = "intent",
             .offset = p_.offset_of(&d),
             .bytes = sizeof d,
             .state = logged        ? "logs an update"
                      : moving != 0 ? "names a bucket"
                                    : "unused"},
            [&](pool_part& into) {
              into.name = "intent " + std::to_string(i);
              into.add("moving", moving);
              into.add("logged", logged);
              if (!logged) return;
              into.add("logged_slot", at);
              into.add("logged_value", hex(value));
            });
  }
}

template <medium M, class Kind>
void table<M, Kind>::each_part_of_level(const levels_view& now, unsigned index, part_visitor& v) {
  const level_view& l = now.at[index];
  pm<std::uint64_t>& word = root_of(p_).levels[l.log2];
  std::uint64_t buckets = std::uint64_t{1} << l.log2;
  std::string which = "level of " + power_of_two(l.log2) + " buckets";
  v.visit({.kind = "level word", .offset = p_.offset_of(&word), .bytes = sizeof word},
          [&](pool_part& into) {
            into.name = "word of the " + which;
            into.add("names", l.offset);
            into.add("marked", (checked_place{load(m_, word)}.exponent() & draining) != 0);
          });
  v.visit({.kind = "level",
           .offset = l.offset,
           .bytes = buckets_.shape.level_bytes(l.log2),
           .named_by = p_.offset_of(&word),
           .listed = true},
          [&](pool_part& into) {
            std::uint64_t records = 0;
            for (std::uint64_t n = 0; n < buckets; ++n)
              records += static_cast<unsigned>(
                  std::popcount(buckets_.state_of(buckets_.at(l, n)).tokens()));
            into.name = which;
            into.add("buckets", buckets);
            into.add("records", records);
            into.add("draining", now.draining != nullptr && now.draining->log2 == l.log2);
          });
  for (std::uint64_t n = 0; n < buckets; ++n) each_part_of_bucket(l, n, nullptr, v);
}

template <medium M, class Kind>
void table<M, Kind>::each_part_of_bucket(const level_view& l, std::uint64_t index,
                                         const key_type* wanted, part_visitor& v) {
  bucket b = buckets_.at(l, index);
  bucket_state state = buckets_.state_of(b);
  auto which = [&] {
    return "bucket " + std::to_string(index) + " of the level of " + power_of_two(l.log2);
  };
  v.visit({.kind = "bucket",
           .offset = p_.offset_of(b.state),
           .bytes = std::uint64_t{1} << buckets_.shape.bytes_log2,
           .state = state.tokens() == buckets_.shape.all_tokens ? "full" : "with room"},
          [&](pool_part& into) {
            into.name = which();
            into.add("state", hex(state.word));
            into.add("changes", state.word >> bucket_state::version_at);
            into.add("records", static_cast<std::uint64_t>(std::popcount(state.tokens())));
            into.add("classes_below", static_cast<std::uint64_t>(std::popcount(state.filter())));
            if ((state.tokens() & ~buckets_.shape.all_tokens) != 0)
              into.add("damaged", std::string("a token of a slot that is not there"));
          });
  for (unsigned i = 0; i < buckets_.shape.slots; ++i) {
    slot& at = buckets_.slot_of(b, static_cast<int>(i));
    bool live = (state.tokens() >> i & 1) != 0;
    std::uint64_t key_word = load(m_, at.key);
    live_record r{buckets_.hash_of_slot(key_word), key_word, load(m_, at.value)};
    v.visit({.kind = "slot",
             .offset = p_.offset_of(&at),
             .bytes = sizeof at,
             .state = live ? "live" : "empty"},
            [&](pool_part& into) {
              into.name = "slot " + std::to_string(i) + " of " + which();
              if (!live) return;
              into.add("hash", hex(r.hash));
              into.add("tag", load(m_, b.tags(i / 8)) >> i % 8 * 8 & 0xff);
              add_record<Kind>(m_, p_, r, wanted, into);
            });
    if (live) visit_record<Kind>(m_, p_, r, p_.offset_of(&at.value), v);
  }
}

/// Every bucket that the key may be in: what a filter spares a search is here, too.
template <medium M, class Kind>
void table<M, Kind>::each_candidate(key_type key, part_visitor& v) {
  const levels_view& now = levels_.now();
  std::uint64_t hash = Kind::hash(key, seeds_);
  candidates s = second_maps_.candidates_of(hash, Kind::key_word(key, hash));
  v.visit({.kind = "search", .offset = p_.offset_of(&root_of(p_)), .bytes = 0, .listed = true},
          [&](pool_part& into) {
            into.name = "search";
            into.add("hash", hex(hash));
            into.add("first_place", hex(s.place[0]));
            into.add("second_place", hex(s.place[1]));
            into.add("tag", std::uint64_t{s.tag & 0xff});
            into.add("filter_class", std::uint64_t{s.filter_class});
            into.add("buckets", std::uint64_t{2} * now.count);
          });
  for (unsigned i = 0; i < now.count; ++i)
    for (std::uint64_t place : s.place)
      each_part_of_bucket(now.at[i], now.at[i].number(place), &key, v);
}

}  // namespace durahash::level
