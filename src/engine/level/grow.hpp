// Level hashing: expansion in place (paper §3.2), a bucket at a time.
//
//   1  a level of twice the top's size is written, flushed, fenced
//      crash: unreachable, hence free
//   2  COMMIT: its word in the root
//      crash after: the drain begins anew
//   3  the smallest level is drained, each bucket as one movement (drain.hpp): records go to the
//      buckets above it, under the same lock
//   4  COMMIT: the smallest level's word removed; it is freed when writers and readers have left it
//
// A record that finds no place while a level is drained: shrinking is called off by taking the mark
// away (shrink.hpp); else one more level is put on top.
#pragma once

#include "engine/frame/arrays.hpp"
#include "engine/level/table.hpp"

namespace durahash::level {

// of a level that is written without help
inline constexpr std::uint64_t at_once_bytes = 1 << 20;

struct new_level {
  unsigned log2;
  bucket_state every;  // of each of its buckets
};

enum class patience : std::uint8_t { waits, has_none };

template <medium M, class Kind>
class table<M, Kind>::growth {
 public:
  explicit growth(table& t) noexcept : t_(t), m_(t.m_) {}

  /// For a record that found no place in these levels. Nothing is locked. Writers wait for a drain
  /// that does not get on, as when the thread that has its last bucket sleeps; else they would fill
  /// all the levels there can be. Who drains a bucket has no patience: others may wait for that
  /// bucket.
  status make_room(const levels_view* full, patience p) {
    if (p == patience::waits) {
      t_.prepared_.await();
      if (full->count >= max_levels_of_writers && full == &t_.levels_.now())
        return drainer(t_).all();
    }
    std::scoped_lock lock(t_.levels_.changing());
    if (&t_.levels_.now() != full) return status::ok;
    const unsigned top = full->at[0].log2;
    if (full->draining != nullptr && full->draining->log2 == top) return shrinking(t_).call_off();
    if (full->count == max_levels || top + 1 == level_sizes || is_vain(*full))
      return status::no_space;
    return expand_to(top + 1);
  }

  /// Large levels are written in the background, before they are needed.
  void prepare_ahead() {
    const unsigned log2 = t_.levels_.now().at[0].log2 + 1;
    if (!worth_a_thread(bytes_of(log2), at_once_bytes + 1) || log2 == level_sizes ||
        !t_.prepared_.ask())
      return;
    // this object is gone by then
    auto job = [&t = t_, log2](const background& self) { growth(t).prepare(log2, self); };
    if (!t_.background_.submit(job)) t_.prepared_.take_up();
  }

  // under the levels' lock
  /// The top is to have this size; a level in between comes with it.
  status expand_to(unsigned log2) {
    const bool one = log2 == t_.levels_.now().at[0].log2 + 1;
    const new_level made[] = {{log2 - 1, new_bucket}, {log2, one ? new_bucket : bucket_state{}}};
    const status added = add(std::span(made).subspan(one ? 1 : 0));
    if (added == status::ok) t_.levels_.expansions.fetch_add(1, std::memory_order_relaxed);
    return added;
  }

  /// New levels join, which nobody sees before all of them are there.
  status add(std::span<const new_level> made, bool drain_largest = false) {
    std::vector<level_view> now = t_.levels_.present();
    std::vector<loose_cell<M>> places;
    for (const new_level& l : made) {
      places.reserve(places.size() + 1);
      auto whole = t_.prepared_.take(l.log2);
      auto place = whole ? std::move(whole) : allocate_loose(t_.heap_, bytes_of(l.log2));
      if (!place) return status::no_space;
      now.push_back(t_.buckets_.view_of(place->offset(), l.log2));
      if (!whole) fill(now.back(), l.every);
      places.push_back(std::move(*place));
    }
    levels_view& planned = plan(std::move(now), drain_largest, t_.how_.dynamic && !drain_largest);
    if (!t_.p_.may_change()) return status::io_error;
    for (std::size_t n = 0; n < made.size(); ++n) {
      [[maybe_unused]] durable done =
          publish(m_, root_of(t_.p_).levels[made[n].log2],
                  checked_place::of(places[n].keep(), made[n].log2).word,
                  // COMMIT: it belongs to the table
                  after_nothing("the level is durable"), "level.grow.commit");
    }
    t_.levels_.switch_to(planned);
    return status::ok;
  }

