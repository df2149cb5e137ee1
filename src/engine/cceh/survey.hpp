// CCEH: after some removals a look at segments: could two be one, should one be rewritten?
#pragma once

#include <algorithm>
#include <bit>
#include <mutex>

#include "engine/cceh/merge.hpp"
#include "engine/cceh/rewrite.hpp"
#include "engine/cceh/table.hpp"

namespace durahash::cceh {

/// Looks at the segments of one stripe, once.
template <medium M, class Kind>
class table<M, Kind>::surveyor {
 public:
  surveyor(table& t, stripe_index stripe) noexcept
      : t_(t),
        segments_(t.segments_),
        shape_(segments_.shape()),
        stripe_(stripe),
        state_(segments_.stripes()[stripe]),
        until_(shape_.slots() / 4) {}

  /// Of each segment of the stripe, do it and its buddy hold little enough to be one? Do searches
  /// pass many buckets that have room? Says when to look again, so that it costs a removal a few
  /// lines.
  void survey() {
    const bool is_escapes = stripe_ == stripes::of_escapes;  // which has no segments
    // where segments are deeper than stripes, removals are those of several
    std::uint64_t count = 0;
    if (!is_escapes) segments_.for_each_of(stripe_, [&](const segment&) { ++count; });
    {
      std::scoped_lock lock(state_.lock);
      if (state_.due == 0 || is_escapes) {
        state_.due = is_escapes ? 0xffff : static_cast<std::uint16_t>(shape_.slots() / 4);
        return;
      }
      // the first look only looks: who removes half of all records is not held up
      churned_ = state_.removals > count * shape_.slots() / 4;
      state_.due = 0xffff;  // nobody else looks meanwhile
    }
    for (std::uint64_t at = stripes::first_hash_of(stripe_), begin = at;;) {
      std::uint64_t next = 0;
      if_memory_allows([&] { next = survey_segment(at); });
      if (next <= begin || stripes::of(next) != stripe_) break;
      at = next;
    }
    std::scoped_lock lock(state_.lock);
    state_.removals = std::min<std::uint16_t>(state_.removals, 1 << 15);
    const std::uint64_t until = std::min<std::uint64_t>(
        count * std::max<std::uint64_t>(until_, merger(t_).fewest_removals()), 0x7ffe);
    state_.due = static_cast<std::uint16_t>(state_.removals + until);
  }

 private:
  struct occupancy {
    std::uint64_t records = 0;
    std::uint64_t spoiled = 0;  // buckets with room that do not end a search
  };

  /// Returns where the next one begins.
  std::uint64_t survey_segment(std::uint64_t at) {
    // so that a merged segment is far from its next split
    const std::uint64_t few = shape_.slots() / 4;
    constexpr std::uint64_t many_buckets = 128;  // half of them tell enough
    const std::uint64_t each = shape_.buckets() >= many_buckets ? 2 : 1;
    segment s;
    occupancy own;
    std::uint64_t both = 0;
    bool buddies = false;
    {
      [[maybe_unused]] read_guard guard = t_.reading();
      s = segments_.under_guard(at);
      own = occupancy_of(s, each);
      if (s.depth() != 0 && own.records <= few) {  // else it is too full already
        const segment buddy =
            segments_.under_guard(s.prefix ^ std::uint64_t{1} << (64 - s.depth()));
        buddies = buddy.depth() == s.depth();
        if (buddies) both = own.records + occupancy_of(buddy, each).records;
        if (buddies && both <= few && each != 1)  // so that no merge is tried that cannot be
          both = occupancy_of(s, 1).records + occupancy_of(buddy, 1).records;
      }
    }
    if (buddies && both <= few && merger(t_).merge(at, few)) return until_ = 0, s.end();
    if (buddies && both > few) until_ = std::min(until_, (both - few) / 2);  // if it loses as many
    if (own.records > few) until_ = std::min(until_, own.records - few);
    // the fuller, the longer are the ways past them
    const std::uint64_t many = std::max<std::uint64_t>((shape_.slots() - own.records) / 20, 1);
    if (own.spoiled >= many) {
      if (churned_) rewriter(t_).rewrite_if_it_stands(s);
      until_ = std::min(until_, own.records / 8);
    } else if (own.spoiled >= many / 3) {
      until_ = std::min(until_, own.records / 16);
    }
    return s.end();
  }

  /// Told from the words alone, but for those that a split in place has left. One bucket of `each`
  /// is counted, for all of them.
  occupancy occupancy_of(const segment& s, std::uint64_t each) const {
    std::uint64_t room = 0, spoiled = 0;
    const bucket* first = segments_.buckets_of(s);
    for (std::uint64_t b = 0; b < shape_.buckets(); b += each) {
      bucket_keys keys = keys_of(t_.m_, first[b]);
      std::uint32_t empty = match(keys, empty_word), open = match(keys, removed_word);
      if (!t_.copy_on_write_) open |= t_.reader_.stale_slots(s, first[b]) & ~empty;
      room += static_cast<unsigned>(std::popcount(empty | open));
      if (empty == 0) spoiled += open != 0;
    }
    return {shape_.slots() - room * each, spoiled * each};
  }

  table& t_;
  segments_type& segments_;
  const segment_shape& shape_;
  const stripe_index stripe_;
  stripe_state& state_;
  bool churned_ = false;  // as many removals as a rewrite is worth
  std::uint64_t until_;   // so many removals until the next look, or fewer
};

}  // namespace durahash::cceh
