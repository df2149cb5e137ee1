// Level hashing: a level that goes is drained, a bucket at a time, by those who write and by a
// thread in the background.
//
// Its records move together, as far as there is room under the same lock (move_bucket.hpp); those
// that are left move alone, to any of their places (move.hpp).
#pragma once

#include <sched.h>

#include "engine/level/grow.hpp"
#include "engine/level/move.hpp"
#include "engine/level/move_bucket.hpp"
#include "engine/level/table.hpp"

namespace durahash::level {

/// Nothing is locked by the caller.
template <class Table>
class drainer {
 public:
  explicit drainer(Table& t) noexcept : t_(t), m_(t.m_) {}

  void some(std::uint64_t writes);
  void start_helper();
  status all();

 private:
  using levels_view = typename Table::levels_view;
  using drain = level::drain<typename Table::medium_type>;

  bool next(drain& d);
  bool drain_bucket(drain& d, std::uint64_t index);
  bool move_out(const drain& d, std::uint64_t index);
  bool read_again(resident& r) const;
  bool move_anywhere(const levels_view& v, const typename Table::unit_type& l, const resident& r,
                     const candidates& s, unsigned here);
  void finish(const drain& d);

  Table& t_;
  typename Table::medium_type& m_;
};

/// Bounded work for a level that is going: what so many writes do when they are done with their
/// own.
template <class Table>
void drainer<Table>::some(std::uint64_t writes) {
  drain* d = t_.levels_.now().draining;
  if (d == nullptr) return;
  for (std::uint64_t buckets = writes * d->by_a_write(); buckets > 0; --buckets) {
    d = t_.levels_.now().draining;
    if (d == nullptr) return;
    bool got_on = false;
    if_memory_allows([&] { got_on = next(*d); });
    if (!got_on) return;
  }
}

/// Returns whether it got on.
template <class Table>
bool drainer<Table>::next(drain& d) {
  auto index = d.take();
  if (index) {
    bool drained = false;
    try {
      drained = drain_bucket(d, *index);
    } catch (const std::bad_alloc&) {
      d.give_back(*index);
      throw;
    }
    if (!drained) return d.give_back(*index), false;
    d.done.fetch_add(1, std::memory_order_acq_rel);
  }
  if (d.is_over()) finish(d);
  return index.has_value();
}

/// With the setting `helper`, a level that goes is drained in the background, too.
template <class Table>
void drainer<Table>::start_helper() {
  if (!t_.how_.helper || t_.levels_.now().draining == nullptr) return;
  // this object is gone by then
  t_.background_.submit([&t = t_](const background& self) {
    for (drain* d = t.levels_.now().draining;
         d != nullptr && !self.stopping() && drainer(t).next(*d);)
      d = t.levels_.now().draining;
  });
}

template <class Table>
status drainer<Table>::all() {
  // ends: each round drains a bucket, or waits for others that do
  while (drain* d = t_.levels_.now().draining) {
    if (next(*d)) continue;
    {
      std::scoped_lock lock(d->lock);
      if (d->put_back_count != 0) return t_.p_.sound() ? status::no_space : status::io_error;
    }
    if (d->is_over() && !t_.p_.sound()) return status::io_error;
    if (t_.levels_.now().draining != d) continue;
    if (turns* t = turns::current()) t->pass();
    else sched_yield();
  }
  return status::ok;
}

/// Returns false when some record finds no place.
template <class Table>
bool drainer<Table>::drain_bucket(drain& d, std::uint64_t index) {
  Table& t = t_;
  while (true) {  // ends: each further round has a record less in the bucket, or other levels
    const levels_view* v = &t.levels_.now();
    stripe_index stripe = v->stripe_of(place_with(index, d.log2));
    bool empty;
    {
      std::scoped_lock lock(t.stripes_.lock_of(stripe));
      if (t.levels_.now().stripe_bits != v->stripe_bits) continue;
      v = &t.levels_.now();
      if (v->draining != &d) return true;  // called off
      if (!t.p_.may_change()) return false;
      t.stripes_.settle_inherited(*v, stripe);
      empty = bucket_movement<Table>::move_all(t, *v, v->drained(d), index, stripe);
    }
    if (empty || Table::medium_type::planted("level-rehash-never-fails")) return true;
    if (!move_out(d, index)) return false;
  }
}

/// One record of a bucket, to any of its places, under the locks of both. Returns false when there
/// is none with room, nor can be.
template <class Table>
bool drainer<Table>::move_out(const drain& d, std::uint64_t index) {
  while (true) {  // ends: each further round has one level more, or another record
    const levels_view* v = &t_.levels_.now();
    if (v->draining != &d) return true;
    std::optional<resident> chosen;
    t_.buckets_.for_each_resident(t_.buckets_.at(v->at[v->index_of(d.log2)], index),
                                  [&](const resident& r) { chosen = r; });
    if (!chosen) return true;
    const candidates s = t_.second_maps_.candidates_of(chosen->hash, chosen->key_word);
    const typename Table::unit_type l = t_.lock_unit(s);
    auto held = t_.held_by(l);
    if (!t_.p_.may_change()) return false;
    v = &t_.levels_.now();
    if (v->draining != &d) return true;
    if (!read_again(*chosen)) continue;
    for (stripe_index stripe : l.stripe) t_.stripes_.settle_inherited(*v, stripe);
    const unsigned here = v->at[v->index_of(d.log2)].number(s.place[0]) == index ? 0 : 1;
    const bool moved = move_anywhere(*v, l, *chosen, s, here);
    held.release();
    if (moved) {
      t_.rehashed_.fetch_add(1, std::memory_order_relaxed);
      return true;
    }
    if (growth(t_).make_room(v, patience::has_none) != status::ok) return false;
  }
}

/// Under its lock. Returns whether it is still there.
template <class Table>
bool drainer<Table>::read_again(resident& r) const {
  const slot& at = t_.buckets_.slot_of(r.where, r.slot);
  if ((t_.buckets_.state_of(r.where).tokens() >> r.slot & 1) == 0 || load(m_, at.key) != r.key_word)
    return false;
  r.value_word = load(m_, at.value);
  return true;
}

/// `here`: which of its places it is in.
template <class Table>
bool drainer<Table>::move_anywhere(const levels_view& v, const typename Table::unit_type& l,
                                   const resident& r, const candidates& s, unsigned here) {
  movement movements(t_, v);
  auto move_somewhere = [&] {
    for (unsigned level = v.first_open; level < v.end_open; ++level)
      if (movements.move(r, s, level, here, l.stripe[here]) ||
          movements.move(r, s, level, 1 - here, l.stripe[here]))
        return true;
    return false;
  };
  return move_somewhere() || (movements.make_way(l, s) && move_somewhere());
}

/// After the last bucket.
template <class Table>
void drainer<Table>::finish(const drain& d) {
  std::scoped_lock lock(t_.levels_.changing());
  const levels_view& v = t_.levels_.now();
  if (v.draining != &d) return;
  durahash::check(d.is_over() && v.index_of(d.log2) < v.count, "a level goes when it is drained");
  level_view gone = v.at[v.index_of(d.log2)];
  std::vector<level_view> now = t_.levels_.present();
  std::erase_if(now, [&](const level_view& l) { return l.log2 == d.log2; });
  levels_view& others = growth(t_).plan(std::move(now), false, v.bottom_first);
  if (!t_.p_.may_change()) return;
  // COMMIT: it goes
  [[maybe_unused]] durable done =
      publish(m_, root_of(t_.p_).levels[d.log2], 0, after_nothing("its buckets are empty, durably"),
              "level.drain.drop-level");
  t_.levels_.switch_to(others);
  t_.stripes_.await_writers(t_.levels_.now());
  growth(t_).give_back(gone);
}

}  // namespace durahash::level