  /// What the levels are to become; nobody sees it yet.
  levels_view& plan(std::vector<level_view> wanted, bool drain_largest, bool bottom_first) {
    levels_view& planned = t_.levels_.plan(std::move(wanted), drain_largest, bottom_first);
    if (t_.levels_.renumbers(planned)) t_.await_count();  // it is by stripe
    return planned;
  }

  /// A level that readers may still see.
  void give_back(const level_view& gone) {
    give_back_array<Kind>(t_.p_, t_.heap_, gone.offset, bytes_of(gone.log2));
  }

 private:
  /// Writes a level that nothing refers to, durably. Returns false when the table is being closed.
  bool fill(const level_view& l, bucket_state every, const background* asking = nullptr) {
    flushed started;
    for (std::uint64_t n = 0; n < l.buckets(); ++n) {
      if (asking != nullptr && n % 4096 == 0 && asking->stopping()) return false;
      pm<std::uint64_t>& state = *t_.buckets_.at(l, n).state;
      store(m_, state, every.word);
      started += flush(m_, extent_of(state), "level.fill.states");
    }
    [[maybe_unused]] durable written = fence(m_, std::move(started), "level.fill.all");
    return true;
  }

  /// Whether another level would be as empty as these: keys that no growth sets apart are refused,
  /// before they take the disk.
  bool is_vain(const levels_view& v) {
    constexpr std::uint64_t max_slots_per_record = 64;
    return bytes_of(v.at[0].log2) > at_once_bytes && t_.counted() &&
           t_.size() * max_slots_per_record < t_.slots();
  }

  /// Those who need the level wait for it from when it has its place. The thread is that of all
  /// pools: it does not wait for who holds the lock for long, as a check does. A later write asks
  /// again.
  void prepare(unsigned log2, const background& asking) {
    level_view made;
    {
      std::unique_lock lock(t_.levels_.changing(), std::try_to_lock);
      t_.prepared_.take_up();
      if (!lock) return;
      const bool wanted = !t_.prepared_.is_there() && log2 == t_.levels_.now().at[0].log2 + 1;
      if (!wanted || !t_.p_.changing())
        return;  // a pool that was synced meanwhile is left in peace
      auto place = allocate_loose(t_.heap_, bytes_of(log2));
      if (!place) return;
      made = t_.buckets_.view_of(place->offset(), log2);
      t_.prepared_.begin(std::move(*place), log2);
    }
    std::unique_lock lock(t_.levels_.changing(), std::defer_lock);
    const bool done = fill(made, new_bucket, &asking);
    if (!done) lock.lock();  // the pool is being closed: nobody takes the level for a whole one
    t_.prepared_.end();
    if (!done) t_.prepared_.drop();
  }

  std::uint64_t bytes_of(unsigned log2) const noexcept {
    return t_.buckets_.shape.level_bytes(log2);
  }

  table& t_;
  M& m_;
};

template <medium M, class Kind>
status table<M, Kind>::make_room(const unit_type& full, const candidates&, int) {
  status made = growth(*this).make_room(full.levels, patience::waits);
  if (made == status::ok) drainer(*this).start_helper();
  return made;
}

template <medium M, class Kind>
status table<M, Kind>::make_room_for(std::uint64_t records) {
  const unsigned log2 = top_for(records, buckets_.shape.slots);
  if (log2 + 1 >= level_sizes) return status::no_space;
  if (log2 <= levels_.now().at[0].log2) return status::ok;
  if (status drained = drainer(*this).all(); drained != status::ok) return drained;
  prepared_.await();
  {
    std::scoped_lock lock(levels_.changing());
    const levels_view& v = levels_.now();
    if (log2 <= v.at[0].log2 || v.count != 2) return status::ok;  // others were faster
    if (status s = p_.reserve(buckets_.shape.level_bytes(log2) * 3 / 2); s != status::ok) return s;
    prepared_.drop_other_than(log2);
    if (status s = growth(*this).expand_to(log2); s != status::ok) return s;
  }
  return drainer(*this).all();
}

}  // namespace durahash::level
