// Where a key is looked for: its buckets, in search order. Two of the paper's four are mostly
// enough: the filter in a bucket tells whether the one below can hold the record (L3).
#pragma once

#include <bit>
#include <cstdint>

#include "engine/level/buckets.hpp"
#include "engine/level/levels_view.hpp"
#include "engine/level/operation.hpp"

namespace durahash::level {

/// Looks at a bucket, the n-th on the way. Calls on_match(bucket, state, slot, n) for each slot
/// that has the key word, until that says true.
template <medium M, class Kind, class OnMatch>
[[gnu::always_inline]] inline bool look(const buckets<M, Kind>& all, unsigned n, bucket b,
                                        const candidates& s, bucket_reads& seen,
                                        OnMatch&& on_match) {
  bucket_state state = all.state_of(b);
  seen.seen[n] = {b.state, state.word};
  seen.looked |= 1u << n;
  for (std::uint32_t hits = all.match(b, s.tag) & state.tokens(); hits != 0;) {
    int index = take_lowest(hits);
    if (all.key_word_of(b, index) == s.key_word && on_match(b, state, index, n)) return true;
  }
  return false;
}

/// While the table changes its size.
template <medium M, class Kind, class OnMatch>
[[gnu::noinline]] void look_in_many(const buckets<M, Kind>& all, const levels_view<M>& v,
                                    const candidates& s, bucket_reads& seen, OnMatch& on_match) {
  bucket_state above[2];
  unsigned read_above[2] = {max_levels, max_levels};  // the level that `above` is of
  for (unsigned n = 0; n < 2 * v.count; ++n) {
    unsigned level = v.level_of(n), which = n % 2;
    if (read_above[which] + 1 == level && v.under_previous(level) &&
        !above[which].admits(s.filter_class))
      continue;
    if (look(all, n, v.at[level].bucket_of(s.place[which]), s, seen, on_match)) return;
    if (v.bottom_first && level == 0) continue;  // what lies below the bottom counts
    above[which] = seen.state(n);
    read_above[which] = level;
  }
}

/// Looks at the key's buckets in search order: the n-th on the way is in the level v.level_of(n),
/// at the place n % 2. Calls on_match as above.
template <medium M, class Kind, class OnMatch>
[[gnu::always_inline]] inline void look_everywhere(const buckets<M, Kind>& all,
                                                   const levels_view<M>& v, const candidates& s,
                                                   bucket_reads& seen, OnMatch&& on_match) {
  if (v.count != 2) [[unlikely]]
    return look_in_many(all, v, s, seen, on_match);
  const level_view& first = v.at[v.bottom_first];
  const level_view& then = v.at[!v.bottom_first];
  bucket a = first.bucket_of(s.place[0]), b = first.bucket_of(s.place[1]);
  __builtin_prefetch(b.state);
  if (look(all, 0, a, s, seen, on_match) || look(all, 1, b, s, seen, on_match)) return;
  bool any = v.bottom_first || !v.filtered;
  if ((any || seen.state(0).admits(s.filter_class)) &&
      look(all, 2, then.bucket_of(s.place[0]), s, seen, on_match))
    return;
  if (any || seen.state(1).admits(s.filter_class))
    look(all, 3, then.bucket_of(s.place[1]), s, seen, on_match);
}

template <medium M, class Kind>
[[gnu::always_inline]] inline bool unchanged(const buckets<M, Kind>& all,
                                             const bucket_reads& seen) noexcept {
  auto same = [&](unsigned n) __attribute__((always_inline)) {
    return (seen.looked >> n & 1) == 0 || all.state_of(seen.where(n)) == seen.state(n);
  };
  bool are = same(0) && same(1) && same(2) && same(3);
  for (unsigned n = 4; are && seen.looked >> n != 0; ++n) are = same(n);
  return are;
}

/// How many of the record's places hold its key.
template <medium M, class Kind>
unsigned copies_of(const buckets<M, Kind>& all, const levels_view<M>& v, const candidates& s,
                   const resident& r) {
  unsigned copies = 0;
  for (unsigned i = 0; i < v.count; ++i)
    for (std::uint64_t place : s.place)
      all.for_each_resident(v.at[i].bucket_of(place),
                            [&](const resident& other) { copies += all.have_one_key(other, r); });
  return copies;
}

// ------------------------------------------------------------------------------------------- ahead

/// Calls ask(address) for what the buckets in the top lead to: the slots that they name, or the
/// buckets below; with `rooms` also for the slot that a new record may get.
template <medium M, class Kind, class Ask>
[[gnu::always_inline]] inline void look_ahead_of(const buckets<M, Kind>& all, const target<M>& t,
                                                 const level_view& then,
                                                 std::uint64_t always_admits, bool rooms,
                                                 first_look& seen, Ask&& ask) {
  const bucket at_a = t.at[0], at_b = t.at[1];
  const bytes16 tag = in_each_byte(t.tag);
  const bucket_state a = all.state_of(at_a);
  const std::uint32_t in_a = all.match(at_a, tag) & a.tokens();
  const bucket_state b = all.state_of(at_b);
  const std::uint32_t in_b = all.match(at_b, tag) & b.tokens();
  seen.state[0] = a.word, seen.state[1] = b.word;
  seen.hits = in_a | in_b << 16;
  if (seen.hits != 0) {
    const bucket found = in_a != 0 ? at_a : at_b;
    return ask(&all.slot_of(found, std::countr_zero(in_a != 0 ? in_a : in_b)));
  }
  const unsigned filter_class = t.filter_class;
  if (bucket_state{a.word | b.word | always_admits}.admits(filter_class)) {
    seen.hits = first_look::below;
    if (bucket_state{a.word | always_admits}.admits(filter_class))
      ask(then.bucket_of(t.place[0]).state);
    if (bucket_state{b.word | always_admits}.admits(filter_class))
      ask(then.bucket_of(t.place[1]).state);
  }
  if (!rooms) return;
  const std::uint32_t free_a = ~a.tokens() & all.shape.all_tokens;
  const std::uint32_t free_b = ~b.tokens() & all.shape.all_tokens;
  const bool second = std::popcount(free_a) < std::popcount(free_b);
  if ((free_a | free_b) != 0)
    ask(&all.slot_of(second ? at_b : at_a, std::countr_zero(second ? free_b : free_a)));
}

/// That which the buckets in the top name.
template <medium M, class Kind>
[[gnu::always_inline]] inline void ask_for_record(const buckets<M, Kind>& all, const target<M>& t,
                                                  const first_look& seen) noexcept {
  found_slot at = all.first_with(t.at[0], seen.in_first(), t.key_word);
  if (at.there == nullptr) at = all.first_with(t.at[1], seen.in_second(), t.key_word);
  if (at.there != nullptr) all.prefetch_named(*at.there);
}

}  // namespace durahash::level
