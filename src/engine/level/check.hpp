// Level hashing: verifies every invariant over every byte that is reachable, and tells figures.
#pragma once

#include "engine/frame/reached.hpp"
#include "engine/level/search.hpp"
#include "engine/level/table.hpp"

namespace durahash::level {

/// Nobody may write.
template <medium M, class Kind>
class table<M, Kind>::checker {
 public:
  checker(table& t, violations& violated, std::uint64_t& reached_bytes) noexcept
      : t_(t),
        m_(t.m_),
        v_(t.levels_.now()),
        violated_(violated),
        reached_bytes_(reached_bytes),
        reached_(t.p_, t.heap_, violated, reached_bytes) {}

  /// Returns the records.
  std::uint64_t check() {
    reached_bytes_ += t_.prepared_.cell_bytes();
    for (unsigned i = 0; i < v_.count; ++i) check_level(i);
    return records_ - t_.doubled_;
  }

 private:
  /// L1, L3, tags, and that the root names the level.
  void check_level(unsigned index) {
    const level_view& l = v_.at[index];
    reached_.add(l.offset, t_.buckets_.shape.level_bytes(l.log2),
                 [&] { return "the level at offset " + std::to_string(l.offset); });
    checked_place named{load(m_, root_of(t_.p_).levels[l.log2])};
    if (!named.sound() || named.offset() != l.offset)
      violated_("the root does not name the level of 2^" + std::to_string(l.log2) +
                " buckets in use");
    doubled_ = 0;
    for (std::uint64_t n = 0; n < l.buckets(); ++n) {
      const bucket b = t_.buckets_.at(l, n);
      if ((t_.buckets_.state_of(b).tokens() & ~t_.buckets_.shape.all_tokens) != 0)
        violated_(name_of_bucket(l, n) + ": a token of a slot that is not there");
      t_.buckets_.for_each_resident(b, [&](const resident& r) { check_record(index, n, r); });
    }
    if (doubled_ != 0 && t_.doubled_ == 0)
      violated_("level of 2^" + std::to_string(l.log2) + " buckets: " + std::to_string(doubled_) +
                " records are there twice");
  }

  void check_record(unsigned index, std::uint64_t n, const resident& r) {
    const level_view& l = v_.at[index];
    ++records_;
    const candidates s = t_.second_maps_.candidates_of(r.hash, r.key_word);
    const bool here[2] = {l.number(s.place[0]) == n, l.number(s.place[1]) == n};
    if (!here[0] && !here[1]) violated_(name_of_bucket(l, n) + ": a record out of place");
    if ((t_.buckets_.match(r.where, s.tag) >> r.slot & 1) == 0)
      violated_(name_of_bucket(l, n) + ": a search for a key does not see its tag");
    for (unsigned which = 0; which < 2; ++which)
      if (here[which] && v_.under_previous(index) &&
          !t_.buckets_.state_of(v_.at[index - 1].bucket_of(s.place[which])).admits(s.filter_class))
        violated_(name_of_bucket(l, n) + ": a search for a key ends before it gets here");
    if (copies_of(t_.buckets_, v_, s, r) > 1) ++doubled_;
    if (std::string fault = t_.buckets_.fault_of(r); !fault.empty())
      violated_(name_of_bucket(l, n) + ": " + fault);
    reached_.add_record(r, [&] { return name_of_bucket(l, n); });
  }

  table& t_;
  M& m_;
  const levels_view& v_;
  violations& violated_;
  std::uint64_t& reached_bytes_;
  reached_parts<M, Kind> reached_;
  std::uint64_t records_ = 0, doubled_ = 0;  // of these: in the level that is looked at
};

// ----------------------------------------------------------------------------------------- figures

template <medium M, class Kind>
void table<M, Kind>::describe(table_stats& stats) {
  const levels_view& v = levels_.now();
  std::uint64_t records = 0, in_top = 0, free_beside = 0, hit_buckets = 0, miss_buckets = 0;
  auto add = [&](bucket b, bool top) {
    buckets_.for_each_resident(b, [&](const resident& r) {
      ++records;
      in_top += top;
      free_beside += buckets_.free_slot(buckets_.state_of(b)) >= 0;
      candidates s = second_maps_.candidates_of(r.hash, r.key_word);
      bucket_reads seen, all;
      look_everywhere(buckets_, v, s, seen, [&](bucket where, bucket_state, int slot, unsigned) {
        return where == r.where && slot == r.slot;
      });
      hit_buckets += static_cast<unsigned>(std::popcount(seen.looked));
      ++s.tag;  // another key with these places
      s.filter_class = static_cast<std::uint8_t>((s.filter_class + 1) % filter_classes);
      look_everywhere(buckets_, v, s, all,
                      [](bucket, bucket_state, int, unsigned) { return false; });
      miss_buckets += static_cast<unsigned>(std::popcount(all.looked));
    });
  };
  constexpr std::uint64_t at_once = 4096;  // buckets: nobody waits longer for this reader
  for (unsigned i = 0; i < v.count; ++i)
    for (std::uint64_t n = 0, end = std::uint64_t{1} << v.at[i].log2; n < end; n += at_once) {
      [[maybe_unused]] read_guard guard = reading();
      if (&levels_.now() != &v) break;  // these may be gone: what was seen has to do
      for (std::uint64_t each = n; each < std::min(n + at_once, end); ++each)
        add(buckets_.at(v.at[i], each), i == 0);
    }
  add_figures(stats, {{"levels", v.count},
                      {"top_log2", v.at[0].log2},
                      {"in_top", mean_of(in_top, records)},
                      {"free_beside", mean_of(free_beside, records)},
                      {"positive_probe_mean", mean_of(hit_buckets, records)},
                      {"negative_probe_mean", mean_of(miss_buckets, records)},
                      {"movements", movements_.load()},
                      {"expansions", levels_.expansions.load()},
                      {"shrinks", levels_.shrinks.load()},
                      {"rehashed", rehashed_.load()}});
}

}  // namespace durahash::level
