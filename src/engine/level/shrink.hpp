// Level hashing: shrinking in place (paper §3.2), a bucket at a time; compaction.
//
//   1  a level of a quarter of the top's size is written, flushed, fenced; its word in the root
//      crash: unreachable, hence free; after its word: an expansion, which drains the new level
//   2  the top's word is marked as draining, when that may be; not flushed
//      crash after: the drain begins anew, the top's or the new level's
//   3  the top is drained, each bucket as one movement (drain.hpp)
//   4  COMMIT: the top's word removed; it is freed when writers and readers have left it
#pragma once

#include "engine/level/drain.hpp"
#include "engine/level/grow.hpp"
#include "engine/level/table.hpp"

namespace durahash::level {

template <medium M, class Kind>
class table<M, Kind>::shrinking {
 public:
  explicit shrinking(table& t) noexcept : t_(t), m_(t.m_) {}

  // under the levels' lock
  /// Those who write go on with it.
  status begin() {
    const levels_view& v = t_.levels_.now();
    if (v.count != 2 || v.at[0].log2 < 3 || !v.under_previous(1)) return status::ok;
    t_.prepared_.drop();
    const new_level below{v.at[0].log2 - 2, {}};
    if (status added = growth(t_).add({&below, 1}, true); added != status::ok) return added;
    mark(v.at[0], draining);
    t_.levels_.shrinks.fetch_add(1, std::memory_order_relaxed);
    return status::ok;
  }

  /// While the top is drained.
  status call_off() {
    const level_view& top = t_.levels_.now().at[0];
    levels_view& both = growth(t_).plan(t_.levels_.present(), false, false);
    if (!t_.p_.may_change()) return status::io_error;
    mark(top, 0);
    t_.levels_.switch_to(both);
    return status::ok;
  }

  /// Writes the level anew if there is room in front of it. Writers wait.
  void move_down(unsigned log2) {
    const levels_view& v = t_.levels_.now();
    const unsigned index = v.index_of(log2);
    const std::uint64_t bytes = t_.buckets_.shape.level_bytes(log2);
    if (index == v.count || v.count > 2 || !t_.heap_.has_room_before(v.at[index].offset, bytes))
      return;
    auto place = allocate_loose(t_.heap_, bytes);
    if (!place) return;
    const level_view old = v.at[index];
    std::vector<level_view> now = t_.levels_.present();
    now[index] = t_.buckets_.view_of(place->offset(), log2);
    levels_view& planned = growth(t_).plan(std::move(now), false, v.bottom_first);
    t_.stripes_.lock_all(v);
    if (!t_.p_.may_change()) return t_.stripes_.unlock_all(v);
    for (stripe_index s = 0; s < v.stripes(); ++s) t_.stripes_.settle_inherited(v, s);
    copy(old, planned.at[index]);
    durable written = persist(m_, extent{planned.at[index].first, bytes}, "level.compact.level");
    [[maybe_unused]] durable done =
        // COMMIT: it has moved
        publish(m_, root_of(t_.p_).levels[log2], checked_place::of(place->keep(), log2).word,
                after(std::move(written)), "level.compact.commit");
    t_.levels_.switch_to(planned);
    t_.stripes_.unlock_all(v);
    growth(t_).give_back(old);
  }

 private:
  /// Which level is drained when a crash comes. Not flushed: without the mark what has moved down
  /// moves up again.
  void mark(const level_view& top, unsigned mark) {
    store(m_, root_of(t_.p_).levels[top.log2], checked_place::of(top.offset, top.log2 | mark).word);
  }

  void copy(const level_view& from, const level_view& to) {
    auto words = [](std::byte* first) { return reinterpret_cast<pm<std::uint64_t>*>(first); };
    // readers may have been there before
    for (std::uint64_t n = 0; n < t_.buckets_.shape.level_bytes(from.log2) / 8; ++n)
      store(m_, words(to.first)[n], load(m_, words(from.first)[n]));
  }

  table& t_;
  M& m_;
};

template <medium M, class Kind>
status table<M, Kind>::shrink_to_fit() {
  if (status drained = drainer(*this).all(); drained != status::ok) return drained;
  prepared_.await();
  {
    std::scoped_lock lock(levels_.changing());
    prepared_.drop();
  }
  constexpr double full = 0.8;
  // ends: each round halves the table
  while (static_cast<double>(size()) <= full * static_cast<double>(slots()) / 2 &&
         levels_.now().at[0].log2 > 2) {
    unsigned before = levels_.now().at[0].log2;
    {
      std::scoped_lock lock(levels_.changing());
      if (status begun = shrinking(*this).begin(); begun != status::ok) return begun;
    }
    if (status drained = drainer(*this).all(); drained != status::ok) return drained;
    if (levels_.now().at[0].log2 >= before) break;
  }
  return status::ok;
}

template <medium M, class Kind>
status table<M, Kind>::move_arrays_down() {
  for (unsigned log2 = 1; log2 < level_sizes; ++log2) {
    std::scoped_lock lock(levels_.changing());
    shrinking(*this).move_down(log2);
  }
  return status::ok;
}

template <medium M, class Kind>
template <class Visit>
void table<M, Kind>::for_each_locked(Visit&& visit) {
  for (stripe_index stripe = 0;; ++stripe) {
    const levels_view& v = levels_.now();
    if (stripe >= v.stripes()) return;
    std::scoped_lock lock(stripes_.lock_of(stripe));
    // the table changes its size: it will be compacted another time
    if (levels_.now().stripe_bits != v.stripe_bits) return;
    stripes_.settle_inherited(levels_.now(), stripe);
    levels_.now().for_each_bucket(
        v.place_of(stripe), v.stripe_bits, [&](const level_view& l, std::uint64_t index) {
          buckets_.for_each_resident(buckets_.at(l, index), [&](const resident& r) {
            visit(located{r, stripe});
          });
        });
  }
}

template <medium M, class Kind>
status table<M, Kind>::replace_value(const located& r, std::uint64_t value_word, flushed started) {
  slot& at = buckets_.slot_of(r.where, r.slot);
  change c;
  c.stripe = r.stripe;
  c.value = &at.value;
  c.value_word = value_word;
  c.apart = true;
  frame::replaces(load(m_, at.value), c);
  frame::commit(c, std::move(started));
  return status::ok;
}

}  // namespace durahash::level
