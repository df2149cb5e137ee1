// Level hashing: what a write stages where it is not short (paper §3.1, §3.3). Nothing refers to it
// before its commit.
#pragma once

#include "engine/level/search.hpp"
#include "engine/level/table.hpp"

namespace durahash::level {

/// Under the locks of the key's stripes. Its steps are calls: groups of writes, which rarely take
/// them, keep their registers.
template <medium M, class Kind>
class table<M, Kind>::staging {
 public:
  staging(table& t, const unit_type& l, const candidates& s, change& c, status& answer,
          flushed& started) noexcept
      : t_(t), l_(l), s_(s), c_(c), answer_(answer), started_(started) {}

  [[gnu::noinline]] lookup walk(key_type key) const {
    M& m = t_.m_;
    const auto& v = *l_.levels;
    bucket where{};
    int index = -1;
    unsigned found = 0;
    bucket_reads seen;
    look_everywhere(t_.buckets_, v, s_, seen, [&](bucket b, bucket_state, int slot, unsigned n) {
      if (!names_key<Kind>(m, t_.p_, load(m, t_.buckets_.slot_of(b, slot).value), key))
        return false;
      where = b, index = slot, found = n;
      return true;
    });
    return {where, index, v.level_of(found), found % 2};
  }

  [[gnu::noinline]] staged insert(key_type key, value_type value) {
    M& m = t_.m_;
    const auto& v = *l_.levels;
    unsigned level = 0, which = 0;
    if (!find_room(level, which)) return staged::no_room;
    auto value_word = new_value_word<Kind>(m, t_.heap_, t_.p_, key, value, started_);
    if (!value_word) return answer_ = status::no_space, staged::nothing_to_do;
    c_.stripe = l_.stripe[which];
    c_.where = v.at[level].bucket_of(s_.place[which]);
    bucket_state state = t_.buckets_.state_of(c_.where);
    const int index = t_.buckets_.free_slot(state);
    c_.filled = &t_.buckets_.slot_of(c_.where, index);
    c_.lines = t_.filters_.fill(v, level, s_, which, index, *value_word);
    c_.apart = c_.lines.any() || !Kind::in_slot;
    c_.next = state.with_tokens(state.tokens() | 1u << index);
    c_.records = 1;
    return staged::ready;
  }

  [[gnu::noinline]] staged update(const lookup& at, key_type key, value_type value) {
    M& m = t_.m_;
    auto value_word = new_value_word<Kind>(m, t_.heap_, t_.p_, key, value, started_);
    if (!value_word) return answer_ = status::no_space, staged::nothing_to_do;
    slot& old = t_.buckets_.slot_of(at.where, at.slot);
    c_.where = at.where;
    c_.apart = !Kind::in_slot;
    bucket_state state = t_.buckets_.state_of(at.where);
    int other = t_.buckets_.free_slot(state);
    if (t_.how_.in_place) {
      c_.value = &old.value;
      c_.value_word = *value_word;
      return staged::ready;
    }
    if (other < 0) return update_logged(old, *value_word), staged::nothing_to_do;
    c_.filled = &t_.buckets_.slot_of(at.where, other);
    c_.lines.slot_apart = t_.buckets_.store_slot(at.where, other, s_, *value_word);
    c_.apart = c_.lines.any() || !Kind::in_slot;
    if (M::planted("level-two-tokens-in-two-stores"))
      store(m, *at.where.state, state.with_tokens(state.tokens() & ~(1u << at.slot)).word);
    c_.next = state.with_tokens((state.tokens() | 1u << other) & ~(1u << at.slot));
    return staged::ready;
  }

  [[gnu::noinline]] staged remove(const lookup& at) {
    const auto& v = *l_.levels;
    bucket_state state = t_.buckets_.state_of(at.where);
    c_.where = at.where;
    c_.next = state.with_tokens(state.tokens() & ~(1u << at.slot));
    c_.records = -1;
    if (v.under_previous(at.level))
      c_.levels = &v, c_.level = at.level, c_.place = s_.place[at.which],
      c_.filter_class = s_.filter_class;
    return staged::ready;
  }

 private:
  /// The less loaded of the key's buckets in the largest level that has room there (§3.1).
  bool find_room(unsigned& level, unsigned& which) const {
    const auto& v = *l_.levels;
    for (unsigned candidate = v.first_open; candidate < v.end_open; ++candidate) {
      int load[2];
      for (unsigned n = 0; n < 2; ++n)
        load[n] =
            std::popcount(t_.buckets_.state_of(v.at[candidate].bucket_of(s_.place[n])).tokens() &
                          t_.buckets_.shape.all_tokens);
      level = candidate;
      which = load[1] < load[0];
      if (load[which] < static_cast<int>(t_.buckets_.shape.slots)) return true;
    }
    return false;
  }

  /// The paper's update in a full bucket (§3.3). The log has the new value, not the old one: a
  /// reader may be given the new one as soon as it is visible.
  ///   1  COMMIT: slot, key and new value logged, with a checksum, durably
  ///      crash after: recovery stores the new value
  ///   2  the value word stored, durably: the log goes, and readers do not look at it
  ///   3  the checksum cleared, durably: a later update must not be undone
  void update_logged(slot& old, std::uint64_t value_word) {
    M& m = t_.m_;
    std::scoped_lock lock(t_.intents_.lock_of(c_.stripe));
    intent& d = t_.intents_.of(c_.stripe);
    std::uint64_t at = t_.p_.offset_of(&old), key = load(m, old.key);
    store(m, d.logged_slot, at);
    store(m, d.logged_key, key);
    store(m, d.logged_value, value_word);
    ordered payload =
        Kind::in_slot ? after_same_line(&d.logged_check, &d.logged_slot, 3 * sizeof(d.logged_slot))
                      : after(fence(m, std::move(started_), "level.log.payload"));
    // COMMIT: the value changes
    durable logged = publish(m, d.logged_check, log_check(at, key, value_word), std::move(payload),
                             "level.log.commit");
    t_.stripes_.begin(c_.stripe);
    durable replaced =
        publish(m, old.value, value_word, after(std::move(logged)), "level.log.value");
    t_.stripes_.end(c_.stripe, replaced);
    if (!M::planted("level-a-log-is-never-cleared")) [[maybe_unused]]
      durable cleared =
          publish(m, d.logged_check, 0, after(std::move(replaced)), "level.log.cleared");
    t_.finish(c_);
    t_.retire_replaced(c_);
  }

  table& t_;
  const unit_type& l_;
  const candidates& s_;
  change& c_;
  status& answer_;
  flushed& started_;
};

}  // namespace durahash::level
