// CCEH: verifies every invariant over every byte that is reachable, and tells figures.
#pragma once

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "engine/cceh/table.hpp"
#include "engine/frame/reached.hpp"

namespace durahash::cceh {

/// One check of a table whose writers are kept out: what is wrong, and the bytes that it reached.
template <medium M, class Kind>
class table<M, Kind>::checker {
 public:
  checker(table& t, violations& violated, std::uint64_t& reached_bytes) noexcept
      : t_(t),
        m_(t.m_),
        segments_(t.segments_),
        violated_(violated),
        reached_(t.p_, t.heap_, violated, reached_bytes) {}

  /// Returns the records.
  std::uint64_t check() {
    std::uint64_t records = check_escapes();
    check_directory();
    segments_.for_each([&](const segment& s) { records += check_segment(s); });
    return records;
  }

 private:
  /// Returns the records in the escape slots.
  std::uint64_t check_escapes() {
    const bucket& b = segments_.root_of_table().escapes;
    if (impossible_escapes<Kind>(m_, b) != 0)
      violated_("the escape slots hold a key that cannot be there");
    std::uint32_t present = match(m_, b, escape_of_empty) | match(m_, b, escape_of_removed);
    return static_cast<std::uint64_t>(std::popcount(present));
  }

  /// C1, and that the root names the directory in use.
  void check_directory() {
    const directory_view now = segments_.directory();
    const checked_place on_medium{load(m_, segments_.root_of_table().directory)};
    if (!on_medium.sound() || !now.mirrors(on_medium))
      violated_("the root does not name the directory in use");
    reached_.add(now.offset(), directory_bytes(now.exponent()),
                 [] { return std::string("the directory"); });
    if (t_.p_.read_only()) return;
    std::uint64_t deepest = 0;
    for (const leaf& l : read_tree(now.exponent(), segments_.entry_reader())) {
      if (l.state != detail::node_state::whole)
        violated_("the directory entries from " + std::to_string(l.where.begin) + " to " +
                  std::to_string(l.where.begin + l.where.count - 1) + " do not name one segment");
      deepest += l.where.level == now.exponent();
    }
    if (deepest != t_.directory_.deepest())
      violated_("the deepest segments are " + std::to_string(deepest) + ", not " +
                std::to_string(t_.directory_.deepest()));
  }

  /// C2. Returns the records in the segment.
  std::uint64_t check_segment(const segment& s) {
    const std::string name = "segment at offset " + std::to_string(s.offset());
    reached_.add(s.offset(), segments_.shape().bytes(), [&] { return "the " + name; });
    std::vector<resident> found = t_.reader_.all_of(s);
    for (const resident& r : found) check_record(s, r);
    reached_.each_is_there_once(found, name + ": ");
    return found.size();
  }

  void check_record(const segment& s, const resident& r) {
    if (!segments_.shape().may_hold(r.bucket, r.hash) || !t_.reader_.reaches(s, r))
      violated_(place_of(s, r.bucket) + ": a search for a key ends before it gets here");
    if (std::string fault = fault_of<Kind>(m_, t_.p_, t_.seeds_, r, hash_of<Kind>); !fault.empty())
      violated_(place_of(s, r.bucket) + ": " + fault);
    reached_.add_record(r, [&] { return place_of(s, r.bucket); });
  }

  table& t_;
  M& m_;
  segments_type& segments_;
  violations& violated_;
  reached_parts<M, Kind> reached_;
};

// ----------------------------------------------------------------------------------------- figures

/// What a walk over all segments adds up.
template <medium M, class Kind>
class table<M, Kind>::measurement {
 public:
  explicit measurement(table& t) : t_(t), m_(t.m_), segments_(t.segments_) {
    segments_.for_each([&](const segment& s) { add(s); });
  }

  void tell(table_stats& stats) const {
    add_figures(stats,
                {{"segments", count_},
                 {"global_depth", segments_.directory().exponent()},
                 {"deepest_segment", deepest_},
                 {"removed_slots", removed_},
                 {"stale_slots", stale_},
                 {"positive_probe_mean", mean_of(hit_lines_, hits_)},
                 {"negative_probe_mean", mean_of(reach_sum_, count_ * segments_.shape().buckets())},
                 {"negative_probe_max", reach_most_},
                 {"splits", t_.splits_.load()},
                 {"rewrites", t_.rewrites_.load()},
                 {"merges", t_.merges_.load()},
                 {"doublings", t_.directory_.doublings()},
                 {"halvings", t_.directory_.halvings()}});
  }

 private:
  void add(const segment& s) {
    ++count_;
    deepest_ = std::max<std::uint64_t>(deepest_, s.depth());
    const bucket* first = segments_.buckets_of(s);
    for (std::uint64_t home = 0; home < segments_.shape().buckets(); ++home)
      add_bucket(s, first, home);
    t_.reader_.for_each(s, [&](const resident& r) {
      ++hits_;
      hit_lines_ += segments_.shape().distance_of(r.hash, r.bucket) + 1;
    });
  }

  void add_bucket(const segment& s, const bucket* first, std::uint64_t home) {
    removed_ += static_cast<unsigned>(std::popcount(match(m_, first[home], removed_word)));
    for (const slot& at : first[home].slots) {
      std::uint64_t word = load(m_, at.key);
      stale_ +=
          word != empty_word && word != removed_word && !s.owns(t_.reader_.hash_of_slot(word));
    }
    const segment_shape& shape = segments_.shape();
    std::uint64_t reach = 1;
    while (reach < shape.probe &&
           match(m_, first[(home + reach - 1) & shape.mask()], empty_word) == 0)
      ++reach;
    reach_sum_ += reach;
    reach_most_ = std::max(reach_most_, reach);
  }

  table& t_;
  M& m_;
  segments_type& segments_;
  std::uint64_t count_ = 0, deepest_ = 0, removed_ = 0, stale_ = 0;
  std::uint64_t reach_sum_ = 0, reach_most_ = 0;  // buckets that a search for no key passes
  std::uint64_t hits_ = 0, hit_lines_ = 0;
};

}  // namespace durahash::cceh
