// Level hashing: iteration. Stretches are the records of some hashes side by side, in whichever of
// their buckets those lie.
#pragma once

#include "engine/level/table.hpp"

namespace durahash::level {

/// Of the hashes with a prefix. Records are written to its end before it is known whether they
/// belong to it.
template <medium M, class Kind>
struct table<M, Kind>::stretch : plain_stretch<true> {
  std::uint64_t prefix = 0;
  unsigned bits = 0;
  live_record* end = nullptr;
  // buckets that were looked over, and the slots in which its records may be
  static constexpr unsigned at_once = 64;
  unsigned noted = 0;
  struct {
    bucket where;
    std::uint64_t state;
    std::uint32_t slots;
    tag_bits tags;
  } ahead[at_once];

  void begin_with(std::uint64_t its_prefix, unsigned its_bits) noexcept {
    prefix = its_prefix, bits = its_bits, noted = 0;
    end = this->records.data();
  }
  live_record* room(std::ptrdiff_t more) {
    const std::ptrdiff_t count = end - this->records.data();
    if (count + more > std::ssize(this->records)) [[unlikely]] {
      this->records.resize(static_cast<std::size_t>(2 * (count + more)));
      end = this->records.data() + count;
    }
    return end;
  }
  void finish() { this->records.resize(static_cast<std::size_t>(end - this->records.data())); }
};

/// Notes the buckets of a place, with the slots whose tags have the bits, and asks for those.
template <medium M, class Kind>
void table<M, Kind>::look_over(const levels_view& v, std::uint64_t place, tag_bits tags,
                               stretch& found) const {
  const unsigned bits = found.bits;
  const std::size_t bucket_bytes = std::size_t{1} << buckets_.shape.bytes_log2,
                    asked_first = tags.mask == 0 ? line_bytes : bucket_bytes;
  v.for_each_bucket(
      place, bits,
      [ =, this, &found ](const level_view& l, std::uint64_t n) __attribute__((always_inline)) {
        const bucket b = buckets_.at(l, n);
        const bucket_state state = buckets_.state_of(b);
        const std::uint32_t slots = buckets_.slots_with(b, state, tags);
        if (slots == 0 && buckets_.is_still(b, state)) return;
        __builtin_prefetch(&buckets_.slot_of(b, std::countr_zero(slots | 1u << max_slots)));
        for (std::size_t line = asked_first; line < bucket_bytes; line += line_bytes)
          __builtin_prefetch(reinterpret_cast<const std::byte*>(b.state) + line);
        auto& noted = found.ahead[found.noted];
        noted.where = b, noted.state = state.word, noted.slots = slots, noted.tags = tags;
        if (++found.noted == found.at_once) [[unlikely]]
          collect(found);
      });
}

/// The records whose hashes have the prefix, of those in the slots that were noted.
template <medium M, class Kind>
[[gnu::noinline]] void table<M, Kind>::collect(stretch& found) const {
  const std::uint64_t prefix = found.prefix;
  const unsigned shift = 64 - found.bits;
  for (unsigned k = 0; k < found.noted;) {
    auto& [b, state, slots, tags] = found.ahead[k];
    live_record* into = found.room(max_slots);
    for (std::uint32_t some = slots; some != 0;) {
      const slot& at = buckets_.slot_of(b, take_lowest(some));
      const std::uint64_t key_word = load(m_, at.key), hash = buckets_.hash_of_slot(key_word);
      into->hash = hash, into->key_word = key_word, into->value_word = load(m_, at.value);
      into += (hash ^ prefix) >> shift == 0;
    }
    if (buckets_.is_still(b, {state})) [[likely]] {
      found.end = into, ++k;
    } else {  // ends: each further round means that a writer got on
      const bucket_state now = buckets_.state_of(b);
      state = now.word, slots = buckets_.slots_with(b, now, tags);
    }
  }
  found.noted = 0;
}

/// A prefix's. Its records are in the buckets of that prefix, and of those that their second places
/// can have. A bucket is looked at for each of the prefixes that its records may have; but most
/// tags tell that their records have another one.
template <medium M, class Kind>
std::optional<std::uint64_t> table<M, Kind>::read_stretch(std::uint64_t position, stretch& found) {
  constexpr unsigned together_bits = 3;  // of buckets in the smallest level, side by side
  const levels_view& v = levels_.now();
  const unsigned smallest = v.at[v.count - 1].log2;
  const unsigned bits = smallest > together_bits ? smallest - together_bits : 1;
  const std::uint64_t prefix = place_with(first_bits(position, bits), bits);
  // stripes of a prefix
  const std::size_t stripes = std::size_t{1} << (v.stripe_bits - std::min(v.stripe_bits, bits));
  const std::span<const stripe_state> moving(&stripes_[v.stripe_of(prefix)], stripes);
  std::uint32_t moved[1 << together_bits];
  for (std::size_t n = 0; n < stripes; ++n)
    moved[n] = moving[n].moves.load(std::memory_order_acquire);
  found.begin_with(prefix, bits);
  const places_of_prefix places(second_maps_, prefix, bits);
  for (auto at = places.begin(); at != places.end(); ++at) {
    if (at + 1 != places.end())
      v.for_each_bucket(at[1].place, bits, [&](const level_view& l, std::uint64_t n) {
        __builtin_prefetch(buckets_.at(l, n).state);
      });
    look_over(v, at->place, at->tags, found);
  }
  collect(found);
  for (const auto& at : places) settle_for_scan(v, at.place, bits, stripes);
  if (&levels_.now() != &v) return std::nullopt;
  for (std::size_t n = 0; n < stripes; ++n)
    if (moving[n].moves.load(std::memory_order_acquire) != moved[n]) return std::nullopt;
  found.finish();
  return prefix + place_with(1, bits);
}

/// What was read in the buckets of the place is durable.
template <medium M, class Kind>
void table<M, Kind>::settle_for_scan(const levels_view& v, std::uint64_t place, unsigned bits,
                                     std::size_t stripes) {
  const stripe_index first = v.stripe_of(place), end = first + static_cast<stripe_index>(stripes);
  auto all_settled = [&] {
    bool settled = true;
    for (stripe_index s = first; s != end; ++s) settled &= stripes_.settled(s);
    return settled;
  };
  if (all_settled()) return;
  for (stripe_index s = first; s != end; ++s) stripes_.settle_inherited(v, s);
  if (all_settled()) return;
  flushed started;
  v.for_each_bucket(place, bits, [&](const level_view& l, std::uint64_t n) {
    started += flush(m_, buckets_.bytes_of(buckets_.at(l, n)), "level.scan.buckets");
  });
  [[maybe_unused]] durable done = fence(m_, std::move(started), "level.scan.all");
}

}  // namespace durahash::level
