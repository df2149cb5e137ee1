// Level hashing: search without locks (paper §3.1, §3.2), batches of searches.
//
// A reader notes the state of each bucket that it looks at. What it found counts if the bucket's
// state is still the same behind the value; that it found nothing counts if all states are still
// the same, and the levels: then there was a moment at which all of them were as they were read.
#pragma once

#include "engine/level/answer.hpp"
#include "engine/level/search.hpp"
#include "engine/level/table.hpp"

namespace durahash::level {

template <medium M, class Kind>
[[gnu::always_inline]] inline auto table<M, Kind>::look_up(key_type key, std::uint64_t hash,
                                                           const levels_view& v,
                                                           const level_view& in) const noexcept
    -> target_type {
  std::uint64_t m = mixed(hash);
  target_type t;  // word by word: so that all of it stays in registers
  t.place[0] = hash, t.place[1] = second_maps_.of(m)(hash);
  t.key_word = Kind::key_word(key, hash);
  t.tag = tag_of(m), t.filter_class = class_of(m);
  t.levels = &v;
  t.at[0] = in.bucket_of(t.place[0]), t.at[1] = in.bucket_of(t.place[1]);
  return t;
}

/// One look, inlined; a read that a writer disturbed, or that must be made durable
/// first, searches.
template <medium M, class Kind>
template <class Read>
[[gnu::always_inline]] inline status table<M, Kind>::get(key_type key, Read read) {
  // keeps records and levels from reuse; u64 tables have none
  [[maybe_unused]] const read_guard guard = reading();
  const levels_view& v = levels_.now();
  const target_type t = look_up(key, hash_inlined<Kind>(key, seeds_), v, v.searched[0]);
  answering<Read> say(*this, t, key, read);
  if (!v.is_pair) [[unlikely]]
    return say.search();
  const bucket a = t.at[0], b = t.at[1];
  __builtin_prefetch(b.state);
  const bucket_state in_a = buckets_.state_of(a);
  if (const found_slot at = buckets_.find_in(a, in_a, t); at.there != nullptr)
    return say.hit(t.place[0], a, in_a, at);
  const bucket_state in_b = buckets_.state_of(b);
  if (const found_slot at = buckets_.find_in(b, in_b, t); at.there != nullptr)
    return say.hit(t.place[1], b, in_b, at);
  return say.below(in_a, in_b);
}

template <medium M, class Kind>
template <class Read>
[[gnu::always_inline]] inline status table<M, Kind>::answer(const look_type& l, key_type key,
                                                            Read read) {
  answering<Read> say(*this, l, key, read);
  if (!l.levels->is_pair) [[unlikely]]
    return say.search();
  const std::uint64_t key_word = Kind::key_word(key, l.place[0]);
  const bucket_state in_a{l.state[0]}, in_b{l.state[1]};
  if (l.hits == 0) return say.miss(in_a, in_b);
  if (const found_slot at = buckets_.first_with(l.at[0], l.in_first(), key_word);
      at.there != nullptr)
    return say.hit(l.place[0], l.at[0], in_a, at);
  if (const found_slot at = buckets_.first_with(l.at[1], l.in_second(), key_word);
      at.there != nullptr)
    return say.hit(l.place[1], l.at[1], in_b, at);
  return say.below(in_a, in_b);
}

template <medium M, class Kind>
status table<M, Kind>::search_long(key_type key, any_reader<value_type> read) {
  const std::uint64_t hash = Kind::hash(key, seeds_);
  const candidates s = second_maps_.candidates_of(hash, Kind::key_word(key, hash));
  // keeps records and levels from reuse; u64 tables have none, and look at the levels again instead
  [[maybe_unused]] read_guard guard = reading();
  while (true) {  // ends: each further round means that a writer got on
    const levels_view& v = levels_.now();
    bucket_reads seen;
    probed outcome = probed::miss;
    std::optional<value_type> value;
    bool same = false;
    look_everywhere(buckets_, v, s, seen, [&](bucket b, bucket_state state, int slot, unsigned) {
      std::uint64_t value_word = load(m_, buckets_.slot_of(b, slot).value);
      same = buckets_.state_of(b) == state;
      outcome = probe_slot<Kind>(m_, p_, value_word, key, value);
      return outcome != probed::miss;
    });
    if (outcome == probed::miss) same = unchanged(buckets_, seen);
    if (!same || &levels_.now() != &v) continue;
    if (outcome == probed::damaged) return status::damaged;
    stripes_.settle_for_reader(v, s, seen);
    if (outcome == probed::miss) return status::not_found;
    read(*value);
    return status::ok;
  }
}

// ----------------------------------------------------------------------------------------- batches

template <medium M, class Kind>
[[gnu::always_inline]] inline void table<M, Kind>::look_at(std::span<const key_type> keys,
                                                           look_type* looks) const noexcept {
  const levels_view& v = levels_.now();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    static_cast<target_type&>(looks[i]) =
        look_up(keys[i], Kind::hash(keys[i], seeds_), v, v.searched[0]);
    for (bucket b : looks[i].at) __builtin_prefetch(b.state);
  }
  for (look_type& l : std::span(looks, keys.size()))
    look_ahead_of(
        buckets_, l, v.searched[1], v.always_admits, false, l,
        [](const void* at) __attribute__((always_inline)) { __builtin_prefetch(at); });
  if constexpr (!Kind::in_slot)
    for (const look_type& l : std::span(looks, keys.size())) ask_for_record(buckets_, l, l);
}

}  // namespace durahash::level
