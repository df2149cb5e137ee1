// Level hashing: what a read is answered with, where no writer has disturbed it.
#pragma once

#include "engine/level/table.hpp"

namespace durahash::level {

/// All of it is inlined into the read. Whatever is not that short searches: a tail call, so that a
/// read needs no frame.
template <medium M, class Kind>
template <class Read>
class table<M, Kind>::answering {
 public:
  [[gnu::always_inline]] answering(table& t, const target_type& target, key_type key,
                                   Read& read) noexcept
      : t_(t), m_(t.m_), target_(target), v_(*target.levels), key_(key), read_(read) {}

  [[gnu::always_inline]] status search() { return t_.search(key_, read_); }

  /// What a record says is durable if its bucket's stripe is settled, whatever the other place's
  /// is.
  [[gnu::always_inline]] status hit(std::uint64_t place, bucket b, bucket_state state,
                                    found_slot at) {
    const std::optional<value_type> value =
        value_for_key<Kind>(m_, t_.p_, load(m_, at.there->value), key_);
    if (!value || !t_.buckets_.is_still(b, state) || &t_.levels_.now() != &v_ ||
        !t_.stripes_.settled(v_.stripe_of(place))) [[unlikely]]
      return search();
    read_(*value);
    return status::ok;
  }

  /// Behind the first two buckets, which do not have the key.
  [[gnu::always_inline]] status below(bucket_state in_a, bucket_state in_b) {
    const auto& t = target_;
    const auto& buckets = t_.buckets_;
    if (bucket_state{in_a.word | in_b.word | v_.always_admits}.admits(t.filter_class)) {
      bucket c = t.at[0], d = t.at[1];  // or those in the other level
      bucket_state in_c = in_a, in_d = in_b;
      if (bucket_state{in_a.word | v_.always_admits}.admits(t.filter_class)) {
        c = v_.searched[1].bucket_of(t.place[0]), in_c = buckets.state_of(c);
        if (const found_slot at = buckets.find_in(c, in_c, t); at.there != nullptr)
          return hit(t.place[0], c, in_c, at);
      }
      if (bucket_state{in_b.word | v_.always_admits}.admits(t.filter_class)) {
        d = v_.searched[1].bucket_of(t.place[1]), in_d = buckets.state_of(d);
        if (const found_slot at = buckets.find_in(d, in_d, t); at.there != nullptr)
          return hit(t.place[1], d, in_d, at);
      }
      if (!buckets.is_still(c, in_c) || !buckets.is_still(d, in_d)) [[unlikely]]
        return search();
    }
    return miss(in_a, in_b);
  }

  [[gnu::always_inline]] status miss(bucket_state in_a, bucket_state in_b) {
    if (!t_.buckets_.is_still(target_.at[0], in_a) || !t_.buckets_.is_still(target_.at[1], in_b) ||
        &t_.levels_.now() != &v_ || !t_.stripes_.settled(v_.stripe_of(target_.place[0])) ||
        !t_.stripes_.settled(v_.stripe_of(target_.place[1]))) [[unlikely]]
      return search();
    return status::not_found;
  }

 private:
  table& t_;
  M& m_;
  const target_type& target_;
  const levels_view& v_;
  const key_type key_;
  Read& read_;
};

}  // namespace durahash::level
