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

/// The segment of a hash, and the version that a read of it begins with. The entry is looked at
/// again behind the version, and believed only if the directory that it stands in is still the one
/// in use. Under a read_guard: in byte tables the memory of a directory that was replaced may
/// become a record's.
template <medium M, class Kind>
auto table<M, Kind>::segment_under_guard(std::uint64_t hash) const noexcept -> segment {
  segment s;
  do {  // ends: each further round means that the segment or the directory was replaced
    s.directory = directory();
    s.named = entries_of(s.directory.offset()) + shifted(hash, s.directory.exponent());
    s.entry = {load(m_, *s.named)};
    s.prefix = prefix_of(hash, s.depth());
    s.stripe = stripes::of(s.prefix);
    s.version = stripes_[s.stripe].version.load(std::memory_order_acquire);
  } while (load(m_, *s.named) != s.entry.word || directory() != s.directory);
  return s;
}

template <medium M, class Kind>
auto table<M, Kind>::segment_of(std::uint64_t hash) const noexcept -> segment {
  [[maybe_unused]] read_guard guard = reading();
  return segment_under_guard(hash);
}

/// Whether the segment, whose stripe is locked, is still what it was when it was found. False also
/// behind a change of the directory: it is to be found again.
template <medium M, class Kind>
bool table<M, Kind>::still_named(const segment& s) const noexcept {
  // a directory that is in use behind this line is not reused before the next
  [[maybe_unused]] read_guard guard = reading();
  return directory() == s.directory && load(m_, *s.named) == s.entry.word &&
         directory() == s.directory;
}

template <medium M, class Kind>
bool table<M, Kind>::unchanged(const segment& s) const noexcept {
  return stripes_[s.stripe].version.load(std::memory_order_acquire) == s.version;
}

template <medium M, class Kind>
auto table<M, Kind>::window_of(const segment& s, std::uint64_t hash, key_type key) const noexcept
    -> window {
  return {buckets_at(s.offset()), shape_.home_of(hash), shape_.mask(), shape_.probe,
          Kind::key_word(key, hash)};
}

template <medium M, class Kind>
auto table<M, Kind>::escape_window([[maybe_unused]] key_type key) const noexcept -> window {
  window w{&root_of_table().escapes, 0, 0, 1, 0};
  if constexpr (Kind::in_slot) w.key_word = escape_word_of(key);
  return w;
}

/// One look, inlined. A read that a writer disturbed, or that must be made durable first, searches.
template <medium M, class Kind>
template <class Read>
[[gnu::always_inline]] inline status table<M, Kind>::get(key_type key, Read read) {
  // keeps segment and record from reuse; u64 tables have none
  [[maybe_unused]] const read_guard guard = reading();
  const target t = look_up_entry(hash_of<Kind>(key, seeds_));
  return answer_at([&] { return home_in(t.entry, t.hash); }, t, key, read);
}

template <medium M, class Kind>
template <class Read>
[[gnu::always_inline]] inline status table<M, Kind>::answer(const target& t, key_type key,
                                                            Read read) {
  return answer_at([&] { return t.home; }, t, key, read);
}

/// Where the directory says that the hash's segment is. Tables of bytes are under a read_guard.
/// Those of words under nothing: what it says may have been overwritten.
template <medium M, class Kind>
[[gnu::always_inline]] inline auto table<M, Kind>::look_up_entry(std::uint64_t hash) const noexcept
    -> target {
  const directory_view d = directory();
  const void* at = base_ + d.offset() + d.entry_byte(hash);
  const auto* named = static_cast<const pm<std::uint64_t>*>(at);
  const checked_place entry{load(m_, *named)};
  // its first bits, as many as the segment's prefix has
  const std::uint64_t stripe =
      hash >> (64 - stripes::bits) & ~low_bits(stripes::bits) >> entry.exponent();
  return {hash, d, named, entry, &stripes_[stripe]};
}

template <medium M, class Kind>
[[gnu::always_inline]] inline bucket* table<M, Kind>::home_in(checked_place entry,
                                                              std::uint64_t hash) const noexcept {
  void* first = base_ + entry.offset();
  return static_cast<bucket*>(first) + shape_.home_of(hash);
}

/// And its home bucket.
template <medium M, class Kind>
[[gnu::always_inline]] inline auto table<M, Kind>::look_up(std::uint64_t hash) const noexcept
    -> target {
  target t = look_up_entry(hash);
  t.home = home_in(t.entry, hash);
  return t;
}

/// Whether that directory is the one in use and says so still. Behind a look at the stripe's
/// version,
/// or at its lock: what was read between is of that segment, if the version is the same then.
template <medium M, class Kind>
[[gnu::always_inline]] inline bool table<M, Kind>::as_named(const target& t) const noexcept {
  return holds(m_, *t.named, t.entry.word) && word_is(directory_, t.directory.word);
}

/// Whether nothing has left the stripe since it had this version, and all in it is durable.
template <medium M, class Kind>
[[gnu::always_inline]] inline bool table<M, Kind>::is_as_read(
    const stripe_state& stripe, std::uint32_t version) const noexcept {
  return word_is(stripe.version, version) && stripes_.marks().settled(stripe.mark);
}

