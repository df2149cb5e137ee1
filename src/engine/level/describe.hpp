// Level hashing: tells what lies where (engine/structure.hpp).
#pragma once

#include "engine/level/table.hpp"

namespace durahash::level {

template <medium M, class Kind>
class table<M, Kind>::describer {
 public:
  describer(table& t, part_visitor& v) noexcept : t_(t), m_(t.m_), now_(t.levels_.now()), v_(v) {}

  void each_part() {
    v_.visit({.kind = "root",
              .offset = t_.p_.offset_of(&root_of(t_.p_)),
              .bytes = sizeof(root),
              .listed = true},
             [&](pool_part& into) {
               into.name = "root";
               into.add("levels", std::uint64_t{now_.count});
               into.add("slots_per_bucket", std::uint64_t{t_.buckets_.shape.slots});
               into.add("in_place", t_.how_.in_place);
               into.add("bottom_to_top", t_.how_.bottom_to_top);
               into.add("dynamic", t_.how_.dynamic);
               into.add("helper", t_.how_.helper);
             });
    each_intent();
    for (unsigned i = 0; i < now_.count; ++i) each_part_of_level(i);
  }

  /// Every bucket that the key may be in: what a filter spares a search is here, too.
  void each_candidate(key_type key) {
    std::uint64_t hash = Kind::hash(key, t_.seeds_);
    candidates s = t_.second_maps_.candidates_of(hash, Kind::key_word(key, hash));
    v_.visit(
        {.kind = "search", .offset = t_.p_.offset_of(&root_of(t_.p_)), .bytes = 0, .listed = true},
        [&](pool_part& into) {
          into.name = "search";
          into.add("hash", hex(hash));
          into.add("first_place", hex(s.place[0]));
          into.add("second_place", hex(s.place[1]));
          into.add("tag", std::uint64_t{s.tag & 0xff});
          into.add("filter_class", std::uint64_t{s.filter_class});
          into.add("buckets", std::uint64_t{2} * now_.count);
        });
    for (unsigned i = 0; i < now_.count; ++i)
      for (std::uint64_t place : s.place)
        each_part_of_bucket(now_.at[i], now_.at[i].number(place), &key);
  }

 private:
  void each_intent() {
    for (std::size_t i = 0; i < intent_count; ++i) {
      intent& d = root_of(t_.p_).intents[i];
      std::uint64_t at = load(m_, d.logged_slot), key = load(m_, d.logged_key),
                    value = load(m_, d.logged_value), moving = load(m_, d.moving);
      bool logged = load(m_, d.logged_check) == log_check(at, key, value);
      v_.visit({.kind = "intent",
                .offset = t_.p_.offset_of(&d),
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

  void each_part_of_level(unsigned index) {
    const level_view& l = now_.at[index];
    pm<std::uint64_t>& word = root_of(t_.p_).levels[l.log2];
    const std::uint64_t buckets = l.buckets();
    std::string which = "level of " + power_of_two(l.log2) + " buckets";
    v_.visit({.kind = "level word", .offset = t_.p_.offset_of(&word), .bytes = sizeof word},
             [&](pool_part& into) {
               into.name = "word of the " + which;
               into.add("names", l.offset);
               into.add("marked", (checked_place{load(m_, word)}.exponent() & draining) != 0);
             });
    v_.visit({.kind = "level",
              .offset = l.offset,
              .bytes = t_.buckets_.shape.level_bytes(l.log2),
              .named_by = t_.p_.offset_of(&word),
              .listed = true},
             [&](pool_part& into) {
               std::uint64_t records = 0;
               for (std::uint64_t n = 0; n < buckets; ++n)
                 records += static_cast<unsigned>(
                     std::popcount(t_.buckets_.state_of(t_.buckets_.at(l, n)).tokens()));
               into.name = which;
               into.add("buckets", buckets);
               into.add("records", records);
               into.add("draining", now_.draining != nullptr && now_.draining->log2 == l.log2);
             });
    for (std::uint64_t n = 0; n < buckets; ++n) each_part_of_bucket(l, n, nullptr);
  }

  void each_part_of_bucket(const level_view& l, std::uint64_t index, const key_type* wanted) {
    bucket b = t_.buckets_.at(l, index);
    bucket_state state = t_.buckets_.state_of(b);
    auto which = [&] {
      return "bucket " + std::to_string(index) + " of the level of " + power_of_two(l.log2);
    };
    v_.visit({.kind = "bucket",
              .offset = t_.p_.offset_of(b.state),
              .bytes = std::uint64_t{1} << t_.buckets_.shape.bytes_log2,
              .state = state.tokens() == t_.buckets_.shape.all_tokens ? "full" : "with room"},
             [&](pool_part& into) {
               into.name = which();
               into.add("state", hex(state.word));
               into.add("changes", state.word >> bucket_state::version_at);
               into.add("records", static_cast<std::uint64_t>(std::popcount(state.tokens())));
               into.add("classes_below", static_cast<std::uint64_t>(std::popcount(state.filter())));
               if ((state.tokens() & ~t_.buckets_.shape.all_tokens) != 0)
                 into.add("damaged", std::string("a token of a slot that is not there"));
             });
    for (unsigned i = 0; i < t_.buckets_.shape.slots; ++i) {
      slot& at = t_.buckets_.slot_of(b, static_cast<int>(i));
      bool live = (state.tokens() >> i & 1) != 0;
      std::uint64_t key_word = load(m_, at.key);
      live_record r{t_.buckets_.hash_of_slot(key_word), key_word, load(m_, at.value)};
      v_.visit({.kind = "slot",
                .offset = t_.p_.offset_of(&at),
                .bytes = sizeof at,
                .state = live ? "live" : "empty"},
               [&](pool_part& into) {
                 into.name = "slot " + std::to_string(i) + " of " + which();
                 if (!live) return;
                 into.add("hash", hex(r.hash));
                 into.add("tag", load(m_, b.tags(i / 8)) >> i % 8 * 8 & 0xff);
                 add_record<Kind>(m_, t_.p_, r, wanted, into);
               });
      if (live) visit_record<Kind>(m_, t_.p_, r, t_.p_.offset_of(&at.value), v_);
    }
  }

  table& t_;
  M& m_;
  const levels_view& now_;
  part_visitor& v_;
};

}  // namespace durahash::level
