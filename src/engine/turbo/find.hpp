// TurboHash: search without locks (paper §3.4, algorithm 1), batches of searches.
//
// A read of a bucket is good if the commit word is the same before and after it, all 8 bytes of it,
// for hits and for misses (holes TurboHash 1 and TurboHash 2). A read of a shard is good if its
// mirror is the same before and after. And what was read may be given away if the shard is settled
// then (T6).
#pragma once

#include <algorithm>

#include "engine/turbo/table.hpp"

namespace durahash::turbo {

/// One look at the home bucket, where most searches end. All else is a tail call, so that
/// this needs no frame: what it calls works the hash out again.
template <medium M, class Kind>
template <class Read>
[[gnu::always_inline]] inline status table<M, Kind>::get(key_type key, Read read) {
  // keeps array and record from reuse; u64 tables have none
  [[maybe_unused]] const read_guard guard = reading();
  const look_type l = look_home(key);
  __builtin_prefetch(near_line(l.home, l.hash));
  return answer(l, key, read);
}

template <medium M, class Kind>
[[gnu::always_inline]] inline auto table<M, Kind>::look_home(key_type key) const noexcept
    -> look_type {
  look_type l;
  l.hash = Kind::hash(key, seeds_);
  const split_hash h = shards_.beginning_of(l.hash);
  l.mirror = &shards_[h.shard].mirror;
  const shard_view v = l.mirror->view();
  l.home = shards_.home_in(v, h);
  l.view = v.without_marks();
  return l;
}

template <medium M, class Kind>
[[gnu::always_inline]] inline auto table<M, Kind>::read_home(const look_type& l) const noexcept
    -> home_seen {
  const meta_word meta = load(m_, l.home->meta);
  return {meta, match_valid(m_, *l.home, meta, l.hash)};
}

/// Of records in two passes: the slot tells which one's lines are needed.
template <medium M, class Kind>
[[gnu::always_inline]] inline void table<M, Kind>::look_at(std::span<const key_type> keys,
                                                           look_type* looks) const noexcept {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const look_type l = looks[i] = look_home(keys[i]);
    __builtin_prefetch(l.home);
    __builtin_prefetch(near_line(l.home, l.hash));
  }
  if constexpr (!Kind::in_slot)
    for (const look_type& l : std::span(looks, keys.size()))
      if (const std::uint32_t hits = read_home(l).hits; hits != 0)
        prefetch_record(p_, load(m_, l.home->slots[first_of(hits)].value));
}

/// What the look is worth, if nothing has changed since; all else searches.
template <medium M, class Kind>
template <class Read>
[[gnu::always_inline]] inline status table<M, Kind>::answer(const look_type& l, key_type key,
                                                            Read read) {
  const std::uint64_t key_word = Kind::key_word(key, l.hash);
  const home_seen seen = read_home(l);
  if (const slot* const at = slot_of(m_, *l.home, seen.meta, seen.hits, key_word); at != nullptr) {
    const std::optional<value_type> value = value_for_key<Kind>(m_, p_, load(m_, at->value), key);
    if (value && is_as_read(m_, *l.home, seen.meta) && is_current(*l.mirror, l.view)) [[likely]] {
      read(*value);
      return status::ok;
    }
  } else if (!seen.meta.ends_path()) {
    return get_beyond(key, read, l.view.word, l.home, seen.meta.bits, Kind::in_slot ? 0 : l.hash);
  } else if ((M::planted("misses-are-not-checked-again") || is_as_read(m_, *l.home, seen.meta)) &&
             is_current(*l.mirror, l.view)) [[likely]] {
    return status::not_found;
  }
  return frame::search(key, read);
}

/// Along the path behind the home bucket, which had neither the key nor the path's end; of a shard
/// that no writer disturbs. Under a read_guard. `known` is the hash where that is long to work out:
/// elsewhere a register less in `get` is worth more.
template <medium M, class Kind>
template <class Read>
[[gnu::noinline]] status table<M, Kind>::get_beyond(key_type key, Read read,
                                                    std::uint64_t view_word, const bucket* home,
                                                    std::uint64_t home_meta, std::uint64_t known) {
  const shard_view v{view_word};
  if (v.none() || (!M::planted("misses-are-not-checked-again") &&
                   !is_as_read(m_, *home, {home_meta}))) [[unlikely]]
    return frame::search(key, read);
  const std::uint64_t hash = Kind::in_slot ? Kind::hash(key, seeds_) : known;
  const std::uint64_t key_word = Kind::key_word(key, hash);
  const std::uint64_t mask = v.bytes() - 1;
  const char* const first = shards_.bytes_of(v);
  auto at_byte = static_cast<std::uint64_t>(reinterpret_cast<const char*>(home) - first);
  unsigned left = scope_in(v);
  if (M::planted("a-search-one-bucket-short") && left > 1) --left;
  while (--left != 0) {
    at_byte = (at_byte + block_bytes) & mask;
    const auto& b = *reinterpret_cast<const bucket*>(first + at_byte);
    const meta_word meta = load(m_, b.meta);
    if (const slot* const s = slot_of(m_, b, meta, match_valid(m_, b, meta, hash), key_word);
        s != nullptr) {
      const std::optional<value_type> value = value_for_key<Kind>(m_, p_, load(m_, s->value), key);
      if (!value || !is_as_read(m_, b, meta) ||
          !is_current(shards_[shards_.beginning_of(hash).shard].mirror, v)) [[unlikely]]
        return frame::search(key, read);
      read(*value);
      return status::ok;
    }
    if (!M::planted("misses-are-not-checked-again") && !is_as_read(m_, b, meta)) [[unlikely]]
      return frame::search(key, read);
    if (meta.ends_path()) break;
  }
  return is_current(shards_[shards_.beginning_of(hash).shard].mirror, v) ? status::not_found
                                                                         : frame::search(key, read);
}

