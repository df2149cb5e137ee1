// CCEH: search without locks, batches of searches.
//
// The paper has a reader lock for lazy deletion (§5). Here a reader takes the stripe's version,
// sees that the directory still names the segment, reads it, and looks at the version again. What
// is taken away while it reads (by a removal, a split, a merge, a move) changes the version behind
// the word that takes it away, and before its place is used for something else (C6). So who has
// read from such a place what belongs to another record, or not found what was there, has taken the
// version before it changed, and sees that it did: the record or the entry was still there when the
// version had been taken. What was added meanwhile is found or not, as it happens.
#pragma once

#include "engine/cceh/table.hpp"

namespace durahash::cceh {

/// One look, inlined. A read that a writer disturbed, or that must be made durable first, searches.
template <medium M, class Kind>
template <class Read>
[[gnu::always_inline]] inline status table<M, Kind>::get(key_type key, Read read) {
  // keeps segment and record from reuse; u64 tables have none
  [[maybe_unused]] const read_guard guard = reading();
  const target t = segments_.look_up_entry(hash_of<Kind>(key, seeds_));
  return answer_at([&] { return segments_.home_in(t.entry, t.hash); }, t, key, read);
}

template <medium M, class Kind>
template <class Read>
[[gnu::always_inline]] inline status table<M, Kind>::answer(const target& t, key_type key,
                                                            Read read) {
  return answer_at([&] { return t.home; }, t, key, read);
}

/// `home` is asked behind the entry: what is not needed before has no register before.
template <medium M, class Kind>
template <class Read, class Home>
[[gnu::always_inline]] inline status table<M, Kind>::answer_at(Home home, const target& t,
                                                               key_type key, Read read) {
  const std::uint32_t version = t.stripe->version.load(std::memory_order_acquire);
  if (segments_.as_named(t) && !escapes<Kind>(key)) [[likely]] {
    const std::uint64_t wanted = Kind::key_word(key, t.hash);
    const bucket* b = home();
    std::size_t at = slot_of(m_, *b, wanted);
    for (unsigned left = segments_.shape().probe;
         at == slots_per_bucket && !has_empty_slot(m_, *b) && --left != 0;
         at = slot_of(m_, *b, wanted))
      b = segments_.bucket_behind(b, t.entry);
    if (at == slots_per_bucket) {
      if (segments_.stripes().is_as_read(*t.stripe, version)) [[likely]]
        return status::not_found;
    } else {
      const std::optional<value_type> value =
          value_for_key<Kind>(m_, p_, load(m_, b->slots[at].value), key);
      if (value && segments_.stripes().is_as_read(*t.stripe, version)) [[likely]] {
        read(*value);
        return status::ok;
      }
    }
  }
  return frame::search(key, read);
}

template <medium M, class Kind>
status table<M, Kind>::search_long(key_type key, any_reader<value_type> read) {
  const std::uint64_t hash = hash_of<Kind>(key, seeds_);
  // keeps segment and record from reuse; u64 tables have none, and look at the directory again
  // instead
  [[maybe_unused]] read_guard guard = reading();
  while (true) {  // ends: each further round means that a writer got on
    segment s = escapes<Kind>(key) ? segments_.of_escapes() : segments_.under_guard(hash);
    window w = segments_.window_for(s, hash, key);
    std::optional<value_type> value;
    unsigned buckets = 0;
    probed outcome = probe(w, key, value, buckets);
    if (!segments_.unchanged(s)) continue;
    if (outcome == probed::damaged) return status::damaged;
    segments_.settle_for_reader(s.stripe, w, buckets);
    if (outcome == probed::miss) return status::not_found;
    read(*value);
    return status::ok;
  }
}

/// `buckets` counts those that were looked at, from the home bucket on.
template <medium M, class Kind>
auto table<M, Kind>::probe(const window& w, key_type key, std::optional<value_type>& value,
                           unsigned& buckets) const -> probed {
  while (buckets < w.buckets) {
    const bucket& b = w[buckets++];
    bucket_keys keys = keys_of(m_, b);
    for (std::uint32_t hits = match(keys, w.key_word); hits != 0;) {
      const std::uint64_t value_word = load(m_, b.slots[take_lowest(hits)].value);
      const probed found = probe_slot<Kind>(m_, p_, value_word, key, value);
      if (found != probed::miss) return found;
    }
    if (match(keys, empty_word) != 0) break;
  }
  return probed::miss;
}

// ----------------------------------------------------------------------------------------- batches

template <medium M, class Kind>
[[gnu::always_inline]] inline void table<M, Kind>::look_at(std::span<const key_type> keys,
                                                           target* looks) const noexcept {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    looks[i] = segments_.look_up(hash_of<Kind>(keys[i], seeds_));
    __builtin_prefetch(looks[i].home);
  }
  ask_for_records({looks, keys.size()});
}

/// Those that the home buckets name.
template <medium M, class Kind>
[[gnu::always_inline]] inline void table<M, Kind>::ask_for_records(
    [[maybe_unused]] std::span<const target> targets) const noexcept {
  if constexpr (!Kind::in_slot)
    for (const target& t : targets)
      for (const slot& s : t.home->slots)
        if (load(m_, s.key) == t.hash) prefetch_record(p_, load(m_, s.value));
}

}  // namespace durahash::cceh
