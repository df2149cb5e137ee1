// GPHash: verifies every invariant over every byte that is reachable, and tells figures.
#pragma once

#include "engine/gphash/table.hpp"

namespace durahash::gphash {

template <class Table>
class checker {
  using M = typename Table::medium_type;
  using Kind = typename Table::kind;

 public:
  checker(Table& t, violations& violated) : t_(t), m_(t.m_), b_(t.buckets_), violated_(violated) {}

  /// Returns the records.
  std::uint64_t check() {
    const levels_view& v = t_.levels_.now();
    geometry g = t_.cells_.named();
    if (!g.sound() || g.bottom() + v.count - 1 != v.at[0].log2)
      violated_("the root does not name the levels in use");
    if (t_.coming_.is_begun()) reaches(t_.cells_.bytes_of(t_.coming_.level().log2));
    std::uint64_t records = check_escapes();
    for (const level_view& l : v.all()) check_level(l);
    std::sort(seen_.begin(), seen_.end(), live_record::before);
    for (std::size_t i = 0; i < seen_.size(); ++i)
      if (seen_before<Kind>(m_, t_.p_, seen_, i)) violated_("a key lives in two slots");
    return records + seen_.size();
  }
  std::uint64_t reached_bytes() const noexcept { return reached_bytes_; }

 private:
  void reaches(std::uint64_t bytes) { reached_bytes_ += cell_bytes_for(bytes); }

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
    std::uint64_t bytes = t_.cells_.bytes_of(l.log2);
    reaches(bytes);
    if (!t_.heap_.holds(l.offset, bytes))
      violated_("the level at offset " + std::to_string(l.offset) + " is not allocated");
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
        violated_(where(l, index) + ": a slot is neither empty nor a record's");
  }

  void check_record(const level_view& l, std::uint64_t index, const resident<Kind>& r) {
    seen_.push_back(r);
    if (!b_.belongs(l, index, r.hash)) violated_(where(l, index) + ": a record out of place");
    if (std::string fault = b_.fault_of(r); !fault.empty())
      violated_(where(l, index) + ": " + fault);
    if constexpr (!Kind::in_slot) {
      auto record = record_at(m_, t_.p_, r.value_word);
      if (record && !t_.heap_.holds(r.value_word, record->bytes()))
        violated_(where(l, index) + ": the record at offset " + std::to_string(r.value_word) +
                  " is not allocated");
      if (record) reaches(record->bytes());
    }
  }

  Table& t_;
  M& m_;
  const decltype(Table::buckets_)& b_;
  violations& violated_;
  std::uint64_t reached_bytes_ = 0;
  std::vector<record_of<Kind>> seen_;  // in the levels
};

template <medium M, class Kind>
std::uint64_t table<M, Kind>::check_units(violations& violated, std::uint64_t& reached_bytes) {
  checker<table> c(*this, violated);
  const std::uint64_t records = c.check();
  reached_bytes += c.reached_bytes();
  return records;
}

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
  auto mean = [&](std::uint64_t sum) {
    return records == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(records);
  };
  add_figures(stats, {{"levels", shape().levels},
                      {"hashes", shape().hashes},
                      {"slots_per_bucket", shape().slots},
                      {"top_log2", v.at[0].log2},
                      {"in_top", mean(in_top)},
                      {"positive_probe_mean", mean(hit_buckets)},
                      {"resizes", resizes_.load()},
                      {"rehashed", rehashed_.load()},
                      {"lost_claims", claims_.lost()}});
  if constexpr (Kind::fixed_key) add_figures(stats, {{"key_bytes", shape().key_bytes}});
  if (v.cache == nullptr) return;
  bucket_cache::counts cache = v.cache->figures();
  add_figures(stats, {{"cache_copies", cache.copies},
                      {"cache_looks", cache.looks},
                      {"cache_loads", cache.loads},
                      {"cache_hit_rate", cache.looks == 0 ? 0
                                                          : static_cast<double>(cache.hits) /
                                                                static_cast<double>(cache.looks)}});
}

}  // namespace durahash::gphash