/// Whether the shard's array is the one that `v` names, with nothing in it that is not durable.
template <medium M, class Kind>
[[gnu::always_inline]] inline bool table<M, Kind>::is_current(const shard_mirror<M>& mirror,
                                                              shard_view v) noexcept {
  if (M::planted("readers-give-away-what-is-not-durable")) return mirror.view().same_array(v);
  return mirror.is(v);
}

template <medium M, class Kind>
status table<M, Kind>::search_long(key_type key, any_reader<value_type> read) {
  const std::uint64_t hash = Kind::hash(key, seeds_);
  // keeps array and record from reuse; u64 tables have none, and look at the mirror again instead
  [[maybe_unused]] read_guard guard = reading();
  while (true) {  // ends: each further round means that a writer of this shard got on
    const shard_index s = shards_.leaf_of(hash);
    const shard_view v = view(s);
    if (v.elsewhere()) continue;
    if (v.none()) return status::not_found;
    std::optional<value_type> value;
    unsigned buckets = 0;
    const std::uint64_t home = home_of(s, hash, v.log2_buckets());
    probed outcome = probe(v, home, hash, key, value, buckets);
    if (outcome == probed::damaged) return status::damaged;
    if (outcome == probed::torn || (Kind::in_slot && !view(s).same_array(v))) continue;
    settle_for_reader(s, v, home, buckets);
    if (outcome == probed::miss) return status::not_found;
    read(*value);
    return status::ok;
  }
}

/// `buckets` counts those that were looked at, from the home bucket on.
template <medium M, class Kind>
auto table<M, Kind>::probe(shard_view v, std::uint64_t home, std::uint64_t hash, key_type key,
                           std::optional<value_type>& value, unsigned& buckets) const -> probed {
  const bucket* const first = shards_.buckets_of(v);
  const std::uint64_t mask = v.buckets() - 1;
  std::uint64_t key_word = Kind::key_word(key, hash);
  unsigned scope = scope_in(v);
  if (M::planted("a-search-one-bucket-short") && scope > 1) --scope;
  while (buckets < scope) {
    const bucket& b = first[(home + buckets++) & mask];
    meta_word meta = load(m_, b.meta);
    auto unchanged = [&] { return is_as_read(m_, b, meta); };
    for (std::uint32_t hits = match_tags(m_, b, hash) & meta.live(); hits != 0;) {
      const slot& at = b.slots[take_lowest(hits)];
      if (load(m_, at.key) != key_word) continue;
      std::uint64_t value_word = load(m_, at.value);
      if (!unchanged()) return probed::torn;
      const probed found = probe_slot<Kind>(m_, p_, value_word, key, value);
      if (found != probed::miss) return found;
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
  if constexpr (shard_mirror<M>::marked) {
    const shard_view now = view(s);
    if (now.ready() || M::planted("readers-give-away-what-is-not-durable")) return;
    if ((now.word & shard_view::inherited) != 0) return settle(s);
    flushed started;
    for (unsigned n = 0; n < buckets; ++n)
      started += flush(m_, extent_of(shards_.buckets_of(v)[(home + n) & (v.buckets() - 1)]),
                       "turbo.settle.buckets");
    [[maybe_unused]] durable done = fence(m_, std::move(started), "turbo.settle.all");
  }
}

/// A process that was killed may have left words of this shard in the caches.
template <medium M, class Kind>
void table<M, Kind>::settle(shard_index s) {
  if constexpr (shard_mirror<M>::marked) {
    shard_view v = view(s);
    if (v.none() || (v.word & shard_view::inherited) == 0) return;
    shards_[s].mirror.take_over(
        v, persist(m_, extent{shards_.buckets_of(v), v.bytes()}, "turbo.inherit.array"));
  }
}

}  // namespace durahash::turbo
