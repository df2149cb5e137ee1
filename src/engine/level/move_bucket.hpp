// Level hashing: the records of a bucket that is drained move together, as far as there is room in
// the places under the same lock.
//
//   1  an intent names the bucket; slots and tags where the records go; flushed, fenced
//   2  the tokens there, durably
//      crash: records are there twice; recovery removes those in the named bucket
//   3  COMMIT: the tokens here removed, durably
//      crash after: moved
#pragma once

#include "engine/level/table.hpp"

namespace durahash::level {

/// Of one bucket, whose stripe is locked. All of it is one function where it is compiled: what the
/// steps work out stays in registers.
template <class Table>
class bucket_movement {
  // of a bucket's records, in a level and in all: buckets of those twice, four and eight times as
  // large
  static constexpr unsigned max_targets_of_level = 8, max_targets = 2 + 4 + 8;
  struct target_level {
    unsigned level, shift, first;
    std::uint64_t mask;
  };
  /// Where they may go, and what is to be published there. Apart from all else, which has no
  /// address then.
  struct target_list {
    target_level open[max_levels];
    bucket where[max_targets];
    bucket_state next[max_targets];
    // of the records whose first place is another bucket's
    stripe_index others[max_slots];
  };

 public:
  /// Returns whether there was room for all of them.
  [[gnu::noinline]] static bool move_all(Table& t, const typename Table::levels_view& v,
                                         const level_view& from, std::uint64_t index,
                                         stripe_index stripe) {
    target_list to;
    bucket_movement m(t, v, from, index, stripe, to);
    m.widen_filter();
    m.find_targets();
    m.fill_targets();
    if (m.leaving_ != 0) m.commit();
    m.refresh_filters();
    return m.leaving_ == (m.state_.tokens() & t.buckets_.shape.all_tokens);
  }

 private:
  [[gnu::always_inline]] bucket_movement(Table& t, const typename Table::levels_view& v,
                                         const level_view& from, std::uint64_t index,
                                         stripe_index stripe, target_list& to) noexcept
      : t_(t),
        m_(t.m_),
        v_(v),
        from_(from),
        index_(index),
        here_(index << from.shift),
        stripe_(stripe),
        to_(to),
        bucket_(t.buckets_.at(from, index)),
        state_(t.buckets_.state_of(bucket_)) {}

  void widen_filter();
  void find_targets();
  void fill_targets();
  void place(int index, std::uint32_t token);
  void commit();
  void refresh_filters();

