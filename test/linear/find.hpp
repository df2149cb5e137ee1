// Linear: search without locks, and iteration.
//
// A reader takes the version, then the array, and looks at the version again when it has read (N6).
#pragma once

#include "test/linear/table.hpp"

namespace durahash::linear {

template <medium M, class Kind>
auto table<M, Kind>::current() const noexcept -> array {
  array a;
  a.version = version_.load(std::memory_order_acquire);
  a.place = {array_.load(std::memory_order_acquire)};
  a.first = p_.at(poff<slot>{a.place.offset()});
  return a;
}

template <medium M, class Kind>
auto table<M, Kind>::walk(const array& a, std::uint64_t hash, key_type key) const -> lookup {
  lookup at;
  const std::uint64_t home = a.home_of(hash), key_word = Kind::key_word(key, hash);
  while (at.looked < reach_in(a)) {
    slot& s = a[home + at.looked++];
    std::uint64_t state = load(m_, s.state);
    if (state != state_live && at.room == nullptr) at.room = &s;
    if (state == state_empty) break;
    if (state != state_live || load(m_, s.key) != key_word) continue;
    if (!value_of<Kind>(m_, p_, load(m_, s.value))) return at.damaged = true, at;
    if (!names_key<Kind>(m_, p_, load(m_, s.value), key)) continue;
    at.found = &s;
    break;
  }
  return at;
}

template <medium M, class Kind>
template <class Read>
status table<M, Kind>::get(key_type key, Read&& read) {
  return search(target_of(key), key, read);
}

template <medium M, class Kind>
template <class Read>
status table<M, Kind>::search(std::uint64_t hash, key_type key, Read&& read) {
  // keeps array and record from reuse; u64 tables have none, and look at the version again instead
  [[maybe_unused]] auto guard = reading();
  while (true) {  // ends: each further round means that a writer got on
    array a = current();
    lookup at = walk(a, hash, key);
    std::optional<value_type> value;
    if (at.found != nullptr) value = value_of<Kind>(m_, p_, load(m_, at.found->value));
    if (!unchanged(a)) continue;
    if (at.damaged || (at.found != nullptr && !value)) return status::damaged;
    settle_for_reader(a, a.home_of(hash), at.looked);
    if (at.found == nullptr) return status::not_found;
    read(*value);
    return status::ok;
  }
}

template <medium M, class Kind>
template <class Read>
void table<M, Kind>::get_many(std::span<const key_type> keys, Read&& read, status* answers) {
  target_type hashes[group_size];
  for (std::size_t start = 0; start < keys.size(); start += group_size) {
    std::span<const key_type> some = keys.subspan(start, std::min(group_size, keys.size() - start));
    look_ahead(some, hashes, false);
    for (std::size_t i = 0; i < some.size(); ++i)
      answers[start + i] =
          search(hashes[i], some[i], [&](value_type value) { read(start + i, value); });
  }
}

/// What a reader has seen, and a crash could still undo, is made durable before the reader gives it
/// away (N7). Records were durable before a slot named them.
template <medium M, class Kind>
void table<M, Kind>::settle_for_reader(const array& a, std::uint64_t first, std::uint64_t count) {
  if constexpr (unsettled<M>::needed) {
    if (unsettled_.settled(0)) return;
    flushed started;
    for (std::uint64_t n = 0; n < count; ++n)
      started += flush(m_, extent_of(a[first + n]), "linear.settle.slots");
    [[maybe_unused]] durable done = fence(m_, std::move(started), "linear.settle.all");
  }
}

// --------------------------------------------------------------------------------------- iteration

template <medium M, class Kind>
auto table<M, Kind>::resident_at(const array& a, std::uint64_t index) const
    -> std::optional<resident> {
  slot& s = a[index];
  if (load(m_, s.state) != state_live) return std::nullopt;
  std::uint64_t key_word = load(m_, s.key);
  return resident{
      {hash_of_slot(key_word), key_word, load(m_, s.value)}, &s, index & (a.slots() - 1)};
}

template <medium M, class Kind>
template <class Visit>
void table<M, Kind>::for_each_resident(const array& a, Visit&& visit) const {
  for (std::uint64_t index = 0; index < a.slots(); ++index)
    if (auto r = resident_at(a, index)) visit(*r);
}

template <medium M, class Kind>
std::vector<live_record> table<M, Kind>::residents(const array& a) const {
  std::vector<live_record> found;
  for_each_resident(a, [&](const resident& r) { found.push_back(r); });
  return found;
}

/// A stretch has so many home slots. Its records lie there, and behind them up to the first slot
/// that is empty (N2).
template <medium M, class Kind>
std::optional<std::uint64_t> table<M, Kind>::read_stretch(std::uint64_t position, stretch& found) {
  array a = current();
  const std::uint64_t homes = std::min<std::uint64_t>(64, a.slots());
  const std::uint64_t first = a.home_of(position) / homes * homes, next = first + homes;
  found.records.clear();
  std::uint64_t looked = 0;
  while (looked < std::min(homes + reach_in(a), a.slots())) {
    slot& s = a[first + looked++];
    if (looked > homes && load(m_, s.state) == state_empty) break;
    auto r = resident_at(a, first + looked - 1);
    if (r && a.home_of(r->hash) / homes == first / homes) found.records.push_back(*r);
  }
  if (!unchanged(a)) return std::nullopt;
  settle_for_reader(a, first, looked);
  return next == a.slots() ? 0 : next << (64 - a.place.exponent());
}

}  // namespace durahash::linear
