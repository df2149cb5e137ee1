// GPHash: search without locks (paper §3.2.3), batches of searches, iteration.
//
// A reader takes the stripe's version, looks, and believes a hit if slot, version and levels are
// then the same: a slot that was lent to another key meanwhile and came back has had this key
// removed and added in between (G5). A record moves only with the levels.
#pragma once

#include "engine/gphash/table.hpp"

namespace durahash::gphash {

template <medium M, class Kind>
std::uint64_t table<M, Kind>::hash_of(key_type key) const noexcept {
  if constexpr (Kind::in_slot) {
    return places_.words().mix(key);
  } else {
    std::uint64_t hash = bytes_hash(key, seeds_);
    // eight hashes fewer, which share others' buckets
    return hash < first_fingerprint ? hash + first_fingerprint : hash;
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
[[gnu::always_inline]] inline auto table<M, Kind>::aim(const levels_view& v, const candidates& s)
    -> warp_view {
  return v.cache == nullptr ? warp_over(v, s) : aim_at_copies(v, s);
}
template <medium M, class Kind>
[[gnu::noinline]] auto table<M, Kind>::aim_at_copies(const levels_view& v, const candidates& s)
    -> warp_view {
  warp_view w;
  bool counts = v.cache->samples(s.hash);
  unsigned count = 0;
  for (unsigned l = 0; l < shape_.levels; ++l)
    for (unsigned which = 0; which < shape_.hashes; ++which, ++count) {
      std::uint64_t in_cache = v.first_in_cache[l] + number(v.at[l], s.place[which]);
      std::uint64_t* words = v.cache->find(in_cache, w.tickets[count]);
      if (counts) v.cache->count_look(in_cache, words != nullptr);
      w.copies |= std::uint32_t{words != nullptr} << count;
      w.buckets[count] = words != nullptr ? words : bucket_of(v.at[l], s.place[which])->raw();
      __builtin_prefetch(w.buckets[count]);
    }
  if (counts && v.cache->is_time())
    background_.submit([this, &v](const background&) { load_cache(v); });
  return w;
}
template <medium M, class Kind>
void table<M, Kind>::ask_for_copies(const levels_view& v, const candidates& s) const noexcept {
  for (unsigned l = 0; l < shape_.levels; ++l)
    for (unsigned which = 0; which < shape_.hashes; ++which)
      v.cache->ask_for(v.first_in_cache[l] + number(v.at[l], s.place[which]));
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
  unsigned buckets = shape_.levels * shape_.hashes;
  if constexpr (reads_plainly<M>) {
    return warp_.ballot(w.buckets, buckets, shape_.slots, word);
  } else {
    std::uint32_t equal = 0;
    for (unsigned lane = 0; lane < shape_.lanes(); ++lane)
      equal |= std::uint32_t{word_at(w, lane, *slot_of(w, lane).state) == word} << lane;
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

/// Word tables take one look, inlined; a read that a writer disturbed, or that must be made durable
/// first, searches.
template <medium M, class Kind>
template <class Read>
status table<M, Kind>::get(key_type key, Read&& read) {
  candidates s = candidates_of(hash_of(key));
  if constexpr (Kind::in_slot) {
    const levels_view& v = levels();
    warp_view w = aim(v, s);
    if (probed seen = judge(v, w, s, look_at(v, w, s), read); seen != probed::torn) [[likely]]
      return seen == probed::hit ? status::ok : status::not_found;
  }
  return search(key, s, read);
}

/// The stripe's version, then the slots with the fingerprint.
template <medium M, class Kind>
[[gnu::always_inline]] inline auto table<M, Kind>::look_at(const levels_view& v, const warp_view& w,
                                                           const candidates& s) const -> home_look {
  std::uint32_t version = stripes_[stripe_of(v, s.hash)].version.load(std::memory_order_acquire);
  if (s.escape >= 0) [[unlikely]]
    return {version, std::uint32_t{load(m_, *escape_slot(s.escape).state) == s.fingerprint}};
  return {version, ballot(w, s.fingerprint)};
}
template <medium M, class Kind>
[[gnu::always_inline]] inline auto table<M, Kind>::hit_of(const warp_view& w, const candidates& s,
                                                          const home_look& seen) const noexcept
    -> slot_ref {
  return s.escape >= 0 ? escape_slot(s.escape)
                       : slot_of(w, static_cast<unsigned>(lowest_bit(seen.hits)));
}

/// What a home_look at a word table is worth; `torn` also says "not settled".
template <medium M, class Kind>
template <class Read>
[[gnu::always_inline]] inline auto table<M, Kind>::judge(const levels_view& v, const warp_view& w,
                                                         const candidates& s, const home_look& seen,
                                                         Read& read) const -> probed {
  stripe_index stripe = stripe_of(v, s.hash);
  std::uint64_t value = 0;
  bool same = true;
  if (seen.hits != 0) {
    slot_ref at = hit_of(w, s, seen);
    auto lane = static_cast<unsigned>(lowest_bit(seen.hits));
    value = s.escape >= 0 ? load(m_, *at.value) : word_at(w, lane, *at.value);
    same = (s.escape >= 0 ? load(m_, *at.state) : word_at(w, lane, *at.state)) == s.fingerprint;
  }
  if (w.copies != 0 && !copies_unchanged(v, w)) return probed::torn;
  if (!same || stripes_[stripe].version.load(std::memory_order_acquire) != seen.version ||
      &levels() != &v || !unsettled_.settled(stripe))
    return probed::torn;
  if (seen.hits == 0) return probed::miss;
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
    stripe_index stripe = stripe_of(v, s.hash);
    std::uint32_t version = stripes_[stripe].version.load(std::memory_order_acquire);
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
    bool as_read = same && stripes_[stripe].version.load(std::memory_order_acquire) == version;
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
  if constexpr (unsettled<M>::needed) {
    if (unsettled_.settled(stripe_of(v, s.hash))) return;
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

template <medium M, class Kind>
template <class Read>
void table<M, Kind>::get_many(std::span<const key_type> keys, Read&& read, status* answers) {
  [[maybe_unused]] read_guard guard = reading();
  candidates candidate_sets[group_size];
  warp_view warps[group_size];
  home_look looks[group_size];
  for (std::size_t start = 0; start < keys.size(); start += group_size) {
    std::size_t count = std::min(group_size, keys.size() - start);
    const levels_view& v = levels();
    for (std::size_t i = 0; i < count; ++i) {
      candidate_sets[i] = candidates_of(hash_of(keys[start + i]));
      if (v.cache == nullptr) warps[i] = warp_over(v, candidate_sets[i]);
      else ask_for_copies(v, candidate_sets[i]);
    }
    if (v.cache != nullptr)
      for (std::size_t i = 0; i < count; ++i) warps[i] = aim_at_copies(v, candidate_sets[i]);
    if constexpr (Kind::in_slot)
      for (std::size_t i = 0; i < count; ++i) {
        looks[i] = look_at(v, warps[i], candidate_sets[i]);
        if (looks[i].hits != 0)
          __builtin_prefetch(hit_of(warps[i], candidate_sets[i], looks[i]).value->raw());
      }
    for (std::size_t i = 0; i < count; ++i) {
      auto read_one = [&](value_type value) { read(start + i, value); };
      probed seen = probed::torn;
      if constexpr (Kind::in_slot) seen = judge(v, warps[i], candidate_sets[i], looks[i], read_one);
      answers[start + i] = seen == probed::hit ? status::ok
                           : seen == probed::miss
                               ? status::not_found
                               : search(keys[start + i], candidate_sets[i], read_one);
    }
  }
}

// --------------------------------------------------------------------------------------- iteration

/// The key of a word table, the hash of a byte table.
template <medium M, class Kind>
std::uint64_t table<M, Kind>::key_word_of(std::uint64_t fingerprint) const noexcept {
  return Kind::in_slot ? places_.words().key_of(fingerprint) : fingerprint;
}

/// Whether the key of a slot with its fingerprint is this one. A reader looks at state and version
/// again behind it: the slot may be lent meanwhile.
template <medium M, class Kind>
bool table<M, Kind>::holds_key([[maybe_unused]] const slot_ref& at, key_type key) const {
  if constexpr (Kind::fixed_key) {
    for (unsigned n = 0; n < shape_.key_words(); ++n)
      if (load(m_, at.key[n]) != word_of_key(key, n)) return false;
    return true;
  } else {
    return names_key<Kind>(m_, p_, load(m_, *at.value), key);
  }
}

/// Calls visit(resident) for each record in the bucket. One that is removed meanwhile is not there.
template <medium M, class Kind>
template <class Visit>
void table<M, Kind>::for_each_resident(bucket b, Visit&& visit) const {
  for (unsigned i = 0; i < shape_.slots; ++i) {
    slot_ref at = slot_at(b, i);
    std::uint64_t state = load(m_, *at.state);
    if (state < first_fingerprint) continue;
    resident r;
    r.hash = state;
    r.key_word = key_word_of(state);
    r.value_word = load(m_, *at.value);
    r.where = at;
    if constexpr (Kind::fixed_key) {
      m_.will_read(at.key, shape_.key_bytes);
      r.key = {reinterpret_cast<const char*>(at.key->raw()), shape_.key_bytes};
    }
    if (load(m_, *at.state) == state) visit(r);
  }
}

template <medium M, class Kind>
template <class Visit>
void table<M, Kind>::for_each_escape(Visit&& visit) const {
  for (int i = 0; Kind::in_slot && i < static_cast<int>(first_fingerprint); ++i) {
    slot_ref at = escape_slot(i);
    if (load(m_, *at.state) != escape_fingerprint) continue;
    resident r;
    r.hash = static_cast<std::uint64_t>(i);
    r.key_word = key_word_of(r.hash);
    r.value_word = load(m_, *at.value);
    r.where = at;
    visit(r);
  }
}

/// Calls visit(bucket) for all buckets in which records may be whose hashes have the prefix.
template <medium M, class Kind>
template <class Visit>
void table<M, Kind>::for_each_bucket_of(const levels_view& v, std::uint64_t prefix, unsigned bits,
                                        Visit&& visit) const {
  std::uint64_t found[1 + (max_hashes - 1) * places::maps];  // of few bits many are the same
  std::size_t count = 0;
  auto note = [&](std::uint64_t place) {
    place = place >> (64 - bits) << (64 - bits);
    if (std::find(found, found + count, place) != found + count) return;
    found[count++] = place;
  };
  note(prefix);
  for (unsigned which = 1; which < shape_.hashes; ++which)
    for (unsigned map = 0; map < places::maps; ++map) note(places_.other_place(prefix, which, map));
  std::sort(found, found + count);
  for (const level_view& level : v.all()) {
    std::uint64_t last = ~std::uint64_t{0};
    for (std::size_t n = 0; n < count; ++n) {
      std::uint64_t first = number(level, found[n]),
                    end = first + (level.log2 > bits ? std::uint64_t{1} << (level.log2 - bits) : 1);
      if (first == last) continue;  // a bucket of several prefixes
      for (std::uint64_t index = first; index < end; ++index) visit(bucket_at(level, index));
      last = first;
    }
  }
}

/// Calls visit(resident) for each record whose hash has the prefix.
template <medium M, class Kind>
template <class Visit>
void table<M, Kind>::for_each_record_of(const levels_view& v, std::uint64_t prefix, unsigned bits,
                                        Visit&& visit) const {
  auto visit_if = [&](const resident& r) {
    if ((r.hash ^ prefix) >> (64 - bits) == 0) visit(r);
  };
  for_each_bucket_of(v, prefix, bits, [&](bucket b) { for_each_resident(b, visit_if); });
  if (prefix == 0) for_each_escape(visit_if);
}

/// A stripe's.
template <medium M, class Kind>
std::optional<std::uint64_t> table<M, Kind>::read_stretch(std::uint64_t position, stretch& found) {
  const levels_view& v = levels();
  unsigned bits = v.stripe_bits;
  stripe_index stripe = stripe_of(v, position);
  std::uint64_t prefix = std::uint64_t{stripe} << (64 - bits);
  std::uint32_t version = stripes_[stripe].version.load(std::memory_order_acquire);
  found.records.clear();
  found.keys.clear();
  for_each_record_of(v, prefix, bits, [&](const resident& r) {
    found.records.push_back(r);
    if constexpr (Kind::fixed_key) {
      auto& copy = found.keys.emplace_back();
      for (unsigned n = 0; n < shape_.key_words(); ++n) copy[n] = load(m_, r.where.key[n]);
      found.records.back().key = {reinterpret_cast<const char*>(copy.data()), shape_.key_bytes};
    }
  });
  if (&levels() != &v || stripes_[stripe].version.load(std::memory_order_acquire) != version)
    return std::nullopt;
  if (!unsettled_.settled(stripe)) {
    flushed started;
    for_each_bucket_of(v, prefix, bits, [&](bucket b) {
      started += flush(m_, words_extent(b), "gphash.scan.buckets");
    });
    if (prefix == 0)
      started += flush(m_, extent{root_of_table().escapes, sizeof root_of_table().escapes},
                       "gphash.scan.escapes");
    [[maybe_unused]] durable done = fence(m_, std::move(started), "gphash.scan.all");
  }
  return prefix + (std::uint64_t{1} << (64 - bits));
}

}  // namespace durahash::gphash
