// Level hashing: search without locks (paper §3.1, §3.2), batches of searches.
//
// A reader notes the state of each bucket that it looks at. What it found counts if the bucket's
// state is still the same behind the value; that it found nothing counts if all states are still
// the same, and the levels: then there was a moment at which all of them were as they were read.
//
// Two of the paper's four buckets are mostly enough: the filter in a bucket tells whether the one
// below can hold the record (L3).
#pragma once

#include "engine/level/table.hpp"

namespace durahash::level {

/// The slots' tags, with or without a token; and bytes without meaning behind the last slot's.
template <medium M, class Kind>
[[gnu::always_inline]] inline bytes16 table<M, Kind>::tags_of(bucket b) const noexcept {
  if constexpr (reads_plainly<M>) {  // in any order: the state, read again, vouches for them
    const bytes16 tags = bytes16_at(b.tags(0).raw());
    read_before_what_follows();
    return tags;
  } else {
    const std::uint64_t first = load(m_, b.tags(0));
    return bytes16_of(first, shape_.slots > 8 ? load(m_, b.tags(1)) : 0);
  }
}

/// The slots whose tag is the one in each byte of `tag`; and bits without meaning.
template <medium M, class Kind>
[[gnu::always_inline]] inline std::uint32_t table<M, Kind>::match(bucket b,
                                                                  bytes16 tag) const noexcept {
  return same_bytes(tags_of(b), tag);
}

/// The slot that has the key word, if its token is there.
template <medium M, class Kind>
[[gnu::always_inline]] inline auto table<M, Kind>::find_in(bucket b, bucket_state state,
                                                           const candidates& s) const noexcept
    -> found_slot {
  return first_with(b, match(b, s.tag) & state.tokens(), s.key_word);
}

/// Of these slots.
template <medium M, class Kind>
[[gnu::always_inline]] inline auto table<M, Kind>::first_with(bucket b, std::uint32_t hits,
                                                              std::uint64_t key_word) const noexcept
    -> found_slot {
  for (; hits != 0; hits &= hits - 1) {
    slot* const at = &slot_of(b, std::countr_zero(hits));
    if (at == nullptr) __builtin_unreachable();  // spares a test where it is used
    if (holds(m_, at->key, key_word)) [[likely]]
      return {at, hits & -hits};
  }
  return {};
}

/// Looks at a bucket, the n-th on the way. Calls on_match(bucket, state, slot, n) for each slot
/// that has the key word, until that says true.
template <medium M, class Kind>
template <class OnMatch>
[[gnu::always_inline]] inline bool table<M, Kind>::look(unsigned n, bucket b, const candidates& s,
                                                        bucket_reads& seen,
                                                        OnMatch&& on_match) const {
  bucket_state state = state_of(b);
  seen.seen[n] = {b.state, state.word};
  seen.looked |= 1u << n;
  for (std::uint32_t hits = match(b, s.tag) & state.tokens(); hits != 0;) {
    int index = take_lowest(hits);
    if (load(m_, slot_of(b, index).key) == s.key_word && on_match(b, state, index, n)) return true;
  }
  return false;
}

/// Looks at the key's buckets in search order: the n-th on the way is in the level v.level_of(n),
/// at the place n % 2. Calls on_match as above.
template <medium M, class Kind>
template <class OnMatch>
[[gnu::always_inline]] inline void table<M, Kind>::look_everywhere(const levels_view& v,
                                                                   const candidates& s,
                                                                   bucket_reads& seen,
                                                                   OnMatch&& on_match) const {
  if (v.count != 2) [[unlikely]]
    return look_in_many(v, s, seen, on_match);
  const level_view& first = v.at[v.bottom_first];
  const level_view& then = v.at[!v.bottom_first];
  bucket a = first.bucket_of(s.place[0]), b = first.bucket_of(s.place[1]);
  __builtin_prefetch(b.state);
  if (look(0, a, s, seen, on_match) || look(1, b, s, seen, on_match)) return;
  bool all = v.bottom_first || !v.filtered;
  if ((all || seen.state(0).admits(s.filter_class)) &&
      look(2, then.bucket_of(s.place[0]), s, seen, on_match))
    return;
  if (all || seen.state(1).admits(s.filter_class))
    look(3, then.bucket_of(s.place[1]), s, seen, on_match);
}

/// While the table changes its size.
template <medium M, class Kind>
template <class OnMatch>
[[gnu::noinline]] void table<M, Kind>::look_in_many(const levels_view& v, const candidates& s,
                                                    bucket_reads& seen, OnMatch& on_match) const {
  bucket_state above[2];
  unsigned read_above[2] = {max_levels, max_levels};  // the level that `above` is of
  for (unsigned n = 0; n < 2 * v.count; ++n) {
    unsigned level = v.level_of(n), which = n % 2;
    if (read_above[which] + 1 == level && v.under_previous(level) &&
        !above[which].admits(s.filter_class))
      continue;
    if (look(n, v.at[level].bucket_of(s.place[which]), s, seen, on_match)) return;
    if (v.bottom_first && level == 0) continue;  // what lies below the bottom counts
    above[which] = seen.state(n);
    read_above[which] = level;
  }
}

template <medium M, class Kind>
[[gnu::always_inline]] inline bool table<M, Kind>::unchanged(
    const bucket_reads& seen) const noexcept {
  auto same = [&](unsigned n) __attribute__((always_inline)) {
    return (seen.looked >> n & 1) == 0 || load(m_, *seen.seen[n].where) == seen.seen[n].state;
  };
  bool all = same(0) && same(1) && same(2) && same(3);
  for (unsigned n = 4; all && seen.looked >> n != 0; ++n) all = same(n);
  return all;
}

/// One look, inlined; a read that a writer disturbed, or that must be made durable
/// first, searches. All that is slow is a tail call, so that this needs no frame.
template <medium M, class Kind>
template <class Read>
[[gnu::always_inline]] inline status table<M, Kind>::get(key_type key, Read read) {
  // keeps records and levels from reuse; u64 tables have none
  [[maybe_unused]] const read_guard guard = reading();
  const levels_view& v = levels();
  const target_type t = look_up(key, v, v.searched[0]);
  if (!v.is_pair) [[unlikely]]
    return frame::search(key, read);
  const bucket a = t.at[0], b = t.at[1];
  __builtin_prefetch(b.state);
  const bucket_state in_a = state_of(a);
  if (const found_slot at = find_in(a, in_a, t); at.there != nullptr)
    return answer_hit(v, t.place[0], a, in_a, at, key, read);
  const bucket_state in_b = state_of(b);
  if (const found_slot at = find_in(b, in_b, t); at.there != nullptr)
    return answer_hit(v, t.place[1], b, in_b, at, key, read);
  return answer_below(t, in_a, in_b, key, read);
}

template <medium M, class Kind>
template <class Read>
[[gnu::always_inline]] inline status table<M, Kind>::answer(const home_look& l, key_type key,
                                                            Read read) {
  const levels_view& v = *l.levels;
  if (!v.is_pair) [[unlikely]]
    return frame::search(key, read);
  const std::uint64_t key_word = Kind::key_word(key, l.place[0]);
  const bucket_state in_a{l.state[0]}, in_b{l.state[1]};
  if (l.hits == 0) return answer_miss(l, in_a, in_b, key, read);
  if (const found_slot at = first_with(l.at[0], l.in_first(), key_word); at.there != nullptr)
    return answer_hit(v, l.place[0], l.at[0], in_a, at, key, read);
  if (const found_slot at = first_with(l.at[1], l.in_second(), key_word); at.there != nullptr)
    return answer_hit(v, l.place[1], l.at[1], in_b, at, key, read);
  return answer_below(l, in_a, in_b, key, read);
}

/// Behind the first two buckets, which do not have the key.
template <medium M, class Kind>
template <class Read>
[[gnu::always_inline]] inline status table<M, Kind>::answer_below(const target_type& t,
                                                                  bucket_state in_a,
                                                                  bucket_state in_b, key_type key,
                                                                  Read read) {
  const levels_view& v = *t.levels;
  const bucket a = t.at[0], b = t.at[1];
  if (bucket_state{in_a.word | in_b.word | v.always_admits}.admits(t.filter_class)) {
    bucket c = a, d = b;  // or those in the other level
    bucket_state in_c = in_a, in_d = in_b;
    if (bucket_state{in_a.word | v.always_admits}.admits(t.filter_class)) {
      c = v.searched[1].bucket_of(t.place[0]), in_c = state_of(c);
      if (const found_slot at = find_in(c, in_c, t); at.there != nullptr)
        return answer_hit(v, t.place[0], c, in_c, at, key, read);
    }
    if (bucket_state{in_b.word | v.always_admits}.admits(t.filter_class)) {
      d = v.searched[1].bucket_of(t.place[1]), in_d = state_of(d);
      if (const found_slot at = find_in(d, in_d, t); at.there != nullptr)
        return answer_hit(v, t.place[1], d, in_d, at, key, read);
    }
    if (!is_still(c, in_c) || !is_still(d, in_d)) [[unlikely]]
      return frame::search(key, read);
  }
  return answer_miss(t, in_a, in_b, key, read);
}

template <medium M, class Kind>
template <class Read>
[[gnu::always_inline]] inline status table<M, Kind>::answer_miss(const target_type& t,
                                                                 bucket_state in_a,
                                                                 bucket_state in_b, key_type key,
                                                                 Read read) {
  const levels_view& v = *t.levels;
  if (!is_still(t.at[0], in_a) || !is_still(t.at[1], in_b) || &levels() != &v ||
      !unsettled_.settled(v.stripe_of(t.place[0])) || !unsettled_.settled(v.stripe_of(t.place[1])))
      [[unlikely]]
    return frame::search(key, read);
  return status::not_found;
}

/// What a record says is durable if its bucket's stripe is settled, whatever the other place's is.
template <medium M, class Kind>
template <class Read>
[[gnu::always_inline]] inline status table<M, Kind>::answer_hit(const levels_view& v,
                                                                std::uint64_t place, bucket b,
                                                                bucket_state state, found_slot at,
                                                                key_type key, Read read) {
  const std::optional<value_type> value =
      value_for_key<Kind>(m_, p_, load(m_, at.there->value), key);
  if (!value || !is_still(b, state) || &levels() != &v || !unsettled_.settled(v.stripe_of(place)))
      [[unlikely]]
    return frame::search(key, read);
  read(*value);
  return status::ok;
}

template <medium M, class Kind>
status table<M, Kind>::search_long(key_type key, any_reader<value_type> read) {
  const std::uint64_t hash = Kind::hash(key, seeds_);
  const candidates s = second_maps_.candidates_of(hash, Kind::key_word(key, hash));
  // keeps records and levels from reuse; u64 tables have none, and look at the levels again instead
  [[maybe_unused]] read_guard guard = reading();
  while (true) {  // ends: each further round means that a writer got on
    const levels_view& v = levels();
    bucket_reads seen;
    probed outcome = probed::miss;
    std::optional<value_type> value;
    bool same = false;
    look_everywhere(v, s, seen, [&](bucket b, bucket_state state, int slot, unsigned) {
      std::uint64_t value_word = load(m_, slot_of(b, slot).value);
      same = state_of(b) == state;
      if constexpr (!Kind::in_slot) {
        auto record = record_at(m_, p_, value_word);
        if (record && record->key != key) return false;
        outcome = record ? probed::hit : probed::damaged;
        if (record) value = record->value;
      } else {
        outcome = probed::hit;
        value = value_word;
      }
      return true;
    });
    if (outcome == probed::miss) same = unchanged(seen);
    if (!same || &levels() != &v) continue;
    if (outcome == probed::damaged) return status::damaged;
    settle_for_reader(v, s, seen);
    if (outcome == probed::miss) return status::not_found;
    read(*value);
    return status::ok;
  }
}

/// What a reader has seen, and a crash could still undo, is made durable before the reader gives it
/// away (L7).
template <medium M, class Kind>
void table<M, Kind>::settle_for_reader(const levels_view& v, const candidates& s,
                                       const bucket_reads& seen) {
  if constexpr (unsettled<M>::needed) {
    bool publishing = false;
    for (std::uint64_t place : s.place) {
      stripe_index stripe = v.stripe_of(place);
      settle_inherited(v, stripe);
      publishing |= !unsettled_.settled(stripe);
    }
    if (!publishing) return;
    flushed started;
    for (std::uint32_t looked = seen.looked; looked != 0;)
      started += flush(m_, bucket_extent(seen.where(static_cast<unsigned>(take_lowest(looked)))),
                       "level.settle.buckets");
    [[maybe_unused]] durable done = fence(m_, std::move(started), "level.settle.all");
  }
}

/// A process that was killed may have left words of these buckets in the caches.
template <medium M, class Kind>
void table<M, Kind>::settle_inherited(const levels_view& v, stripe_index stripe) {
  if constexpr (unsettled<M>::needed) {
    if (unsettled_.of(stripe) != settlement::inherited) return;
    flushed started;
    std::uint64_t place = v.place_of(stripe);
    for (unsigned i = 0; i < v.count; ++i)
      started += flush(m_,
                       extent{v.at[i].bucket_of(place).state,
                              std::size_t{1} << (v.at[i].log2 - v.stripe_bits + shape_.bytes_log2)},
                       "level.inherit.buckets");
    unsettled_.take_over(stripe, fence(m_, std::move(started), "level.inherit.all"));
  }
}

// ----------------------------------------------------------------------------------------- batches

/// Calls ask(address) for what the buckets in the top lead to: the slots that they name, or the
/// buckets below; with `rooms` also for the slot that a new record may get.
template <medium M, class Kind>
template <class Ask>
[[gnu::always_inline]] inline void table<M, Kind>::look_ahead(const target_type& t,
                                                              const level_view& then,
                                                              std::uint64_t always_admits,
                                                              bool rooms, first_look& seen,
                                                              Ask&& ask) const {
  const bucket at_a = t.at[0], at_b = t.at[1];
  const bytes16 tag = in_each_byte(t.tag);
  const bucket_state a = state_of(at_a);
  const std::uint32_t in_a = match(at_a, tag) & a.tokens();
  const bucket_state b = state_of(at_b);
  const std::uint32_t in_b = match(at_b, tag) & b.tokens();
  seen.state[0] = a.word, seen.state[1] = b.word;
  seen.hits = in_a | in_b << 16;
  if (seen.hits != 0) {
    const bucket found = in_a != 0 ? at_a : at_b;
    return ask(&slot_of(found, std::countr_zero(in_a != 0 ? in_a : in_b)));
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
  const std::uint32_t free_a = ~a.tokens() & shape_.all_tokens;
  const std::uint32_t free_b = ~b.tokens() & shape_.all_tokens;
  const bool second = std::popcount(free_a) < std::popcount(free_b);
  if ((free_a | free_b) != 0)
    ask(&slot_of(second ? at_b : at_a, std::countr_zero(second ? free_b : free_a)));
}

template <medium M, class Kind>
[[gnu::always_inline]] inline void table<M, Kind>::look_at(std::span<const key_type> keys,
                                                           home_look* looks) const noexcept {
  const levels_view& v = levels();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    static_cast<target_type&>(looks[i]) = look_up(keys[i], v, v.searched[0]);
    for (bucket b : looks[i].at) __builtin_prefetch(b.state);
  }
  for (home_look& l : std::span(looks, keys.size()))
    look_ahead(
        l, v.searched[1], v.always_admits, false, l,
        [](const void* at) __attribute__((always_inline)) { __builtin_prefetch(at); });
  if constexpr (!Kind::in_slot)
    for (const home_look& l : std::span(looks, keys.size())) ask_for_record(l, l);
}

/// That which the buckets in the top name.
template <medium M, class Kind>
[[gnu::always_inline]] inline void table<M, Kind>::ask_for_record(
    const target_type& t, const first_look& seen) const noexcept {
  found_slot at = first_with(t.at[0], seen.in_first(), t.key_word);
  if (at.there == nullptr) at = first_with(t.at[1], seen.in_second(), t.key_word);
  if (at.there != nullptr) prefetch_record(p_, load(m_, at.there->value));
}

}  // namespace durahash::level
