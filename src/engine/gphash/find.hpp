// GPHash: search without locks (paper §3.2.3), batches of searches, iteration.
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
  for (unsigned i = 0; i < shape_.slots; ++i)
    visit_resident(b, i, first_fingerprint, ~std::uint64_t{0}, visit);
}

/// If the slot's fingerprint is in [first, last].
template <medium M, class Kind>
template <class Visit>
[[gnu::always_inline]] inline void table<M, Kind>::visit_resident(bucket b, unsigned slot,
                                                                  std::uint64_t first,
                                                                  std::uint64_t last,
                                                                  Visit&& visit) const {
  const std::uint64_t state = load(m_, b[slot]);
  if (state - first > last - first) return;
  const slot_ref at = slot_at(b, slot);
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

/// Calls visit(resident) for each record whose hash has the prefix. A bucket is looked at for each
/// of the prefixes that its records may have: most of them are passed by, eight at once.
template <medium M, class Kind>
template <class Visit>
void table<M, Kind>::for_each_record_of(const levels_view& v, std::uint64_t prefix, unsigned bits,
                                        Visit&& visit) const {
  const std::uint64_t first = std::max(prefix, first_fingerprint),
                      last = prefix | low_bits(64 - bits), in_common = ~low_bits(64 - bits);
  const unsigned slots = shape_.slots, eights = reads_plainly<M> ? slots & ~7u : 0;
  for_each_bucket_of(
      v, prefix, bits, [ =, this, &visit ](bucket b) __attribute__((always_inline)) {
        for (unsigned n = 0; n < eights; n += 8) {
          constexpr std::uint32_t one_of_each_two = 0x5555;
          std::uint32_t some = same_upper_halves(b[n].raw(), first, in_common) & one_of_each_two;
          read_before_what_follows();
          while (some != 0)
            visit_resident(b, n + static_cast<unsigned>(take_lowest(some)) / 2, first, last, visit);
        }
        for (unsigned n = eights; n < slots; ++n) visit_resident(b, n, first, last, visit);
      });
  if (prefix == 0) for_each_escape(visit);
}

/// Some stripes' that lie side by side: what is looked at is more or less the same for each.
template <medium M, class Kind>
std::optional<std::uint64_t> table<M, Kind>::read_stretch(std::uint64_t position, stretch& found) {
  constexpr unsigned together_bits = 3;
  const levels_view& v = levels();
  const unsigned bits = v.stripe_bits - (v.stripe_bits > together_bits ? together_bits : 0);
  const std::uint64_t prefix = position & ~low_bits(64 - bits);
  const std::span<const stripe_state> stripes(&state_of(v, prefix),
                                              std::size_t{1} << (v.stripe_bits - bits));
  std::uint32_t versions[1 << together_bits];
  for (std::size_t n = 0; n < stripes.size(); ++n) versions[n] = stripes[n].mark.version();
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
  if (&levels() != &v) return std::nullopt;
  bool settled = is_swept() || M::planted("gphash-a-scan-trusts-what-is-not-swept");
  for (std::size_t n = 0; n < stripes.size(); ++n) {
    if (!stripes[n].mark.is_at(versions[n])) return std::nullopt;
    settled &= stripes[n].mark.settled();
  }
  if (!settled) {
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
