// GPHash: iteration. Stretches are the records of some stripes side by side.
#pragma once

#include "engine/gphash/table.hpp"

namespace durahash::gphash {

/// A search for all records whose hashes begin with the same bits.
template <medium M, class Kind>
class prefix_search {
 public:
  prefix_search(M& m, const buckets<M, Kind>& b, const levels_view& v, std::uint64_t prefix,
                unsigned bits) noexcept
      : m_(m), b_(b), v_(v), prefix_(prefix), bits_(bits), where_(b.places(), prefix, bits) {}

  /// Calls visit(bucket) for all in which such records may be.
  template <class Visit>
  void for_each_bucket(Visit&& visit) const {
    for (const level_view& level : v_.all())
      where_.for_each_run(level.log2, [&](std::uint64_t first, std::uint64_t end) {
        for (std::uint64_t index = first; index < end; ++index) visit(b_.at(level, index));
      });
  }

  /// Calls visit(resident). A bucket is looked at for each of the prefixes that its records may
  /// have: most of them are passed by, eight at once.
  template <class Visit>
  void for_each_record(Visit&& visit) const {
    const std::uint64_t first = std::max(prefix_, first_fingerprint),
                        last = prefix_ | low_bits(64 - bits_), in_common = ~low_bits(64 - bits_);
    const unsigned slots = b_.form().slots, eights = reads_plainly<M> ? slots & ~7u : 0;
    for_each_bucket([ =, this, &visit ](bucket_ref b) __attribute__((always_inline)) {
      for (unsigned n = 0; n < eights; n += 8) {
        constexpr std::uint32_t one_of_each_two = 0x5555;
        std::uint32_t some = same_upper_halves(b[n].raw(), first, in_common) & one_of_each_two;
        read_before_what_follows();
        while (some != 0)
          b_.visit_resident(b, n + static_cast<unsigned>(take_lowest(some)) / 2, first, last,
                            visit);
      }
      for (unsigned n = eights; n < slots; ++n) b_.visit_resident(b, n, first, last, visit);
    });
    if (prefix_ == 0) b_.for_each_escape(visit);
  }

 private:
  M& m_;
  const buckets<M, Kind>& b_;
  const levels_view& v_;
  const std::uint64_t prefix_;
  const unsigned bits_;
  const places_of_prefix where_;
};

/// Some stripes' that lie side by side: what is looked at is more or less the same for each.
template <medium M, class Kind>
std::optional<std::uint64_t> table<M, Kind>::read_stretch(std::uint64_t position, stretch& found) {
  constexpr unsigned together_bits = 3;
  const levels_view& v = levels_.now();
  const unsigned bits = v.stripe_bits - (v.stripe_bits > together_bits ? together_bits : 0);
  const std::uint64_t prefix = position & ~low_bits(64 - bits);
  const std::span<const stripe_state<M>> stripes(&levels_.state_of(v, prefix),
                                                 std::size_t{1} << (v.stripe_bits - bits));
  const prefix_search<M, Kind> records(m_, buckets_, v, prefix, bits);
  std::uint32_t versions[1 << together_bits];
  for (std::size_t n = 0; n < stripes.size(); ++n) versions[n] = stripes[n].mark.version();
  found.records.clear();
  found.keys.clear();
  records.for_each_record([&](const resident<Kind>& r) {
    found.records.push_back(r);
    if constexpr (Kind::fixed_key) {
      auto& copy = found.keys.emplace_back();
      for (unsigned n = 0; n < shape().key_words(); ++n) copy[n] = load(m_, r.where.key[n]);
      found.records.back().key = {reinterpret_cast<const char*>(copy.data()), shape().key_bytes};
    }
  });
  if (&levels_.now() != &v) return std::nullopt;
  bool settled = is_swept() || M::planted("gphash-a-scan-trusts-what-is-not-swept");
  for (std::size_t n = 0; n < stripes.size(); ++n) {
    if (!stripes[n].mark.is_at(versions[n])) return std::nullopt;
    settled &= stripes[n].mark.settled();
  }
  if (!settled) {
    flushed started;
    records.for_each_bucket([&](bucket_ref b) {
      started += flush(m_, buckets_.words_extent(b), "gphash.scan.buckets");
    });
    if (prefix == 0) started += flush(m_, extent_of(root_of(p_).escapes), "gphash.scan.escapes");
    [[maybe_unused]] durable done = fence(m_, std::move(started), "gphash.scan.all");
  }
  return prefix + (std::uint64_t{1} << (64 - bits));
}

}  // namespace durahash::gphash