/// The next bucket of a segment, in a circle.
template <medium M, class Kind>
[[gnu::always_inline]] inline bucket* table<M, Kind>::bucket_behind(
    const bucket* b, checked_place entry) const noexcept {
  char* const first = base_ + entry.offset();
  const auto next = static_cast<std::uint64_t>(reinterpret_cast<const char*>(b + 1) - first);
  void* at = first + (next & (shape_.bytes() - 1));
  return static_cast<bucket*>(at);
}

/// `home` is asked behind the entry: what is not needed before has no register before.
template <medium M, class Kind>
template <class Read, class Home>
[[gnu::always_inline]] inline status table<M, Kind>::answer_at(Home home, const target& t,
                                                               key_type key, Read read) {
  const std::uint32_t version = t.stripe->version.load(std::memory_order_acquire);
  if (as_named(t) && !escapes<Kind>(key)) [[likely]] {
    const std::uint64_t wanted = Kind::key_word(key, t.hash);
    const bucket* b = home();
    std::size_t at = slot_of(m_, *b, wanted);
    for (unsigned left = shape_.probe;
         at == slots_per_bucket && !has_empty_slot(m_, *b) && --left != 0;
         at = slot_of(m_, *b, wanted))
      b = bucket_behind(b, t.entry);
    if (at == slots_per_bucket) {
      if (is_as_read(*t.stripe, version)) [[likely]]
        return status::not_found;
    } else {
      const std::optional<value_type> value =
          value_for_key<Kind>(m_, p_, load(m_, b->slots[at].value), key);
      if (value && is_as_read(*t.stripe, version)) [[likely]] {
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
    segment s = escapes<Kind>(key) ? escape_segment() : segment_under_guard(hash);
    window w = window_for(s, hash, key);
    std::optional<value_type> value;
    unsigned buckets = 0;
    probed outcome = probe(w, key, value, buckets);
    if (!unchanged(s)) continue;
    if (outcome == probed::damaged) return status::damaged;
    settle_for_reader(s.stripe, w, buckets);
    if (outcome == probed::miss) return status::not_found;
    read(*value);
    return status::ok;
  }
}

/// The escape slots as a segment that never moves.
template <medium M, class Kind>
auto table<M, Kind>::escape_segment() const noexcept -> segment {
  segment s;
  s.directory = directory();
  s.named = &root_of_table().directory;
  s.entry = {load(m_, *s.named)};
  s.stripe = stripes::of_escapes;
  s.version = stripes_[stripes::of_escapes].version.load(std::memory_order_acquire);
  return s;
}

/// `buckets` counts those that were looked at, from the home bucket on.
template <medium M, class Kind>
auto table<M, Kind>::probe(const window& w, key_type key, std::optional<value_type>& value,
                           unsigned& buckets) const -> probed {
  while (buckets < w.buckets) {
    const bucket& b = w[buckets++];
    bucket_keys keys = keys_of(m_, b);
    for (std::uint32_t hits = match(keys, w.key_word); hits != 0;) {
      std::uint64_t value_word = load(m_, b.slots[take_lowest(hits)].value);
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
    if (match(keys, empty_word) != 0) break;
  }
  return probed::miss;
}

/// What a reader has seen, and a crash could still undo, is made durable before the reader gives it
/// away (C7). Records need no flush: they were durable before a slot named them; nor do entries:
/// the segment that an entry named before holds the same records.
template <medium M, class Kind>
void table<M, Kind>::settle_for_reader(stripe_index stripe, const window& w, unsigned buckets) {
  if constexpr (unsettled<M>::needed) {
    if (stripes_.marks().settled(stripe)) return;
    if (stripes_.marks().of(stripe) == settlement::inherited) return settle_inherited(stripe);
    flushed started;
    for (unsigned n = 0; n < buckets; ++n)
      started += flush(m_, extent_of(w[n]), "cceh.settle.buckets");
    [[maybe_unused]] durable done = fence(m_, std::move(started), "cceh.settle.all");
  }
}

/// A process that was killed may have left words of these segments in the caches.
template <medium M, class Kind>
void table<M, Kind>::settle_inherited(stripe_index stripe) {
  if constexpr (unsettled<M>::needed) {
    if (stripes_.marks().of(stripe) != settlement::inherited) return;
    flushed started;
    for_each_segment_of(stripe, [&](const segment& s) {
      started += flush(m_, extent{buckets_at(s.offset()), shape_.bytes()}, "cceh.inherit.segment");
    });
    stripes_.marks().take_over(stripe, fence(m_, std::move(started), "cceh.inherit.all"));
  }
}

// ----------------------------------------------------------------------------------------- batches

template <medium M, class Kind>
[[gnu::always_inline]] inline void table<M, Kind>::look_at(std::span<const key_type> keys,
                                                           target* looks) const noexcept {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    looks[i] = look_up(hash_of<Kind>(keys[i], seeds_));
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
