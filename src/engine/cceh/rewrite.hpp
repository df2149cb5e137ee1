// CCEH: a segment is written anew.
//
// A rewrite of a segment into a new one N of the same depth, under its lock: N written, flushed,
// fenced; the entries become N from right to left. COMMIT: the rightmost entry; recovery makes the
// others follow it. What was removed is not in N, so that searches end where they should. It is for
// tables in which records come and go: a window that is full there need not mean a split. A move of
// a segment is one to a place in front of its own.
#pragma once

#include <algorithm>
#include <mutex>
#include <vector>

#include "engine/cceh/table.hpp"

namespace durahash::cceh {

/// Rewrites segments of a table.
template <medium M, class Kind>
class table<M, Kind>::rewriter {
 public:
  explicit rewriter(table& t) noexcept : t_(t), m_(t.m_), segments_(t.segments_) {}

  /// Without what was removed or is stale. `s` is locked. Returns whether there was space.
  bool rewrite(const segment& s) {
    t_.settle(s);
    auto made = segments_.make();
    if (!made) return false;
    bool fits = true;
    const segment_shape& shape = segments_.shape();
    t_.reader_.for_each(s, [&](const resident& r) {
      fits = fits && made->put(shape.home_of(r.hash), shape.probe, r);
    });
    if (!fits) made->lay_out_as_they_lie(t_.reader_.all_of(s));
    put_in_place(s, *made);
    return true;
  }

  /// Unless others have replaced it meanwhile.
  bool rewrite_if_it_stands(const segment& seen) {
    const segment s = segments_.lock(seen.prefix);
    const held_lock held(segments_.lock_of(s));
    return s.entry == seen.entry && t_.p_.may_change() && rewrite(s);
  }

  /// A window of `s`, which is locked, is full. Where others have room, because records come and go
  /// and the table does not grow, the segment is rewritten so that a record of that hash finds a
  /// slot. Returns whether it was.
  bool rewrite_with_room(const segment& s, std::uint64_t hash) {
    const std::uint64_t slots = segments_.shape().slots();
    const bool churned = segments_.stripes()[s.stripe].removals >= slots / 16;
    if (!churned) return false;
    t_.settle(s);
    std::vector<resident> all = t_.reader_.all_of(s);
    if (all.size() > slots * 13 / 16) return false;
    all.push_back({{hash, removed_word, 0}, nullptr, 0});  // its slot
    in_order_of_homes(all);
    auto made = segments_.make();
    if (!made || !made->lay_out(all)) return false;
    put_in_place(s, *made);
    return true;
  }

 private:
  /// Laid out in this order, each is as near to its home as it can be. The first is one of a home
  /// that no record of a home before it comes to lie in.
  void in_order_of_homes(std::vector<resident>& records) const {
    const segment_shape& shape = segments_.shape();
    std::uint64_t start = 0, carried = 0;
    std::vector<std::uint32_t> at_home(shape.buckets());
    for (const resident& r : records) ++at_home[shape.home_of(r.hash)];
    for (std::uint64_t round = 0; round < 2 * shape.buckets(); ++round) {
      carried += at_home[round & shape.mask()];
      carried -= std::min<std::uint64_t>(carried, slots_per_bucket);
      if (carried == 0) start = round + 1;
    }
    std::sort(records.begin(), records.end(), [&](const resident& a, const resident& b) {
      return ((shape.home_of(a.hash) - start) & shape.mask()) <
             ((shape.home_of(b.hash) - start) & shape.mask());
    });
  }

  void put_in_place(const segment& s, segment_writer<M>& made) {
    durable written = fence(m_, made.finish(), "cceh.rewrite.segment");
    std::scoped_lock lock(t_.directory_);
    checked_place entry = checked_place::of(made.keep(), s.depth());
    // COMMIT: with the rightmost entry
    t_.directory_.publish_entries(
        t_.directory_.range_of(s.prefix, s.depth()), direction::leftward,
        [&](std::uint64_t) { return entry; }, after(std::move(written)));
    segments_.stripes()[s.stripe].outdate();
    ++t_.rewrites_;
    segments_.give_back(s.offset(), segments_.shape().bytes());
  }

  table& t_;
  M& m_;
  segments_type& segments_;
};

}  // namespace durahash::cceh
