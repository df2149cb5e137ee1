// Level hashing: search without locks (paper §3.1, §3.2), batches of searches, iteration.
//
// A reader notes the state of each bucket that it looks at. What it found counts if the bucket's
// state is still the same behind the value; that it found nothing counts if all states are still
// the same, and the levels: then there was a moment at which all of them were as they were read.
//
// Two of the paper's four buckets are mostly enough: the filter in a bucket tells whether the one
// below can hold the record (L3).
#pragma once

#include <emmintrin.h>
#include <smmintrin.h>

#include "engine/level/table.hpp"

namespace durahash::level {

/// The slots whose tag is this one, with or without a token.
template <medium M, class Kind>
std::uint32_t table<M, Kind>::match(bucket b, std::uint8_t tag) const noexcept {
  __m128i tags = _mm_cvtsi64_si128(static_cast<long long>(load(m_, b.tags(0))));
  if (shape_.slots > 8)
    tags = _mm_insert_epi64(tags, static_cast<long long>(load(m_, b.tags(1))), 1);
  __m128i equal = _mm_cmpeq_epi8(tags, _mm_set1_epi8(static_cast<char>(tag)));
  return static_cast<std::uint32_t>(_mm_movemask_epi8(equal));
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

/// Looks at the key's buckets in search order: the n-th on the way is in the level level_of(v, n),
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
  bucket a = bucket_of(first, s.place[0]), b = bucket_of(first, s.place[1]);
  __builtin_prefetch(b.state);
  if (look(0, a, s, seen, on_match) || look(1, b, s, seen, on_match)) return;
  bool all = v.bottom_first || !v.filtered;
  if ((all || seen.state(0).admits(s.filter_class)) &&
      look(2, bucket_of(then, s.place[0]), s, seen, on_match))
    return;
  if (all || seen.state(1).admits(s.filter_class))
    look(3, bucket_of(then, s.place[1]), s, seen, on_match);
}

/// While the table changes its size.
template <medium M, class Kind>
template <class OnMatch>
[[gnu::noinline]] void table<M, Kind>::look_in_many(const levels_view& v, const candidates& s,
                                                    bucket_reads& seen, OnMatch& on_match) const {
  bucket_state above[2];
  unsigned read_above[2] = {max_levels, max_levels};  // the level that `above` is of
  for (unsigned n = 0; n < 2 * v.count; ++n) {
    unsigned level = level_of(v, n), which = n % 2;
    if (read_above[which] + 1 == level && under_previous(v, level) &&
        !above[which].admits(s.filter_class))
      continue;
    if (look(n, bucket_of(v.at[level], s.place[which]), s, seen, on_match)) return;
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

/// Word tables take one look, inlined; a read that a writer disturbed, or that must be made durable
/// first, searches.
template <medium M, class Kind>
template <class Read>
status table<M, Kind>::get(key_type key, Read&& read) {
  std::uint64_t hash = Kind::hash(key, seeds_);
  candidates s = candidates_of(hash, Kind::key_word(key, hash));
  if constexpr (Kind::in_slot)
    if (probed seen = judge(s, read); seen != probed::torn) [[likely]]
      return seen == probed::hit ? status::ok : status::not_found;
  return search(key, s, read);
}

/// What a look at a word table is worth; `torn` also says "not settled", or "changing its size".
template <medium M, class Kind>
template <class Read>
[[gnu::always_inline]] inline auto table<M, Kind>::judge(const candidates& s, Read& read) const
    -> probed {
  const levels_view& v = levels();
  if (v.count != 2) [[unlikely]]
    return probed::torn;
  bucket_reads seen;
  bool hit = false, same = false;
  std::uint64_t value = 0;
  look_everywhere(v, s, seen, [&](bucket b, bucket_state state, int slot, unsigned) {
    value = load(m_, slot_of(b, slot).value);
    same = state_of(b) == state;
    return hit = true;
  });
  if (!hit) same = unchanged(seen);
  if (!same || &levels() != &v || !unsettled_.settled(stripe_of(v, s.place[0])) ||
      !unsettled_.settled(stripe_of(v, s.place[1])))
    return probed::torn;
  if (!hit) return probed::miss;
  read(value);
  return probed::hit;
}

template <medium M, class Kind>
template <class Read>
[[gnu::noinline]] status table<M, Kind>::search(key_type key, const candidates& s, Read& read) {
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
      stripe_index stripe = stripe_of(v, place);
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
    std::uint64_t place = place_of(v, stripe);
    for (unsigned i = 0; i < v.count; ++i)
      started += flush(m_,
                       extent{bucket_of(v.at[i], place).state,
                              std::size_t{1} << (v.at[i].log2 - v.stripe_bits + shape_.bytes_log2)},
                       "level.inherit.buckets");
    unsettled_.take_over(stripe, fence(m_, std::move(started), "level.inherit.all"));
  }
}

// ----------------------------------------------------------------------------------------- batches

/// Where a group's keys may be. Calls ask(address) for the buckets that are looked at first.
template <medium M, class Kind>
template <class Ask>
void table<M, Kind>::candidates_of_all(std::span<const key_type> keys, candidates* candidate_sets,
                                       Ask&& ask) const {
  const levels_view& v = levels();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    std::uint64_t hash = Kind::hash(keys[i], seeds_);
    candidate_sets[i] = candidates_of(hash, Kind::key_word(keys[i], hash));
    for (std::uint64_t place : candidate_sets[i].place)
      ask(bucket_of(v.at[v.bottom_first], place).state);
  }
}

/// Calls ask(address) for what these lead to: the slots that they name, or the buckets below, and
/// then the slots that those name. Each step reads what the one before has asked for.
template <medium M, class Kind>
template <class Ask>
void table<M, Kind>::look_ahead(std::span<const candidates> candidate_sets, Ask&& ask) const {
  const levels_view& v = levels();
  const level_view& first = v.at[v.bottom_first];
  const level_view& then = v.at[!v.bottom_first && v.count > 1];
  auto ask_for_slot = [&](bucket b, const candidates& s) {
    std::uint32_t hits = match(b, s.tag) & state_of(b).tokens();
    if (hits != 0) ask(&slot_of(b, std::countr_zero(hits)));
    return hits != 0;
  };
  std::uint8_t below[group_size] = {};  // of each candidates the places that are looked at there
  for (std::size_t i = 0; i < candidate_sets.size(); ++i)
    for (unsigned which = 0; which < 2; ++which) {
      bucket b = bucket_of(first, candidate_sets[i].place[which]);
      bool ends =
          ask_for_slot(b, candidate_sets[i]) ||
          (v.filtered && !v.bottom_first && !state_of(b).admits(candidate_sets[i].filter_class));
      if (ends) continue;
      ask(bucket_of(then, candidate_sets[i].place[which]).state);
      below[i] |= static_cast<std::uint8_t>(1u << which);
    }
  for (std::size_t i = 0; i < candidate_sets.size(); ++i)
    for (std::uint32_t places = below[i]; places != 0;)
      ask_for_slot(bucket_of(then, candidate_sets[i].place[take_lowest(places)]),
                   candidate_sets[i]);
}

template <medium M, class Kind>
template <class Read>
void table<M, Kind>::get_many(std::span<const key_type> keys, Read&& read, status* answers) {
  [[maybe_unused]] read_guard guard = reading();
  candidates candidate_sets[group_size];
  for (std::size_t start = 0; start < keys.size(); start += group_size) {
    std::size_t count = std::min(group_size, keys.size() - start);
    auto ask = [](const void* at) { __builtin_prefetch(at); };
    candidates_of_all(keys.subspan(start, count), candidate_sets, ask);
    look_ahead({candidate_sets, count}, ask);
    for (std::size_t i = 0; i < count; ++i) {
      auto read_one = [&](value_type value) { read(start + i, value); };
      probed seen = probed::torn;
      if constexpr (Kind::in_slot) seen = judge(candidate_sets[i], read_one);
      answers[start + i] = seen == probed::hit ? status::ok
                           : seen == probed::miss
                               ? status::not_found
                               : search(keys[start + i], candidate_sets[i], read_one);
    }
  }
}

// --------------------------------------------------------------------------------------- iteration

template <medium M, class Kind>
std::uint64_t table<M, Kind>::hash_of_slot(std::uint64_t key_word) const noexcept {
  if constexpr (Kind::in_slot) return word_hash(key_word, seeds_);
  else return key_word;
}

/// Calls visit(level, number of the bucket) for the buckets whose numbers begin with the first
/// `bits` of the place; no level has fewer bits.
template <medium M, class Kind>
template <class Visit>
void table<M, Kind>::for_each_bucket(const levels_view& v, std::uint64_t place, unsigned bits,
                                     Visit&& visit) const {
  for (unsigned i = 0; i < v.count; ++i) {
    std::uint64_t first = number(v.at[i], place), count = std::uint64_t{1} << (v.at[i].log2 - bits);
    for (std::uint64_t n = first; n < first + count; ++n) visit(v.at[i], n);
  }
}

/// Calls visit(resident) for each record in the bucket.
template <medium M, class Kind>
template <class Visit>
void table<M, Kind>::for_each_resident(bucket b, Visit&& visit) const {
  for (std::uint32_t tokens = state_of(b).tokens() & shape_.all_tokens(); tokens != 0;) {
    int index = take_lowest(tokens);
    std::uint64_t key_word = load(m_, slot_of(b, index).key);
    visit(
        resident{{hash_of_slot(key_word), key_word, load(m_, slot_of(b, index).value)}, b, index});
  }
}

/// The records in the bucket whose hashes have the prefix.
template <medium M, class Kind>
void table<M, Kind>::collect(bucket b, std::uint64_t prefix, unsigned bits,
                             std::vector<live_record>& found) const {
  std::size_t before = found.size();
  while (true) {  // ends: each further round means that a writer got on
    bucket_state state = state_of(b);
    for_each_resident(b, [&](const resident& r) {
      if ((r.hash ^ prefix) >> (64 - bits) == 0) found.push_back(r);
    });
    if (state_of(b) == state) return;
    found.resize(before);
  }
}

/// A prefix's. Its records are in the buckets of that prefix, and of those that their second places
/// can have.
template <medium M, class Kind>
std::optional<std::uint64_t> table<M, Kind>::read_stretch(std::uint64_t position, stretch& found) {
  const levels_view& v = levels();
  unsigned smallest = v.at[v.count - 1].log2,
           bits = std::max(v.stripe_bits, smallest - std::min(smallest, 2u));
  std::uint64_t prefix = position >> (64 - bits) << (64 - bits);
  std::atomic<std::uint32_t>& moves = stripes_[stripe_of(v, prefix)].moves;
  std::uint32_t moved = moves.load(std::memory_order_acquire);
  found.records.clear();
  std::uint64_t collected[second_places + 1];  // of small levels' prefixes many are the same
  std::size_t count = 0;
  auto collect_at = [&](std::uint64_t place) {
    place = place >> (64 - bits) << (64 - bits);
    if (std::find(collected, collected + count, place) != collected + count) return;
    collected[count++] = place;
    for_each_bucket(v, place, bits, [&](const level_view& l, std::uint64_t n) {
      collect(bucket_at(l, n), prefix, bits, found.records);
    });
    settle_inherited(v, stripe_of(v, place));
    if (unsettled_.settled(stripe_of(v, place))) return;
    flushed started;
    for_each_bucket(v, place, bits, [&](const level_view& l, std::uint64_t n) {
      started += flush(m_, bucket_extent(bucket_at(l, n)), "level.scan.buckets");
    });
    [[maybe_unused]] durable done = fence(m_, std::move(started), "level.scan.all");
  };
  collect_at(prefix);
  for (unsigned which = 0; which < second_places; ++which) collect_at(second_place(prefix, which));
  if (&levels() != &v || moves.load(std::memory_order_acquire) != moved) return std::nullopt;
  return prefix + (std::uint64_t{1} << (64 - bits));
}

}  // namespace durahash::level