  Table& t_;
  typename Table::medium_type& m_;
  const typename Table::levels_view& v_;
  const level_view& from_;
  const std::uint64_t index_, here_;
  const stripe_index stripe_;
  target_list& to_;
  const bucket bucket_;
  bucket_state state_;
  flushed started_;
  unsigned open_count_ = 0, target_count_ = 0, other_count_ = 0;
  bool own_ = false;
  std::uint32_t leaving_ = 0, arriving_ = 0;  // tokens; targets
};

/// Its records may go below it.
template <class Table>
[[gnu::always_inline]] inline void bucket_movement<Table>::widen_filter() {
  if (v_.first_open != 1 || state_.tokens() == 0 || state_.filter() == new_bucket.filter()) return;
  state_ = state_.next(state_.tokens(), new_bucket.filter());
  store(m_, *bucket_.state, state_.word);  // crash: a filter that says too much costs a look
  started_ += flush(m_, extent_of(*bucket_.state), "level.drain.filter");
}

/// Of each level the buckets above this one, or the one below. Those of levels that are much larger
/// are left to who moves records one by one.
template <class Table>
[[gnu::always_inline]] inline void bucket_movement<Table>::find_targets() {
  for (unsigned level = v_.first_open; level < v_.end_open; ++level) {
    const level_view& l = v_.at[level];
    const unsigned targets = l.log2 > from_.log2 ? 1u << (l.log2 - from_.log2) : 1;
    if (targets > max_targets_of_level) continue;
    to_.open[open_count_++] = {level, l.shift, target_count_, targets - 1};
    for (unsigned n = 0; n < targets; ++n, ++target_count_) {
      to_.where[target_count_] = t_.buckets_.at(l, l.number(here_) + n);
      to_.next[target_count_] = t_.buckets_.state_of(to_.where[target_count_]);
    }
  }
}

template <class Table>
[[gnu::always_inline]] inline void bucket_movement<Table>::fill_targets() {
  for (std::uint32_t left = state_.tokens() & t_.buckets_.shape.all_tokens; left != 0;
       left &= left - 1)
    place(std::countr_zero(left), left & -left);
}

/// A record, in the first level that has room and whose buckets above it admit it.
template <class Table>
[[gnu::always_inline]] inline void bucket_movement<Table>::place(int index, std::uint32_t token) {
  const auto& buckets = t_.buckets_;
  const slot& at = buckets.slot_of(bucket_, index);
  const std::uint64_t key_word = load(m_, at.key), hash = buckets.hash_of_slot(key_word);
  const std::uint64_t place = t_.second_maps_.place_beside(here_, hash);
  for (unsigned i = 0; i < open_count_; ++i) {
    const target_level& l = to_.open[i];
    if (v_.under_previous(l.level) &&
        !buckets.state_of(v_.at[l.level - 1].bucket_of(place)).admits(class_of(mixed(hash))))
      continue;
    const auto n = l.first + static_cast<unsigned>(place >> l.shift & l.mask);
    const std::uint32_t free = ~to_.next[n].tokens() & buckets.shape.all_tokens;
    if (free == 0) continue;
    const slot* apart =
        buckets.store_slot(to_.where[n], std::countr_zero(free), key_word,
                           load(m_, buckets.tag_field(bucket_, index)), load(m_, at.value));
    if (apart != nullptr) started_ += flush_in_line(m_, *apart, "level.drain.slot");
    to_.next[n].word |= free & -free;
    arriving_ |= 1u << n, leaving_ |= token;
    if (place == hash) own_ = true;
    else to_.others[other_count_++] = v_.stripe_of(hash);
    return;
  }
}

template <class Table>
[[gnu::always_inline]] inline void bucket_movement<Table>::commit() {
  std::scoped_lock lock(t_.intents_.lock_of(stripe_));
  intent& d = t_.intents_.of(stripe_);
  store(m_, d.moving, t_.p_.offset_of(bucket_.state));
  started_ += flush_in_line(m_, d.moving, "level.drain.intents");
  durable written = fence(m_, std::move(started_), "level.drain.payload");
  t_.stripes_.begin(stripe_);
  flushed tokens;
  for (std::uint32_t arriving = arriving_; arriving != 0;) {
    const int n = take_lowest(arriving);
    tokens += publish_unfenced(m_, *to_.where[n].state, to_.next[n].with_token(0).word,
                               after_group(written), "level.drain.arrival");
  }
  durable twice = fence(m_, std::move(tokens), "level.drain.arrived");
  if (own_) t_.stripes_.count_moved(stripe_);
  for (unsigned n = 0; n < other_count_; ++n) t_.stripes_.count_moved(to_.others[n]);
  // COMMIT: they have moved
  durable once = publish(m_, *bucket_.state, state_.with_tokens(state_.tokens() & ~leaving_).word,
                         after(std::move(twice)), "level.drain.left");
  t_.stripes_.end(stripe_, once);
  t_.rehashed_.fetch_add(static_cast<std::uint64_t>(std::popcount(leaving_)),
                         std::memory_order_relaxed);
}

/// The two levels right above it are each other's bottom and top from then on.
template <class Table>
[[gnu::always_inline]] inline void bucket_movement<Table>::refresh_filters() {
  const unsigned last = v_.count - 1;
  if (last < 2 || &from_ != &v_.at[last] || v_.at[last - 2].log2 != from_.log2 + 2) return;
  for (std::uint64_t n = index_ << 1; n < (index_ + 1) << 1; ++n)
    t_.filters_.refresh(v_.at[last - 2], v_.at[last - 1], n);
}

}  // namespace durahash::level
