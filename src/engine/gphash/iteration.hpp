// GPHash: iteration. Stretches are the records of some stripes side by side.
#pragma once

#include "base/bytes16.hpp"
#include "engine/gphash/table.hpp"

namespace durahash::gphash {

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
  const places_of_prefix where(places_, prefix, bits);
  for (const level_view& level : v.all())
    where.for_each_run(level.log2, [&](std::uint64_t first, std::uint64_t end) {
      for (std::uint64_t index = first; index < end; ++index) visit(bucket_at(level, index));
    });
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
