// What an operation carries from step to step.
#pragma once

#include <cstdint>

#include "base/spin_lock.hpp"
#include "engine/frame/frame.hpp"
#include "engine/level/buckets.hpp"
#include "engine/level/levels_view.hpp"

namespace durahash::level {

/// Where a key is looked for first, in one level, as long as the levels are these.
template <medium M>
struct target : candidates {
  const levels_view<M>* levels;
  bucket at[2];
};

/// And what was seen there.
template <medium M>
struct home_look : target<M>, first_look {};

/// The stripes of a key, both locked.
template <medium M>
struct locked {
  const levels_view<M>* levels;
  stripe_index stripe[2];
  // no index that is known when it runs: what has one lies in memory
  stripe_index of(bool second) const noexcept { return second ? stripe[1] : stripe[0]; }
};

template <medium M>
struct locked_home : locked<M> {
  spin_lock *low, *high;
};

/// Both locks of a key.
class held_pair {
 public:
  held_pair(spin_lock& a, spin_lock& b) noexcept : a_(&a), b_(&b) {}
  held_pair(const held_pair&) = delete;
  [[gnu::always_inline]] ~held_pair() { release(); }
  [[gnu::always_inline]] void release() noexcept {
    if (held_) a_->unlock(), b_->unlock();
    held_ = false;
  }

 private:
  spin_lock *a_, *b_;
  bool held_ = true;  // known where it is asked for, which a pointer would not be
};

/// Where a key is: found by a walk under the locks of its stripes.
struct lookup {
  bucket where{};
  int slot = -1;
  unsigned level = 0;
  unsigned which = 0;  // of the key's places
  bool found() const noexcept { return slot >= 0; }
};

/// A record, whose stripe is locked.
struct located : resident {
  stripe_index stripe;
};

/// A change that is written but not committed.
template <medium M, class Kind>
struct change : replaced_record<Kind> {
  stripe_index stripe = 0;
  bucket where{};
  bucket_state next;
  pm<std::uint64_t>* value = nullptr;  // what changes is this word alone
  std::uint64_t value_word = 0;
  const slot* filled = nullptr;  // with the payload
  item_lines lines;
  bool apart = false;       // it lies in other lines than the commit word, these or a record's
  bool wants_look = false;  // at the whole table; when it is committed
  std::int8_t records = 0;
  // of a removal from a bucket with one above: that one's filter may say less then
  const levels_view<M>* levels = nullptr;
  unsigned level = 0, filter_class = 0;
  std::uint64_t place = 0;
};

/// Of buckets that differ.
template <medium M, class Kind>
struct group : fenced_group<change<M, Kind>, 2 * group_size> {
  locked<M> keys[group_size];
  const target<M>* targets;  // of the keys
  std::uint64_t shares = 0;  // bit n: the n-th key has a stripe of one before it
  static_assert(group_size <= 64);

  bool shares_stripe(const target<M>& t) const noexcept {
    return (shares >> (&t - targets) & 1) != 0;
  }
  /// Whether a change is one of the key's buckets.
  [[gnu::noinline]] bool meets(const levels_view<M>& v, const candidates& s) const {
    for (unsigned i = 0; i < v.count; ++i)
      for (std::uint64_t place : s.place) {
        const bucket b = v.at[i].bucket_of(place);
        for (const auto& c : this->all())
          if (c.where == b) return true;
      }
    return false;
  }
};

}  // namespace durahash::level
