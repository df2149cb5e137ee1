// TurboHash: search without locks (paper §3.4, algorithm 1), batches of searches, iteration.
//
// A read of a bucket is good if the commit word is the same before and after it, all 8 bytes of it,
// for hits and for misses (holes TurboHash 1 and TurboHash 2). A read of a shard is good if its
// mirror is the same before and after. And what was read may be given away if the shard is settled
// then (T6).
#pragma once

#include <emmintrin.h>

#include <algorithm>

#include "engine/turbo/table.hpp"

namespace durahash::turbo {

/// Most searches end in the home bucket: they take one home_look, inlined. All others, and those that
/// a writer disturbed, search.
template <medium M, class Kind>
template <class Read>
status table<M, Kind>::get(key_type key, Read&& read) {
  std::uint64_t hash = Kind::hash(key, seeds_);
  if constexpr (Kind::in_slot) {
    home_look g = look_home(hash);
    if (!g.view.none()) [[likely]] {
      read_home(g, hash);
      if (probed seen = judge(g, key, read); seen != probed::torn) [[likely]]
        return seen == probed::hit ? status::ok : status::not_found;
    }
  }
  return search(hash, key, read);
}

template <medium M, class Kind>
auto table<M, Kind>::look_home(std::uint64_t hash) const noexcept -> home_look {
  shard_index s = shard_of(hash);
  shard_view v = view(s);
  return {s, v, buckets_of(v) + home_of(hash, v.log2_buckets()), {}, 0};
}

template <medium M, class Kind>
void table<M, Kind>::read_home(home_look& g, std::uint64_t hash) const noexcept {
  g.meta = load(m_, g.home->meta);
  g.hits = match_tags(*g.home, tag_of(hash)) & g.meta.live();
}

template <medium M, class Kind>
bool table<M, Kind>::is_as_read(const bucket& b, meta_word meta) const noexcept {
  meta_word now = load(m_, b.meta);
  if (M::planted("one-write-in-between-is-tolerated"))
    return (now.bits >> 28) - (meta.bits >> 28) <= 1;
  return now == meta;
}

/// What a home_look at the home bucket of a word table is worth: a hit, a miss, or `torn`, which here
/// also says "look further" and "not settled".
template <medium M, class Kind>
template <class Read>
auto table<M, Kind>::judge(const home_look& g, key_type key, Read& read) const -> probed {
  auto unchanged = [&] {
    return is_as_read(*g.home, g.meta) && view(g.shard) == g.view && unsettled_.settled(g.shard);
  };
  for (std::uint32_t hits = g.hits; hits != 0;) {
    const slot& at = g.home->slots[take_lowest(hits)];
    if (load(m_, at.key) != key) continue;
    std::uint64_t value = load(m_, at.value);
    if (!unchanged()) return probed::torn;
    read(value);
    return probed::hit;
  }
  return g.meta.ends_path() && unchanged() ? probed::miss : probed::torn;
}

template <medium M, class Kind>
template <class Read>
[[gnu::noinline]] status table<M, Kind>::search(std::uint64_t hash, key_type key, Read& read) {
  shard_index s = shard_of(hash);
  // keeps array and record from reuse; u64 tables have none, and look at the mirror again instead
  [[maybe_unused]] read_guard guard = reading();
  while (true) {  // ends: each further round means that a writer of this shard got on
    shard_view v = view(s);
    std::optional<value_type> value;
    unsigned buckets = 0;
    probed outcome = probe(v, hash, key, value, buckets);
    if (outcome == probed::damaged) return status::damaged;
    if (outcome == probed::torn || (Kind::in_slot && view(s) != v)) continue;
    settle_for_reader(s, v, home_of(hash, v.log2_buckets()), buckets);
    if (outcome == probed::miss) return status::not_found;
    read(*value);
    return status::ok;
  }
}

/// `buckets` counts those that were looked at, from the home bucket on.
template <medium M, class Kind>
auto table<M, Kind>::probe(shard_view v, std::uint64_t hash, key_type key,
                           std::optional<value_type>& value, unsigned& buckets) const -> probed {
  bucket* first = buckets_of(v);
  std::uint64_t home = home_of(hash, v.log2_buckets()), mask = v.buckets() - 1;
  std::uint64_t key_word = Kind::key_word(key, hash);
  unsigned scope = scope_in(v);
  if (M::planted("a-search-one-bucket-short") && scope > 1) --scope;
  while (buckets < scope) {
    bucket& b = first[(home + buckets++) & mask];
    meta_word meta = load(m_, b.meta);
    auto unchanged = [&] { return is_as_read(b, meta); };
    for (std::uint32_t hits = match_tags(b, tag_of(hash)) & meta.live(); hits != 0;) {
      slot& at = b.slots[take_lowest(hits)];
      if (load(m_, at.key) != key_word) continue;
      std::uint64_t value_word = load(m_, at.value);
      if (!unchanged()) return probed::torn;
      if constexpr (Kind::in_slot) {
        value = value_word;
        return probed::hit;
      } else {
        auto record = record_at(m_, p_, value_word);
        if (!record) return probed::damaged;
        if (record->key != key) continue;
        value = record->value;
        return probed::hit;
      }
    }
    if (!M::planted("misses-are-not-checked-again") && !unchanged()) return probed::torn;
    if (meta.ends_path()) return probed::miss;
  }
  return probed::miss;
}

/// What a reader has seen, and a crash could still undo, is made durable before the reader gives it
/// away (T6). Records need no flush: they were durable before a slot named them.
template <medium M, class Kind>
void table<M, Kind>::settle_for_reader(shard_index s, shard_view v, std::uint64_t home,
                                       unsigned buckets) {
  if constexpr (unsettled<M>::needed) {
    if (unsettled_.settled(s)) return;
    if (unsettled_.of(s) == settlement::inherited) return settle(s);
    flushed started;
    for (unsigned n = 0; n < buckets; ++n)
      started += flush(m_, extent_of(buckets_of(v)[(home + n) & (v.buckets() - 1)]),
                       "turbo.settle.buckets");
    [[maybe_unused]] durable done = fence(m_, std::move(started), "turbo.settle.all");
  }
}

/// A process that was killed may have left words of this shard in the caches.
template <medium M, class Kind>
void table<M, Kind>::settle(shard_index s) {
  if constexpr (unsettled<M>::needed) {
    if (unsettled_.of(s) != settlement::inherited) return;
    shard_view v = view(s);
    unsettled_.take_over(s, persist(m_, extent{buckets_of(v), v.bytes()}, "turbo.inherit.array"));
  }
}

template <medium M, class Kind>
std::uint32_t table<M, Kind>::match_tags(const bucket& b, std::uint8_t tag) const noexcept {
  auto low = static_cast<long long>(load(m_, b.tags[0])),
       high = static_cast<long long>(load(m_, b.tags[1]));
  __m128i equal = _mm_cmpeq_epi8(_mm_set_epi64x(high, low), _mm_set1_epi8(static_cast<char>(tag)));
  return static_cast<std::uint32_t>(_mm_movemask_epi8(equal));
}

template <medium M, class Kind>
std::uint8_t table<M, Kind>::tag_at(const bucket& b, int slot) const noexcept {
  return static_cast<std::uint8_t>(load(m_, b.tags[slot / 8]) >> (slot % 8 * 8));
}

// ----------------------------------------------------------------------------------------- batches

template <medium M, class Kind>
template <class Read>
void table<M, Kind>::get_many(std::span<const key_type> keys, Read&& read, status* answers) {
  [[maybe_unused]] read_guard guard = reading();
  std::uint64_t hashes[group_size];
  home_look looks[group_size];
  for (std::size_t start = 0; start < keys.size(); start += group_size) {
    std::size_t count = std::min(group_size, keys.size() - start);
    for (std::size_t i = 0; i < count; ++i) {
      hashes[i] = Kind::hash(keys[start + i], seeds_);
      looks[i] = look_home(hashes[i]);
      __builtin_prefetch(looks[i].home);
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (looks[i].view.none()) continue;
      read_home(looks[i], hashes[i]);
      if (looks[i].hits != 0)
        __builtin_prefetch(&looks[i].home->slots[std::countr_zero(looks[i].hits)]);
    }
    for (std::size_t i = 0; i < count; ++i) {
      key_type key = keys[start + i];
      auto read_one = [&](value_type value) { read(start + i, value); };
      probed seen = probed::torn;
      if constexpr (Kind::in_slot)
        if (!looks[i].view.none()) seen = judge(looks[i], key, read_one);
      answers[start + i] = seen == probed::hit    ? status::ok
                           : seen == probed::miss ? status::not_found
                                                  : search(hashes[i], key, read_one);
    }
  }
}

// --------------------------------------------------------------------------------------- iteration

template <medium M, class Kind>
std::uint64_t table<M, Kind>::hash_of_slot(std::uint64_t key_word) const noexcept {
  if constexpr (Kind::in_slot) return word_hash(key_word, seeds_);
  else return key_word;
}

/// The shard's live slots, or nothing when a writer was faster.
template <medium M, class Kind>
auto table<M, Kind>::live_records(shard_index s) const -> std::optional<std::vector<live_record>> {
  shard_view v = view(s);
  bucket* first = buckets_of(v);
  std::vector<live_record> found;
  for (std::uint64_t index = 0; index < v.buckets(); ++index) {
    bucket& b = first[index];
    std::size_t before = found.size();
    meta_word meta;
    do {  // ends: each further round means that a writer of this bucket got on
      found.resize(before);
      meta = load(m_, b.meta);
      for (std::uint32_t live = meta.live(); live != 0;) {
        slot& at = b.slots[take_lowest(live)];
        std::uint64_t key_word = load(m_, at.key);
        if (M::planted("a-key-that-means-empty") && key_word == 0) continue;
        found.push_back({hash_of_slot(key_word), key_word, load(m_, at.value)});
      }
    } while (load(m_, b.meta) != meta);
  }
  if (view(s) != v) return std::nullopt;
  return found;
}

/// Calls visit(resident) for each record of an array that nobody else writes to.
template <medium M, class Kind>
template <class Visit>
void table<M, Kind>::for_each_resident(shard_view v, Visit&& visit) const {
  for (std::uint64_t index = 0; index < v.buckets(); ++index) {
    bucket& b = buckets_of(v)[index];
    for (std::uint32_t live = load(m_, b.meta).live(); live != 0;) {
      int i = take_lowest(live);
      std::uint64_t key_word = load(m_, b.slots[i].key);
      visit(resident{{hash_of_slot(key_word), key_word, load(m_, b.slots[i].value)}, &b, i});
    }
  }
}

/// A shard's.
template <medium M, class Kind>
std::optional<std::uint64_t> table<M, Kind>::read_stretch(std::uint64_t position, stretch& found) {
  shard_index s = shard_of(position);
  auto records = live_records(s);
  if (!records) return std::nullopt;
  found.records = std::move(*records);
  shard_view v = view(s);  // if it moved since: all that was seen of the old array is durable
  settle_for_reader(s, v, 0, static_cast<unsigned>(v.buckets()));
  return s + 1 == shards() ? 0 : std::uint64_t{s + 1} << (64 - shard_bits_);
}

}  // namespace durahash::turbo
