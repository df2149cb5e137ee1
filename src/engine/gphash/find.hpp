// GPHash: search without locks (paper §3.2.3), batches of searches.
//
// A reader takes the stripe's version, looks, and believes a hit if slot, version and levels are
// then the same: a slot that was lent to another key meanwhile and came back has had this key
// removed and added in between (G5). A record moves only with the levels.
#pragma once

#include "engine/gphash/copies.hpp"
#include "engine/gphash/table.hpp"

namespace durahash::gphash {

// ------------------------------------------------------------------------------- the way of most

template <medium M, class Kind>
[[gnu::always_inline]] inline auto table<M, Kind>::look_up(key_type key,
                                                           const levels_view& v) const noexcept
    -> target_type {
  target_type t;  // word by word: so that all of it stays in registers
  t.hash = buckets_.hash_of(key), t.levels = &v;
  if constexpr (Kind::in_slot) {
    constexpr std::uint64_t whole_buckets = ~std::uint64_t{short_shape.bucket_bytes() - 1};
    auto* const top = reinterpret_cast<std::byte*>(v.at[0].first);
    auto* const bottom = reinterpret_cast<std::byte*>(v.at[1].first);
    const std::uint64_t byte = t.hash >> v.byte_shift;
    const std::uint64_t other = buckets_.places().place(t.hash, 1) >> v.byte_shift;
    t.at[0] = reinterpret_cast<bucket_ref>(top + (byte & whole_buckets));
    t.at[1] = reinterpret_cast<bucket_ref>(top + (other & whole_buckets));
    t.at[2] = reinterpret_cast<bucket_ref>(bottom + (byte >> 1 & whole_buckets));
    t.at[3] = reinterpret_cast<bucket_ref>(bottom + (other >> 1 & whole_buckets));
  }
  return t;
}

/// The slot that the key may be in, or null. No other one is. Who acts on that compares the state.
template <medium M, class Kind>
[[gnu::always_inline]] inline auto table<M, Kind>::find(const target_type& t) const noexcept
    -> bucket_ref {
  if (const std::uint32_t in = buckets_.match_eight(t.at[0], t.hash); in != 0)
    return buckets_.first_of(t.at[0], in);
  if (const std::uint32_t in = buckets_.match_eight(t.at[1], t.hash); in != 0)
    return buckets_.first_of(t.at[1], in);
  if (const std::uint32_t in = buckets_.match_eight(t.at[2], t.hash); in != 0)
    return buckets_.first_of(t.at[2], in);
  if (const std::uint32_t in = buckets_.match_eight(t.at[3], t.hash); in != 0)
    return buckets_.first_of(t.at[3], in);
  return nullptr;
}

template <medium M, class Kind>
[[gnu::always_inline]] inline void table<M, Kind>::read_home(look_type& l) const noexcept {
  l.mark = &levels_.state_of(*l.levels, l.hash).mark;
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
    static_cast<target_type&>(l) = look_up(key, levels_.now());
    if (!l.is_short()) [[unlikely]]
      return get_anywhere(key, read);
    l.ask_for();
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
  if constexpr (!Kind::in_slot) return search_at(key, buckets_.candidates_of(l.hash), read);
  else if (l.is_short()) [[likely]] return answer_short(l, key, read);
  else return get_anywhere(key, read);
}

/// What the look is worth, if nothing has changed since.
template <medium M, class Kind>
template <class Read>
[[gnu::always_inline]] inline status table<M, Kind>::answer_short(const look_type& l, key_type key,
                                                                  Read read) {
  if (l.state == nullptr) {
    if (!l.mark->is_settled_at(l.version) || &levels_.now() != l.levels) [[unlikely]]
      return frame::search(key, read);
    return status::not_found;
  }
  const std::uint64_t value = load(m_, l.state[short_shape.slots]);
  if (load(m_, *l.state) != l.hash || !l.mark->is_settled_at(l.version) ||
      &levels_.now() != l.levels) [[unlikely]]
    return frame::search(key, read);
  read(value);
  return status::ok;
}

// ------------------------------------------------------------------------------------ the long way

/// With copies one look at them is tried first.
template <medium M, class Kind>
template <class Read>
[[gnu::noinline]] status table<M, Kind>::get_anywhere(key_type key, Read read) {
  const candidates s = buckets_.candidates_of(buckets_.hash_of(key));
  if (const levels_view& v = levels_.now(); v.cache != nullptr) {
    const copies_search copies(*this, v, s);
    if (probed seen = copies.look(read); seen != probed::torn) [[likely]]
      return seen == probed::hit ? status::ok : status::not_found;
  }
  return search_at(key, s, read);
}

template <medium M, class Kind>
status table<M, Kind>::search_long(key_type key, any_reader<value_type> read) {
  return search_at(key, buckets_.candidates_of(buckets_.hash_of(key)), read);
}

template <medium M, class Kind>
[[gnu::noinline]] status table<M, Kind>::search_at(key_type key, const candidates& s,
                                                   any_reader<value_type> read) {
  // keeps records and levels from reuse; u64 tables have none, and look at the levels again instead
  [[maybe_unused]] read_guard guard = reading();
  while (true) {  // ends: each further round means that a writer got on
    const levels_view& v = levels_.now();
    const stripe_mark<M>& mark = levels_.state_of(v, s.hash).mark;
    std::uint32_t version = mark.version();
    std::optional<value_type> value;
    bool same = true, damaged = false;
    buckets_.look_everywhere(buckets_.warp_over(v, s), s, [&](slot at) {
      if (Kind::fixed_key && !buckets_.holds_key(at, key)) return false;
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
    if (!as_read || &levels_.now() != &v) continue;
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
    if ((trusts || is_swept()) && levels_.state_of(v, s.hash).mark.settled()) return;
    flushed started;
    if (s.escape >= 0) {
      started += flush(m_, extent_of(root_of(p_).escapes[s.escape]), "gphash.settle.escape");
    } else {
      for (const level_view& level : v.all())
        for (unsigned which = 0; which < shape().hashes; ++which)
          started += flush(m_, buckets_.words_extent(buckets_.of(level, s.place[which])),
                           "gphash.settle.buckets");
    }
    [[maybe_unused]] durable done = fence(m_, std::move(started), "gphash.settle.all");
  }
}

/// Nothing that a process which died had made visible may be gone after another crash (S2).
template <medium M, class Kind>
bool table<M, Kind>::is_swept() const noexcept {
  return !stripe_mark<M>::marked || !levels_.are_after_crash() || counted() || opens_durable(m_);
}

// ----------------------------------------------------------------------------------------- batches

/// In two passes: what the first asks for tells which slot's line is needed.
template <medium M, class Kind>
[[gnu::always_inline]] inline void table<M, Kind>::look_at(std::span<const key_type> keys,
                                                           look_type* looks) const noexcept {
  const levels_view& v = levels_.now();
  if (!v.is_short) [[unlikely]] {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      looks[i].hash = buckets_.hash_of(keys[i]), looks[i].levels = &v;
      buckets_.ask_for(v, buckets_.candidates_of(looks[i].hash));
    }
    return;
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    static_cast<target_type&>(looks[i]) = look_up(keys[i], v);
    looks[i].ask_for();
  }
  for (look_type& l : std::span(looks, keys.size())) {
    read_home(l);
    if (l.state != nullptr) __builtin_prefetch(l.state + short_shape.slots);
  }
}

}  // namespace durahash::gphash
