// GPHash: verifies every invariant over every byte that is reachable, and tells figures.
#pragma once

#include "engine/frame/reached.hpp"
#include "engine/gphash/table.hpp"

namespace durahash::gphash {

template <medium M, class Kind>
class table<M, Kind>::checker {
 public:
  checker(table& t, violations& violated, std::uint64_t& reached_bytes)
      : t_(t),
        m_(t.m_),
        b_(t.buckets_),
        violated_(violated),
        reached_(t.p_, t.heap_, violated, reached_bytes) {}

  /// Returns the records.
  std::uint64_t check() {
    const levels_view& v = t_.levels_.now();
    geometry g = t_.cells_.named();
    if (!g.sound() || g.bottom() + v.count - 1 != v.at[0].log2)
      violated_("the root does not name the levels in use");
    if (t_.coming_.is_begun()) reach(t_.coming_.level());
    std::uint64_t records = check_escapes();
    for (const level_view& l : v.all()) check_level(l);
    reached_.each_is_there_once(seen_, "");
    return records + seen_.size();
  }

 private:
  void reach(const level_view& l) {
    reached_.add(l.offset, t_.cells_.bytes_of(l.log2),
                 [&] { return "the level at offset " + std::to_string(l.offset); });
  }

  /// Returns the records in the escape slots.
  std::uint64_t check_escapes() {
    std::uint64_t records = 0;
    for (int i = 0; i < static_cast<int>(first_fingerprint); ++i) {
      std::uint64_t state = load(m_, *b_.escape_slot(i).state);
      bool holds = Kind::in_slot && state == escape_fingerprint;
      records += holds;
      if (!holds && state != empty_state && !t_.p_.read_only())
        violated_("escape slot " + std::to_string(i) + " is neither empty nor a record's");
    }
    return records;
  }

  /// G1, and that the root names the level.
  void check_level(const level_view& l) {
    reach(l);
    if (load(m_, t_.cells_.word_of(l)) != checked_place::of(l.offset, l.log2).word)
      violated_("the root does not name the level of 2^" + std::to_string(l.log2) +
                " buckets in use");
    for (std::uint64_t index = 0; index < l.buckets(); ++index) {
      check_states(l, index);
      b_.for_each_resident(b_.at(l, index),
                           [&](const resident<Kind>& r) { check_record(l, index, r); });
    }
  }

  void check_states(const level_view& l, std::uint64_t index) {
    for (unsigned i = 0; i < b_.form().slots && !t_.p_.read_only(); ++i)
      if (std::uint64_t state = load(m_, *b_.slot_at(b_.at(l, index), i).state);
          state != empty_state && state < first_fingerprint)
        violated_(name_of_bucket(l, index) + ": a slot is neither empty nor a record's");
  }

  void check_record(const level_view& l, std::uint64_t index, const resident<Kind>& r) {
    seen_.push_back(r);
    if (!b_.belongs(l, index, r.hash))
      violated_(name_of_bucket(l, index) + ": a record out of place");
    if (std::string fault = b_.fault_of(r); !fault.empty())
      violated_(name_of_bucket(l, index) + ": " + fault);
    reached_.add_record(r, [&] { return name_of_bucket(l, index); });
  }

  table& t_;
  M& m_;
  const decltype(table::buckets_)& b_;
  violations& violated_;
  reached_parts<M, Kind> reached_;
  std::vector<record_of<Kind>> seen_;  // in the levels
};

// ----------------------------------------------------------------------------------------- figures

template <medium M, class Kind>
void table<M, Kind>::describe(table_stats& stats) {
  const levels_view& v = levels_.now();
  std::uint64_t records = 0, in_top = 0, hit_buckets = 0;
  auto add = [&](bucket_ref b, bool top) {
    buckets_.for_each_resident(b, [&](const resident<Kind>& r) {
      ++records;
      in_top += top;
      candidates s = buckets_.candidates_of(r.hash);
      for (unsigned n = 0; n < shape().levels * shape().hashes; ++n) {
        ++hit_buckets;
        if (buckets_.of(v.at[n / shape().hashes], s.place[n % shape().hashes]) == b) break;
      }
    });
  };
  constexpr std::uint64_t at_once = 4096;  // buckets: nobody waits longer for this reader
  for (const level_view& l : v.all())
    for (std::uint64_t n = 0; n < l.buckets(); n += at_once) {
      [[maybe_unused]] read_guard guard = reading();
      if (&levels_.now() != &v) break;  // these may be gone: what was seen has to do
      for (std::uint64_t each = n; each < std::min(n + at_once, l.buckets()); ++each)
        add(buckets_.at(l, each), &l == v.at);
    }
  add_figures(stats, {{"levels", shape().levels},
                      {"hashes", shape().hashes},
                      {"slots_per_bucket", shape().slots},
                      {"top_log2", v.at[0].log2},
                      {"in_top", mean_of(in_top, records)},
                      {"positive_probe_mean", mean_of(hit_buckets, records)},
                      {"resizes", resizes_.load()},
                      {"rehashed", rehashed_.load()},
                      {"lost_claims", claims_.lost()}});
  if constexpr (Kind::fixed_key) add_figures(stats, {{"key_bytes", shape().key_bytes}});
  if (v.cache == nullptr) return;
  bucket_cache::counts cache = v.cache->figures();
  add_figures(stats, {{"cache_copies", cache.copies},
                      {"cache_looks", cache.looks},
                      {"cache_loads", cache.loads},
                      {"cache_hit_rate", mean_of(cache.hits, cache.looks)}});
}

}  // namespace durahash::gphash
