// CCEH: two segments become one.
//
// A merge of two buddies A, B of depth L into a new segment N, under both locks:
//   1  N written, flushed, fenced
//      crash: unreachable, hence free
//   2  the entries become (N, L-1), from left to right
//      crash: recovery takes it back as far as B still stands (docs/explanation/engines/cceh.md)
//   3  COMMIT: the rightmost entry is (N, L-1)
//      crash after: new state
//   4  A and B are free
#pragma once

#include <algorithm>
#include <mutex>
#include <vector>

#include "engine/cceh/table.hpp"

namespace durahash::cceh {

/// Merges segments of a table.
template <medium M, class Kind>
class table<M, Kind>::merger {
 public:
  explicit merger(table& t) noexcept : t_(t), m_(t.m_), segments_(t.segments_) {}

  /// The segment of `hash` and its buddy become one, if they are of one depth, hold at most so many
  /// records, and those fit. Returns whether they did.
  bool merge(std::uint64_t hash, std::uint64_t max_records) {
    unsigned depth = segments_.of(hash).depth();
    if (depth == 0) return false;
    std::uint64_t left_prefix = prefix_of(hash, depth - 1),
                  right_prefix = right_half_of(left_prefix, depth);
    segment left = segments_.lock(left_prefix);
    held_locks<2> held(segments_.lock_of(left));
    if (left.depth() != depth) return false;
    bool one_stripe = stripes::of(right_prefix) == left.stripe;
    // locks are taken from left to right
    segment right = one_stripe ? segments_.of(right_prefix) : segments_.lock(right_prefix);
    if (!one_stripe) held.adopt(segments_.lock_of(right));
    return right.depth() == depth && merge(left, right, max_records);
  }

  /// The fewest removals between two looks at a segment.
  std::uint16_t fewest_removals() const noexcept {
    return static_cast<std::uint16_t>(std::max<std::uint64_t>(segments_.shape().slots() / 32, 1));
  }

 private:
  /// Copies: nothing stale can come back (hole CCEH 9).
  bool merge(const segment& left, const segment& right, std::uint64_t max_records) {
    segment of_left = left;
    if (M::planted("cceh-a-merge-revives-what-is-stale"))
      of_left.entry = checked_place::of(left.offset(), left.depth() - 1);
    std::vector<resident> all = t_.reader_.all_of(of_left), more = t_.reader_.all_of(right);
    all.insert(all.end(), more.begin(), more.end());
    if (all.size() > max_records || !t_.p_.may_change()) return false;
    auto made = segments_.make();
    if (!made || !made->lay_out(all)) return false;
    // records of one go to the other
    if (left.stripe != right.stripe && !M::planted("cceh-a-merge-outruns-the-count"))
      for (stripe_index stripe : {left.stripe, right.stripe})
        t_.count_once(stripe, [&] { t_.count_stripe(stripe); });
    put_in_place(left, right, *made);
    return true;
  }

  void put_in_place(const segment& left, const segment& right, segment_writer<M>& made) {
    durable written = fence(m_, made.finish(), "cceh.merge.segment");
    auto& directory = t_.directory_;
    auto& stripes = segments_.stripes();
    std::scoped_lock lock(directory);
    unsigned depth = left.depth();
    checked_place entry = checked_place::of(made.keep(), depth - 1);
    directory.publish_entries(
        directory.range_of(left.prefix, depth - 1), direction::rightward,
        [&](std::uint64_t) { return entry; }, after(std::move(written)));
    stripes[left.stripe].outdate();
    stripes[right.stripe].outdate();
    ++t_.merges_;
    for (stripe_index stripe : {left.stripe, right.stripe}) {
      stripes[stripe].removals = 0;
      stripes[stripe].due = fewest_removals();  // it may be merged again
    }
    if (left.stripe != right.stripe) {
      const auto moved = stripes[right.stripe].records.load(std::memory_order_relaxed);
      stripes.move_count(right.stripe, left.stripe, moved);
    }
    segments_.give_back(left.offset(), segments_.shape().bytes());
    segments_.give_back(right.offset(), segments_.shape().bytes());
    directory.note_merge(depth);
    if_memory_allows([&] { directory.halve(); });
  }

  table& t_;
  M& m_;
  segments_type& segments_;
};

}  // namespace durahash::cceh
