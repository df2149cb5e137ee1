// Level hashing: iteration. Stretches are the records of some hashes side by side, in whichever of
// their buckets those lie.
#pragma once

#include "engine/level/table.hpp"

namespace durahash::level {

/// Reads one, as the levels are now.
template <medium M, class Kind>
class table<M, Kind>::stretch_reader {
 public:
  stretch_reader(table& t, stretch& found) noexcept
      : t_(t), m_(t.m_), v_(t.levels_.now()), found_(found) {}

  /// A prefix's. Its records are in the buckets of that prefix, and of those that their second
  /// places can have. A bucket is looked at for each of the prefixes that its records may have; but
  /// most tags tell that their records have another one.
  std::optional<std::uint64_t> read(std::uint64_t position) {
    constexpr unsigned together_bits = 3;  // of buckets in the smallest level, side by side
    const unsigned smallest = v_.at[v_.count - 1].log2;
    const unsigned bits = smallest > together_bits ? smallest - together_bits : 1;
    const std::uint64_t prefix = place_with(first_bits(position, bits), bits);
    // stripes of a prefix
    const std::size_t stripes = std::size_t{1} << (v_.stripe_bits - std::min(v_.stripe_bits, bits));
    const std::span<const stripe_state> moving(&t_.stripes_[v_.stripe_of(prefix)], stripes);
    std::uint32_t moved[1 << together_bits];
    for (std::size_t n = 0; n < stripes; ++n)
      moved[n] = moving[n].moves.load(std::memory_order_acquire);
    found_.begin_with(prefix, bits);
    const places_of_prefix places(t_.second_maps_, prefix, bits);
    for (auto at = places.begin(); at != places.end(); ++at) {
      if (at + 1 != places.end())
        v_.for_each_bucket(at[1].place, bits, [&](const level_view& l, std::uint64_t n) {
          __builtin_prefetch(t_.buckets_.at(l, n).state);
        });
      look_over(at->place, at->tags);
    }
    collect();
    for (const auto& at : places) settle(at.place, stripes);
    if (&t_.levels_.now() != &v_) return std::nullopt;
    for (std::size_t n = 0; n < stripes; ++n)
      if (moving[n].moves.load(std::memory_order_acquire) != moved[n]) return std::nullopt;
    found_.finish();
    return prefix + place_with(1, bits);
  }

 private:
  /// Notes the buckets of a place, with the slots whose tags have the bits, and asks for those.
  void look_over(std::uint64_t place, tag_bits tags) {
    const auto& buckets = t_.buckets_;
    stretch& found = found_;
    const std::size_t bucket_bytes = std::size_t{1} << buckets.shape.bytes_log2,
                      asked_first = tags.mask == 0 ? line_bytes : bucket_bytes;
    auto note = [ =, this, &buckets, &found ](const level_view& l, std::uint64_t n)
        __attribute__((always_inline)) {
      const bucket b = buckets.at(l, n);
      const bucket_state state = buckets.state_of(b);
      const std::uint32_t slots = buckets.slots_with(b, state, tags);
      if (slots == 0 && buckets.is_still(b, state)) return;
      __builtin_prefetch(&buckets.slot_of(b, std::countr_zero(slots | 1u << max_slots)));
      for (std::size_t line = asked_first; line < bucket_bytes; line += line_bytes)
        __builtin_prefetch(reinterpret_cast<const std::byte*>(b.state) + line);
      auto& noted = found.ahead[found.noted];
      noted.where = b, noted.state = state.word, noted.slots = slots, noted.tags = tags;
      if (++found.noted == found.at_once) [[unlikely]]
        collect();
    };
    v_.for_each_bucket(place, found.bits, note);
  }

  /// The records whose hashes have the prefix, of those in the slots that were noted.
  [[gnu::noinline]] void collect() {
    const auto& buckets = t_.buckets_;
    stretch& found = found_;
    const std::uint64_t prefix = found.prefix;
    const unsigned shift = 64 - found.bits;
    for (unsigned k = 0; k < found.noted;) {
      auto& [b, state, slots, tags] = found.ahead[k];
      live_record* into = found.room(max_slots);
      for (std::uint32_t some = slots; some != 0;) {
        const slot& at = buckets.slot_of(b, take_lowest(some));
        const std::uint64_t key_word = load(m_, at.key), hash = buckets.hash_of_slot(key_word);
        into->hash = hash, into->key_word = key_word, into->value_word = load(m_, at.value);
        into += (hash ^ prefix) >> shift == 0;
      }
      if (buckets.is_still(b, {state})) [[likely]] {
        found.end = into, ++k;
      } else {  // ends: each further round means that a writer got on
        const bucket_state now = buckets.state_of(b);
        state = now.word, slots = buckets.slots_with(b, now, tags);
      }
    }
    found.noted = 0;
  }

  /// What was read in the buckets of the place is durable.
  void settle(std::uint64_t place, std::size_t stripes) {
    const stripe_index first = v_.stripe_of(place),
                       end = first + static_cast<stripe_index>(stripes);
    auto all_settled = [&] {
      bool settled = true;
      for (stripe_index s = first; s != end; ++s) settled &= t_.stripes_.settled(s);
      return settled;
    };
    if (all_settled()) return;
    for (stripe_index s = first; s != end; ++s) t_.stripes_.settle_inherited(v_, s);
    if (all_settled()) return;
    flushed started;
    v_.for_each_bucket(place, found_.bits, [&](const level_view& l, std::uint64_t n) {
      started += flush(m_, t_.buckets_.bytes_of(t_.buckets_.at(l, n)), "level.scan.buckets");
    });
    [[maybe_unused]] durable done = fence(m_, std::move(started), "level.scan.all");
  }

  table& t_;
  M& m_;
  const levels_view& v_;
  stretch& found_;
};

}  // namespace durahash::level
