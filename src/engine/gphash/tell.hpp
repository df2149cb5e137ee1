// GPHash: what a write changes in the pool it changes in what there is of it twice: in the bucket's
// copy (bucket_cache.hpp), and in the level that is coming (grow.hpp, step 1).
#pragma once

#include "engine/gphash/table.hpp"

namespace durahash::gphash {

template <medium M, class Kind>
class table<M, Kind>::telling {
  using change = gphash::change<M, Kind>;

 public:
  /// Its stripe is locked. By value: who publishes keeps the change in registers.
  [[gnu::noinline]] static flushed publish(table& t, change c, ordered payload) {
    return telling(t, c).publish_and_tell(std::move(payload));
  }

 private:
  telling(table& t, const change& c) noexcept
      : t_(t), m_(t.m_), b_(t.buckets_), coming_(t.coming_), c_(c) {}

  flushed publish_and_tell(ordered payload) {
    const levels_view& v = t_.levels_.now();  // those that were there when the stripe was locked
    const std::uint64_t words_per_bucket = b_.form().bucket_words();
    unsigned l = 0;
    std::uint64_t word = 0;
    for (; l < v.count; ++l) {
      word = static_cast<std::uint64_t>(c_.where.state - v.at[l].first);
      if (c_.where.state >= v.at[l].first && word / words_per_bucket < v.at[l].buckets()) break;
    }
    if (l == v.count) return c_.publish(m_, std::move(payload));  // an escape slot
    std::optional<bucket_cache::hold> copy;
    if (v.cache != nullptr) copy.emplace(*v.cache, v.first_bucket[l] + word / words_per_bucket);
    flushed started = coming_.is_begun() && l == v.count - 1
                          ? publish_twice(v.at[l], word / words_per_bucket, std::move(payload))
                          : c_.publish(m_, std::move(payload));
    if (copy && !M::planted("gphash-a-copy-is-not-told"))
      copy->store(static_cast<unsigned>(word % words_per_bucket), load(m_, *c_.where.state),
                  load(m_, *c_.where.value));
    return started;
  }

  /// A change of the bottom: of the level that is coming, too, if it has the bucket.
  flushed publish_twice(const level_view& bottom, std::uint64_t index, ordered payload) {
    std::scoped_lock lock(coming_.lock_of(index));
    const std::uint64_t state = load(m_, *c_.where.state), value = load(m_, *c_.where.value);
    flushed started = c_.publish(m_, std::move(payload));
    if (coming_.is_copied(index) && !M::planted("gphash-a-copied-bucket-is-not-told"))
      started += tell_coming_level(bottom, index, state, value);
    return started;
  }

  /// `state` and `value`: of the slot, before it was changed.
  flushed tell_coming_level(const level_view& bottom, std::uint64_t index, std::uint64_t state,
                            std::uint64_t value) {
    const bool is_new = c_.records > 0;
    const std::uint64_t fingerprint = is_new ? c_.next : state;
    const std::optional<std::uint64_t> over =
        b_.bucket_over(bottom, index, coming_.level(), fingerprint);
    if (!over) return t_.damage_found_ = true, flushed();
    const bucket_ref b = b_.at(coming_.level(), *over);
    unsigned slot = 0;
    auto is_the_one = [&] {
      const std::uint64_t there = load(m_, b[slot]);
      return is_new ? there == empty_state
                    : there == fingerprint && load(m_, b[b_.form().slots + slot]) == value;
    };
    while (slot < b_.form().slots && !is_the_one()) ++slot;
    if (slot == b_.form().slots) return t_.damage_found_ = true, flushed();
    flushed started;
    auto tell = [&](pm<std::uint64_t>& word, std::uint64_t now) {
      store(m_, word, now);
      started += flush_in_line(m_, word, "gphash.grow.told");
    };
    const auto at = b_.slot_at(b, slot);
    if constexpr (Kind::fixed_key)
      for (unsigned n = 0; is_new && n < b_.form().key_words(); ++n)
        tell(at.key[n], load(m_, c_.where.key[n]));
    if (c_.records >= 0) tell(*at.value, load(m_, *c_.where.value));
    if (c_.records != 0) tell(*at.state, c_.next);
    return started;
  }

  table& t_;
  M& m_;
  const decltype(table::buckets_)& b_;
  coming_level& coming_;
  const change& c_;
};

}  // namespace durahash::gphash
