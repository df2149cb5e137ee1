// GPHash: search without locks (paper §3.2.3), batches of searches.
//
// A reader takes the stripe's version, looks, and believes a hit if slot, version and levels are
// then the same: a slot that was lent to another key meanwhile and came back has had this key
// removed and added in between (G5). A record moves only with the levels.
#pragma once

#include "base/bytes16.hpp"
#include "engine/gphash/table.hpp"

namespace durahash::gphash {

template <medium M, class Kind>
std::uint64_t table<M, Kind>::hash_of(key_type key) const noexcept {
  if constexpr (Kind::in_slot) {
    return places_.words().mix(key);
  } else {
    return fingerprint_of(bytes_hash(key, seeds_));
  }
}

/// The buckets of a key, in the order of precedence: levels from the top down, in each of them its
/// places. Asked for on the way.
template <medium M, class Kind>
[[gnu::always_inline]] inline auto table<M, Kind>::warp_over(const levels_view& v,
                                                             const candidates& s) const noexcept
    -> warp_view {
  warp_view w;
  unsigned count = 0;
  for (unsigned l = 0; l < shape_.levels; ++l)
    for (unsigned which = 0; which < shape_.hashes; ++which) {
      w.buckets[count] = bucket_of(v.at[l], s.place[which])->raw();
      __builtin_prefetch(w.buckets[count++]);
    }
  return w;
}

/// The same for a search: where a bucket has a copy, that.
template <medium M, class Kind>
[[gnu::noinline]] auto table<M, Kind>::aim_at_copies(const levels_view& v, const candidates& s)
    -> warp_view {
  warp_view w;
  bool counts = v.cache->samples(s.hash);
  unsigned count = 0;
  for (unsigned l = 0; l < shape_.levels; ++l)
    for (unsigned which = 0; which < shape_.hashes; ++which, ++count) {
      std::uint64_t in_cache = v.first_bucket[l] + number(v.at[l], s.place[which]);
      std::uint64_t* words = v.cache->find(in_cache, w.tickets[count]);
      if (counts) v.cache->count_look(in_cache, words != nullptr);
      w.copies |= std::uint32_t{words != nullptr} << count;
      w.buckets[count] = words != nullptr ? words : bucket_of(v.at[l], s.place[which])->raw();
      __builtin_prefetch(w.buckets[count]);
    }
  if (counts && v.cache->is_time() &&
      !background_.submit([this, &v](const background&) { load_cache(v); }))
    v.cache->put_off_load();
  return w;
}
/// The lines that a search of any kind looks at first.
template <medium M, class Kind>
void table<M, Kind>::ask_for(const levels_view& v, const candidates& s) const noexcept {
  if (v.cache == nullptr) return void(warp_over(v, s));
  for (unsigned l = 0; l < shape_.levels; ++l)
    for (unsigned which = 0; which < shape_.hashes; ++which)
      v.cache->ask_for(v.first_bucket[l] + number(v.at[l], s.place[which]));
}
template <medium M, class Kind>
bool table<M, Kind>::copies_unchanged(const levels_view& v, const warp_view& w) const noexcept {
  bool all = true;
  for (std::uint32_t copies = w.copies; copies != 0;)
    all = v.cache->unchanged(w.tickets[take_lowest(copies)]) && all;
  return all;
}
/// A word of a lane's bucket, in the pool or in a copy.
template <medium M, class Kind>
[[gnu::always_inline]] inline std::uint64_t table<M, Kind>::word_at(
    const warp_view& w, unsigned lane, const pm<std::uint64_t>& word) const noexcept {
  if ((w.copies >> (lane >> shape_.slots_log2) & 1) != 0)
    return __atomic_load_n(word.raw(), __ATOMIC_RELAXED);
  return load(m_, word);
}

/// The lanes whose state is this word (§3.1, "one-shot warp access").
template <medium M, class Kind>
[[gnu::always_inline]] inline std::uint32_t table<M, Kind>::ballot(
    const warp_view& w, std::uint64_t word) const noexcept {
  return ballot(w, word, 0, shape_.levels * shape_.hashes);
}
/// Of so many buckets from the first-th on.
template <medium M, class Kind>
[[gnu::always_inline]] inline std::uint32_t table<M, Kind>::ballot(const warp_view& w,
                                                                   std::uint64_t word,
                                                                   unsigned first,
                                                                   unsigned count) const noexcept {
  const unsigned lane = first << shape_.slots_log2;
  if constexpr (reads_plainly<M>) {
    const std::uint32_t equal = warp_.ballot(w.buckets + first, count, shape_.slots, word) << lane;
    read_before_what_follows();
    return equal;
  } else {
    std::uint32_t equal = 0;
    for (unsigned n = lane; n < lane + (count << shape_.slots_log2); ++n)
      equal |= std::uint32_t{word_at(w, n, *slot_of(w, n).state) == word} << n;
    return equal;
  }
}

/// Calls on_match(slot) for each slot with the fingerprint, in the order of precedence, until that
/// says true. Returns whether it did.
template <medium M, class Kind>
template <class OnMatch>
[[gnu::always_inline]] inline bool table<M, Kind>::look_everywhere(const warp_view& w,
                                                                   const candidates& s,
                                                                   OnMatch&& on_match) const {
  if (s.escape >= 0) [[unlikely]] {
    slot_ref at = escape_slot(s.escape);
    return load(m_, *at.state) == s.fingerprint && on_match(at);
  }
  for (std::uint32_t hits = ballot(w, s.fingerprint); hits != 0;)
    if (on_match(slot_of(w, static_cast<unsigned>(take_lowest(hits))))) return true;
  return false;
}

// ------------------------------------------------------------------------------- the way of most

/// The slots of a bucket of eight whose state may be this word, two bits each: half of it is
/// compared. Who acts on that compares the word.
template <medium M, class Kind>
[[gnu::always_inline]] inline std::uint32_t table<M, Kind>::match_eight(
    bucket b, std::uint64_t word) const noexcept {
  if constexpr (reads_plainly<M>) {
    const std::uint32_t bits = same_lower_halves(b->raw(), word);
    read_before_what_follows();
    return bits;
  } else {
    std::uint32_t bits = 0;
    for (unsigned i = 0; i < 8; ++i)
      bits |= std::uint32_t{static_cast<std::uint32_t>(load(m_, b[i])) ==
                            static_cast<std::uint32_t>(word)} *
                  3
              << 2 * i;
    return bits;
  }
}

/// The first of these slots.
template <medium M, class Kind>
[[gnu::always_inline]] inline auto table<M, Kind>::first_of(bucket b, std::uint32_t bits) noexcept
    -> bucket {
  return b + static_cast<unsigned>(std::countr_zero(bits)) / 2;
}

template <medium M, class Kind>
[[gnu::always_inline]] inline auto table<M, Kind>::look_up(key_type key,
                                                           const levels_view& v) const noexcept
    -> target_type {
  target_type t;  // word by word: so that all of it stays in registers
  t.hash = hash_of(key), t.levels = &v;
  if constexpr (Kind::in_slot) {
    constexpr std::uint64_t whole_buckets = ~std::uint64_t{short_shape.bucket_bytes() - 1};
    auto* const top = reinterpret_cast<std::byte*>(v.at[0].first);
    auto* const bottom = reinterpret_cast<std::byte*>(v.at[1].first);
    const std::uint64_t byte = t.hash >> v.byte_shift;
    const std::uint64_t other = places_.place(t.hash, 1) >> v.byte_shift;
    t.at[0] = reinterpret_cast<bucket>(top + (byte & whole_buckets));
    t.at[1] = reinterpret_cast<bucket>(top + (other & whole_buckets));
    t.at[2] = reinterpret_cast<bucket>(bottom + (byte >> 1 & whole_buckets));
    t.at[3] = reinterpret_cast<bucket>(bottom + (other >> 1 & whole_buckets));
  }
  return t;
}

template <medium M, class Kind>
[[gnu::always_inline]] inline void table<M, Kind>::ask_for(const target_type& t) noexcept {
  __builtin_prefetch(t.at[0]), __builtin_prefetch(t.at[1]);
  __builtin_prefetch(t.at[2]), __builtin_prefetch(t.at[3]);
}

/// The slot that the key may be in, or null. No other one is. Who acts on that compares the state.
template <medium M, class Kind>
[[gnu::always_inline]] inline auto table<M, Kind>::find(const target_type& t) const noexcept
    -> bucket {
  if (const std::uint32_t in = match_eight(t.at[0], t.hash); in != 0) return first_of(t.at[0], in);
  if (const std::uint32_t in = match_eight(t.at[1], t.hash); in != 0) return first_of(t.at[1], in);
  if (const std::uint32_t in = match_eight(t.at[2], t.hash); in != 0) return first_of(t.at[2], in);
  if (const std::uint32_t in = match_eight(t.at[3], t.hash); in != 0) return first_of(t.at[3], in);
  return nullptr;
}

template <medium M, class Kind>
[[gnu::always_inline]] inline void table<M, Kind>::read_home(look_type& l) const noexcept {
  l.mark = &state_of(*l.levels, l.hash).mark;
  l.version = l.mark->version();
  l.state = find(l);
}

/// Word tables take one look, inlined; a read that a writer disturbed, or that must be made durable
/// first, searches. All that is slow is a tail call, so that this needs no frame.
template <medium M, class Kind>
template <class Read>
[[gnu::always_inline]] inline status table<M, Kind>::get(key_type key, Read read) {
  if constexpr (Kind::in_slot) {
    look_type l;
    static_cast<target_type&>(l) = look_up(key, levels());
    if (!is_short(l)) [[unlikely]]
      return get_anywhere(key, read);
    ask_for(l);
    read_home(l);
    return answer_short(l, key, read);
  } else {
    return frame::search(key, read);
  }
}

template <medium M, class Kind>
template <class Read>
[[gnu::always_inline]] inline status table<M, Kind>::answer(const look_type& l, key_type key,
                                                            Read read) {
  if constexpr (!Kind::in_slot) return search_at(key, candidates_of(l.hash), read);
  else if (is_short(l)) [[likely]] return answer_short(l, key, read);
  else return get_anywhere(key, read);
}

/// What the look is worth, if nothing has changed since.
template <medium M, class Kind>
template <class Read>
[[gnu::always_inline]] inline status table<M, Kind>::answer_short(const look_type& l, key_type key,
                                                                  Read read) {
  if (l.state == nullptr) {
    if (!l.mark->is_settled_at(l.version) || &levels() != l.levels) [[unlikely]]
      return frame::search(key, read);
    return status::not_found;
  }
  const std::uint64_t value = load(m_, l.state[short_shape.slots]);
  if (load(m_, *l.state) != l.hash || !l.mark->is_settled_at(l.version) || &levels() != l.levels)
      [[unlikely]]
    return frame::search(key, read);
  read(value);
  return status::ok;
}

// ------------------------------------------------------------------------------------ the long way

/// With copies one look at them is tried first.
template <medium M, class Kind>
template <class Read>
[[gnu::noinline]] status table<M, Kind>::get_anywhere(key_type key, Read read) {
  const candidates s = candidates_of(hash_of(key));
  if (const levels_view& v = levels(); v.cache != nullptr) {
    const warp_view w = aim_at_copies(v, s);
    if (probed seen = judge(v, w, s, look_at(v, w, s), read); seen != probed::torn) [[likely]]
      return seen == probed::hit ? status::ok : status::not_found;
  }
  return search_at(key, s, read);
}

/// The stripe's version, then the slots with the fingerprint.
template <medium M, class Kind>
[[gnu::always_inline]] inline auto table<M, Kind>::look_at(const levels_view& v, const warp_view& w,
                                                           const candidates& s) const
    -> copies_look {
  std::uint32_t version = state_of(v, s.hash).mark.version();
  if (s.escape >= 0) [[unlikely]]
    return {version, std::uint32_t{load(m_, *escape_slot(s.escape).state) == s.fingerprint}};
  std::uint32_t hits = 0;  // what lies behind the key is not read: it may have no copy
  for (unsigned n = 0; hits == 0 && n < shape_.levels * shape_.hashes; ++n)
    hits = ballot(w, s.fingerprint, n, 1);
  return {version, hits};
}
template <medium M, class Kind>
[[gnu::always_inline]] inline auto table<M, Kind>::hit_of(const warp_view& w, const candidates& s,
                                                          const copies_look& seen) const noexcept
    -> slot_ref {
  return s.escape >= 0 ? escape_slot(s.escape)
                       : slot_of(w, static_cast<unsigned>(lowest_bit(seen.hits)));
}

/// What a look at copies is worth; `torn` also says "not settled".
template <medium M, class Kind>
template <class Read>
[[gnu::always_inline]] inline auto table<M, Kind>::judge(const levels_view& v, const warp_view& w,
                                                         const candidates& s,
                                                         const copies_look& seen, Read& read) const
    -> probed {
  std::uint64_t value = 0;
  bool same = true;
  if (seen.hits != 0) {
    slot_ref at = hit_of(w, s, seen);
    auto lane = static_cast<unsigned>(lowest_bit(seen.hits));
    value = s.escape >= 0 ? load(m_, *at.value) : word_at(w, lane, *at.value);
    same = (s.escape >= 0 ? load(m_, *at.state) : word_at(w, lane, *at.state)) == s.fingerprint;
  }
  if (w.copies != 0 && !copies_unchanged(v, w)) return probed::torn;
  if (!same || !state_of(v, s.hash).mark.is_settled_at(seen.version) || &levels() != &v)
    return probed::torn;
  if (seen.hits == 0) return probed::miss;
  read(value);
  return probed::hit;
}

template <medium M, class Kind>
[[gnu::noinline]] status table<M, Kind>::search_at(key_type key, const candidates& s,
                                                   any_reader<value_type> read) {
  // keeps records and levels from reuse; u64 tables have none, and look at the levels again instead
  [[maybe_unused]] read_guard guard = reading();
  while (true) {  // ends: each further round means that a writer got on
    const levels_view& v = levels();
    const stripe_mark<M>& mark = state_of(v, s.hash).mark;
    std::uint32_t version = mark.version();
    std::optional<value_type> value;
    bool same = true, damaged = false;
    look_everywhere(warp_over(v, s), s, [&](slot_ref at) {
      if (Kind::fixed_key && !holds_key(at, key)) return false;
      std::uint64_t value_word = load(m_, *at.value);
      if constexpr (Kind::in_slot) {
        value = value_word;
      } else {
        auto record = record_at(m_, p_, value_word);
        if (!Kind::fixed_key && record && record->key != key) return false;
        damaged = !record;
        if (record) value = record->value;
      }
      same = load(m_, *at.state) == s.fingerprint;
      return true;
    });
    bool as_read = same && mark.is_at(version);
    if (M::planted("gphash-readers-do-not-look-again-behind-the-key")) as_read = true;
    if (!as_read || &levels() != &v) continue;
    if (damaged) return status::damaged;
    settle_for_reader(v, s);
    if (!value) return status::not_found;
    read(*value);
    return status::ok;
  }
}

/// What a reader has seen, and a crash could still undo, is made durable before the reader gives it
/// away (G6). Records and keys need no flush: they were durable before the slot was theirs.
template <medium M, class Kind>
void table<M, Kind>::settle_for_reader(const levels_view& v, const candidates& s) {
  if constexpr (stripe_mark<M>::marked) {
    const bool trusts = M::planted("gphash-a-search-trusts-what-is-not-swept");
    if ((trusts || is_swept()) && state_of(v, s.hash).mark.settled()) return;
    flushed started;
    if (s.escape >= 0) {
      started += flush(m_, extent_of(root_of_table().escapes[s.escape]), "gphash.settle.escape");
    } else {
      for (const level_view& level : v.all())
        for (unsigned which = 0; which < shape_.hashes; ++which)
          started +=
              flush(m_, words_extent(bucket_of(level, s.place[which])), "gphash.settle.buckets");
    }
    [[maybe_unused]] durable done = fence(m_, std::move(started), "gphash.settle.all");
  }
}

// ----------------------------------------------------------------------------------------- batches

/// In two passes: what the first asks for tells which slot's line is needed.
template <medium M, class Kind>
[[gnu::always_inline]] inline void table<M, Kind>::look_at(std::span<const key_type> keys,
                                                           look_type* looks) const noexcept {
  const levels_view& v = levels();
  if (!v.is_short) [[unlikely]] {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      looks[i].hash = hash_of(keys[i]), looks[i].levels = &v;
      ask_for(v, candidates_of(looks[i].hash));
    }
    return;
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    static_cast<target_type&>(looks[i]) = look_up(keys[i], v);
    ask_for(looks[i]);
  }
  for (look_type& l : std::span(looks, keys.size())) {
    read_home(l);
    if (l.state != nullptr) __builtin_prefetch(l.state + short_shape.slots);
  }
}

}  // namespace durahash::gphash
