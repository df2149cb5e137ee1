// The levels that a table has, and how they come and go. There is one view at a time; a new one
// takes its place as a whole.
//
//   L6  No record enters a level that is being drained; the level's word goes after its last
//       record, durably.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/spin_lock.hpp"
#include "engine/level/levels_view.hpp"
#include "engine/level/stripes.hpp"

namespace durahash::level {

template <medium M>
class levels {
 public:
  explicit levels(stripes<M>& all) : stripes_(all) {}  // a deque takes memory

  const levels_view<M>& now() const noexcept { return *now_.load(std::memory_order_acquire); }

  std::vector<level_view> present() const {
    const levels_view<M>* v = now_.load(std::memory_order_acquire);
    return v == nullptr ? std::vector<level_view>()
                        : std::vector<level_view>(v->at, v->at + v->count);
  }

  std::uint64_t records(std::uint64_t at_first) noexcept {
    return stripes_.records(at_first, [&] { return now().stripes(); });
  }
  std::uint64_t switches() const noexcept { return switches_.load(std::memory_order_relaxed); }

  // asked for now and then, and told
  std::atomic<bool> shrinking{false};  // is about to
  std::atomic<std::uint64_t> looks{0}, expansions{0}, shrinks{0};

  /// Guards all that changes the set of levels; taken before stripes' locks.
  turn_mutex& changing() noexcept { return changing_; }

  // under that lock
  /// What the levels are to become; nobody sees it yet.
  levels_view<M>& plan(std::vector<level_view> wanted, bool drain_largest, bool bottom_first) {
    std::sort(wanted.begin(), wanted.end(),
              [](const level_view& a, const level_view& b) { return a.log2 > b.log2; });
    const levels_view<M>* old = now_.load(std::memory_order_acquire);
    durahash::check(!wanted.empty() && wanted.size() <= max_levels,
                    "a table has one to eight levels");
    levels_view<M>& made = views_.emplace_back();
    made.count = static_cast<unsigned>(wanted.size());
    std::copy(wanted.begin(), wanted.end(), made.at);
    made.bottom_first = bottom_first && made.count > 1;
    made.filtered = made.count > 1 && made.under_previous(1);
    made.stripe_bits = std::min(stripe_bits_on<M>, wanted.back().log2);
    made.stripe_shift = 64 - made.stripe_bits;
    made.is_pair = made.count == 2 && made.filtered;
    made.searched[0] = made.at[made.bottom_first];
    made.searched[1] = made.at[!made.bottom_first && made.count > 1];
    made.always_admits = made.bottom_first || !made.filtered ? new_bucket.word : 0;
    made.end_open = made.count;
    if (made.count > 2) {
      unsigned log2 = drain_largest ? wanted.front().log2 : wanted.back().log2;
      bool goes_on = old != nullptr && old->draining != nullptr && old->draining->log2 == log2;
      made.draining = goes_on ? old->draining : &drains_.emplace_back(log2);
      made.first_open = drain_largest && !M::planted("level-records-enter-what-is-drained");
      made.end_open -= !drain_largest;
    }
    return made;
  }

  bool renumbers(const levels_view<M>& planned) const noexcept {
    const levels_view<M>* old = now_.load(std::memory_order_acquire);
    return old != nullptr && old->stripe_bits != planned.stripe_bits;
  }

  /// These are the levels from here on. Where the stripes change, all of them are locked meanwhile.
  void switch_to(levels_view<M>& planned) noexcept {
    const levels_view<M>* old = now_.load(std::memory_order_acquire);
    durahash::check(planned.first_open < planned.end_open, "some level takes records (L6)");
    switches_.fetch_add(1, std::memory_order_relaxed);
    if (renumbers(planned)) {
      stripes_.lock_all(*old);
      // a mark means other buckets from here on
      for (stripe_index s = 0; s < old->stripes(); ++s) stripes_.settle_inherited(*old, s);
      stripes_.renumber(old->stripe_bits, planned.stripe_bits,
                        [&] { now_.store(&planned, std::memory_order_release); });
      return stripes_.unlock_all(*old);
    }
    now_.store(&planned, std::memory_order_release);
  }

 private:
  stripes<M>& stripes_;
  std::atomic<const levels_view<M>*> now_{nullptr};
  turn_mutex changing_;
  std::deque<levels_view<M>> views_;  // all there were; guarded by changing_
  std::deque<drain<M>> drains_;       // likewise
  std::atomic<std::uint64_t> switches_{0};
};

}  // namespace durahash::level
