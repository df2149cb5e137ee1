// CCEH: splits in both of the paper's schemes (§3.2, §5), merges, doubling and halving of the
// directory.
//
// A split of a segment S of depth L, under its stripe's lock and that of the new right half;
// readers go on:
//   1  right half stored in a new segment R, and for copy-on-write the left half in a new segment;
//      what is empty stored behind that; all flushed, fenced
//        crash: unreachable, hence free
//   2  COMMIT: the rightmost entry of S becomes (R, L+1), durably
//      crash before: old state; after: recovery goes on with 3
//   3  the other entries, from right to left, durable line by line: the right half (R, L+1), the
//      left half (S or its copy, L+1)
//   4  copy-on-write: S is free. In place: its records of the right half are stale (C2)
//
// A merge of two buddies A, B of depth L into a new segment N, under both locks:
//   1  N written, flushed, fenced
//      crash: unreachable, hence free
//   2  the entries become (N, L-1), from left to right
//      crash: recovery takes it back as far as B still stands (docs/explanation/engines/cceh.md)
//   3  COMMIT: the rightmost entry is (N, L-1)
//      crash after: new state
//   4  A and B are free
//
// A rewrite of a segment into a new one N of the same depth, under its lock: N written, flushed,
// fenced; the entries become N from right to left. COMMIT: the rightmost entry; recovery makes the
// others follow it. What was removed is not in N, so that searches end where they should. It is for
// tables in which records come and go: a window that is full there need not mean a split.
#pragma once

#include "engine/cceh/table.hpp"

namespace durahash::cceh {

// ---------------------------------------------------------------------------------------- segments

// ------------------------------------------------------------------------------------------- split

/// Whether a split of that segment leaves a directory in proportion to the segments. Of keys that
/// were chosen so that it would not, the put is refused before anything is written.
template <medium M, class Kind>
bool table<M, Kind>::may_split(const segment& s) {
  if (s.depth() < segments_.directory().exponent()) return true;
  std::scoped_lock lock(directory_);
  unsigned depth = s.depth() + 1;
  return depth <= segments_.directory().exponent() || directory_.would_be_in_proportion(depth);
}

/// For a write that found its window full, unless others have made room.
template <medium M, class Kind>
status table<M, Kind>::make_room(const segment& full, const target& t, int) {
  segment s = segments_.lock(t.hash);
  held_lock held = held_by(s);
  if (s.entry != full.entry) return status::ok;
  if (!p_.may_change()) return status::io_error;
  if (rewrite_with_room(s, t.hash)) return status::ok;
  return may_split(s) ? split(s) : status::no_space;
}

/// `s` is locked.
template <medium M, class Kind>
status table<M, Kind>::split(const segment& s) {
  unsigned depth = s.depth() + 1;
  if (depth > max_depth) return status::no_space;
  halves made{copy_on_write_ ? segments_.make() : std::nullopt, segments_.make()};
  if (!made.right || (copy_on_write_ && !made.left)) return status::no_space;
  std::uint64_t right_prefix = right_half_of(s.prefix, depth);
  lay_out_halves(s, right_prefix, made);
  stripe_index right_stripe = stripes::of(right_prefix);
  if (right_stripe == s.stripe) return split_in(s, made, right_stripe);
  std::unique_lock lock(segments_.stripes()[right_stripe].lock, std::defer_lock);
  // of no segment so far: who holds it finds that out and lets it go
  if (!M::planted("cceh-a-sibling-is-open-too-early")) lock.lock();
  return split_in(s, made, right_stripe);
}

/// The left half of a split in place is left as it is.
template <medium M, class Kind>
void table<M, Kind>::lay_out_halves(const segment& s, std::uint64_t right_prefix,
                                    halves& made) const {
  segment_writer<M>*const left = made.left ? &*made.left : nullptr, *const right = &*made.right;
  bool left_fits = true, right_fits = true;
  std::size_t moving_records = 0;
  reader_.for_each(
      s, [&, probe = segments_.shape().probe ](const resident& r) __attribute__((always_inline)) {
        const std::uint64_t home = segments_.shape().home_of(r.hash);
        if (r.hash >= right_prefix) {
          ++moving_records;
          right_fits &= right->put(home, probe, r);
        } else if (left != nullptr) {
          left_fits &= left->put(home, probe, r);
        }
      });
  made.moving = moving_records;
  if (left_fits && right_fits) return;
  std::vector<resident> staying = reader_.all_of(s), moving;
  auto first_moving = std::stable_partition(
      staying.begin(), staying.end(), [&](const resident& r) { return r.hash < right_prefix; });
  moving.assign(first_moving, staying.end());
  staying.erase(first_moving, staying.end());
  if (!left_fits) left->lay_out_as_they_lie(staying);
  if (!right_fits) right->lay_out_as_they_lie(moving);
}

/// With both stripes locked, so that nobody writes to a half before all of the split is durable
/// (hole CCEH 2).
template <medium M, class Kind>
status table<M, Kind>::split_in(const segment& s, halves& made, stripe_index right_stripe) {
  flushed started = made.right->finish();
  if (made.left) started += made.left->finish();
  durable written = fence(m_, std::move(started), "cceh.split.halves");
  std::scoped_lock lock(directory_);
  unsigned depth = s.depth() + 1;
  // Asked under the lock: of two splits that find no room in the directory one doubles it (hole
  // CCEH 7).
  if (segments_.directory().exponent() < depth && !directory_.make_deeper())
    return status::no_space;
  durahash::check(depth <= segments_.directory().exponent(),
                  "no segment is deeper than the directory (C1)");
  segments_.marks().take_over(right_stripe, written);
  entry_range all = directory_.range_of(s.prefix, s.depth());
  checked_place right_entry = checked_place::of(made.right->keep(), depth),
                left_entry = checked_place::of(made.left ? made.left->keep() : s.offset(), depth);
  direction way =
      M::planted("cceh-the-left-half-first") ? direction::rightward : direction::leftward;
  directory_.publish_entries(
      all, way, [&](std::uint64_t i) { return i < all.middle() ? left_entry : right_entry; },
      after(std::move(written)));
  if (!M::planted("cceh-a-split-leaves-the-version")) segments_.stripes()[s.stripe].outdate();
  segments_.stripes()[right_stripe].outdate();
  directory_.note_split(depth);
  ++splits_;
  if (right_stripe != s.stripe) {
    segments_.stripes().move_count(s.stripe, right_stripe, static_cast<std::int32_t>(made.moving));
    frame::counted_with(right_stripe, s.stripe);  // or left to the count, which goes rightward
  }
  for (stripe_index stripe : {s.stripe, right_stripe})
    segments_.stripes()[stripe].removals = segments_.stripes()[stripe].due = 0;
  if (copy_on_write_) segments_.give_back(s.offset(), segments_.shape().bytes());
  return status::ok;
}

// ----------------------------------------------------------------------------------------- rewrite

/// Told from the words alone, but for those that a split in place has left. One bucket of `each` is
/// counted, for all of them.
template <medium M, class Kind>
auto table<M, Kind>::occupancy_of(const segment& s, std::uint64_t each) const -> occupancy {
  std::uint64_t room = 0, spoiled = 0;
  const bucket* first = segments_.buckets_of(s);
  for (std::uint64_t b = 0; b < segments_.shape().buckets(); b += each) {
    bucket_keys keys = keys_of(m_, first[b]);
    std::uint32_t empty = match(keys, empty_word), open = match(keys, removed_word);
    if (!copy_on_write_) open |= reader_.stale_slots(s, first[b]) & ~empty;
    room += static_cast<unsigned>(std::popcount(empty | open));
    if (empty == 0) spoiled += open != 0;
  }
  return {segments_.shape().slots() - room * each, spoiled * each};
}

/// A window of `s`, which is locked, is full. Where others have room, because records come and go
/// and the table does not grow, the segment is rewritten so that a record of that hash finds a
/// slot. Returns whether it was.
template <medium M, class Kind>
bool table<M, Kind>::rewrite_with_room(const segment& s, std::uint64_t hash) {
  if (!churned(s.stripe)) return false;
  settle(s);
  std::vector<resident> all = reader_.all_of(s);
  if (all.size() > segments_.shape().slots() * 13 / 16) return false;
  all.push_back({{hash, removed_word, 0}, nullptr, 0});  // its slot
  in_order_of_homes(all);
  auto made = segments_.make();
  if (!made || !made->lay_out(all)) return false;
  put_in_place(s, *made);
  return true;
}

/// Laid out in this order, each is as near to its home as it can be. The first is one of a home
/// that no record of a home before it comes to lie in.
template <medium M, class Kind>
void table<M, Kind>::in_order_of_homes(std::vector<resident>& records) const {
  std::uint64_t mask = segments_.shape().mask(), start = 0, carried = 0;
  std::vector<std::uint32_t> at_home(segments_.shape().buckets());
  for (const resident& r : records) ++at_home[segments_.shape().home_of(r.hash)];
  for (std::uint64_t round = 0; round < 2 * segments_.shape().buckets(); ++round) {
    carried += at_home[round & mask];
    carried -= std::min<std::uint64_t>(carried, slots_per_bucket);
    if (carried == 0) start = round + 1;
  }
  std::sort(records.begin(), records.end(), [&](const resident& a, const resident& b) {
    return ((segments_.shape().home_of(a.hash) - start) & mask) <
           ((segments_.shape().home_of(b.hash) - start) & mask);
  });
}

/// Without what was removed or is stale. `s` is locked. Returns whether there was space.
template <medium M, class Kind>
bool table<M, Kind>::rewrite(const segment& s) {
  settle(s);
  auto made = segments_.make();
  if (!made) return false;
  bool fits = true;
  reader_.for_each(s, [&](const resident& r) {
    fits = fits && made->put(segments_.shape().home_of(r.hash), segments_.shape().probe, r);
  });
  if (!fits) made->lay_out_as_they_lie(reader_.all_of(s));
  put_in_place(s, *made);
  return true;
}

template <medium M, class Kind>
void table<M, Kind>::put_in_place(const segment& s, segment_writer<M>& made) {
  durable written = fence(m_, made.finish(), "cceh.rewrite.segment");
  std::scoped_lock lock(directory_);
  checked_place entry = checked_place::of(made.keep(), s.depth());
  // COMMIT: with the rightmost entry
  directory_.publish_entries(
      directory_.range_of(s.prefix, s.depth()), direction::leftward,
      [&](std::uint64_t) { return entry; }, after(std::move(written)));
  segments_.stripes()[s.stripe].outdate();
  ++rewrites_;
  segments_.give_back(s.offset(), segments_.shape().bytes());
}

// ------------------------------------------------------------------------------------------- merge

/// After some removals: of each segment of the stripe, do it and its buddy hold little enough to be
/// one? Do searches pass many buckets that have room? Says when to look again, so that it costs a
/// removal a few lines.
template <medium M, class Kind>
void table<M, Kind>::survey(stripe_index stripe) {
  stripe_state& state = segments_.stripes()[stripe];
  // where segments are deeper than stripes, removals are those of several
  std::uint64_t segments = 0;
  if (stripe != stripes::of_escapes)
    segments_.for_each_of(stripe, [&](const segment&) { ++segments; });
  bool churned_before;
  {
    std::scoped_lock lock(state.lock);
    if (state.due == 0 || stripe == stripes::of_escapes) {
      state.due = stripe == stripes::of_escapes
                      ? 0xffff  // has no segments
                      : static_cast<std::uint16_t>(segments_.shape().slots() / 4);
      return;
    }
    // the first look only looks: who removes half of all records is not held up
    churned_before = state.removals > segments * segments_.shape().slots() / 4;
    state.due = 0xffff;  // nobody else looks meanwhile
  }
  std::uint64_t until = segments_.shape().slots() / 4;
  for (std::uint64_t at = stripes::first_hash_of(stripe), begin = at;;) {
    std::uint64_t next = 0;
    if_memory_allows([&] { next = survey_segment(at, churned_before, until); });
    if (next <= begin || stripes::of(next) != stripe) break;
    at = next;
  }
  std::scoped_lock lock(state.lock);
  state.removals = std::min<std::uint16_t>(state.removals, 1 << 15);
  until = std::min<std::uint64_t>(segments * std::max<std::uint64_t>(until, soon()), 0x7ffe);
  state.due = static_cast<std::uint16_t>(state.removals + until);
}

/// Returns where the next one begins. `until`: so many removals until the next look, or fewer.
template <medium M, class Kind>
std::uint64_t table<M, Kind>::survey_segment(std::uint64_t at, bool churned_before,
                                             std::uint64_t& until) {
  // so that a merged segment is far from its next split
  const std::uint64_t few = segments_.shape().slots() / 4;
  constexpr std::uint64_t many_buckets = 128;  // half of them tell enough
  const std::uint64_t each = segments_.shape().buckets() >= many_buckets ? 2 : 1;
  segment s;
  occupancy own;
  std::uint64_t both = 0;
  bool buddies = false;
  {
    [[maybe_unused]] read_guard guard = reading();
    s = segments_.under_guard(at);
    own = occupancy_of(s, each);
    if (s.depth() != 0 && own.records <= few) {  // else it is too full already
      const segment buddy = segments_.under_guard(s.prefix ^ std::uint64_t{1} << (64 - s.depth()));
      buddies = buddy.depth() == s.depth();
      if (buddies) both = own.records + occupancy_of(buddy, each).records;
      if (buddies && both <= few && each != 1)  // so that no merge is tried that cannot be
        both = occupancy_of(s, 1).records + occupancy_of(buddy, 1).records;
    }
  }
  if (buddies && both <= few && merge(at, few)) return until = 0, s.end();
  if (buddies && both > few) until = std::min(until, (both - few) / 2);  // if it loses as many
  if (own.records > few) until = std::min(until, own.records - few);
  // the fuller, the longer are the ways past them
  const std::uint64_t many =
      std::max<std::uint64_t>((segments_.shape().slots() - own.records) / 20, 1);
  if (own.spoiled >= many) {
    if (churned_before) rewrite_if_it_stands(s);
    until = std::min(until, own.records / 8);
  } else if (own.spoiled >= many / 3) {
    until = std::min(until, own.records / 16);
  }
  return s.end();
}

/// Unless others have replaced it meanwhile.
template <medium M, class Kind>
bool table<M, Kind>::rewrite_if_it_stands(const segment& seen) {
  segment s = segments_.lock(seen.prefix);
  held_lock held = held_by(s);
  return s.entry == seen.entry && p_.may_change() && rewrite(s);
}

/// The segment of `hash` and its buddy become one, if they are of one depth, hold at most so many
/// records, and those fit. Returns whether they did.
template <medium M, class Kind>
bool table<M, Kind>::merge(std::uint64_t hash, std::uint64_t max_records) {
  unsigned depth = segments_.of(hash).depth();
  if (depth == 0) return false;
  std::uint64_t bit = std::uint64_t{1} << (64 - depth);
  std::uint64_t left_prefix = prefix_of(hash, depth - 1);
  segment left = segments_.lock(left_prefix);
  held_locks<2> held(segments_.lock_of(left));
  bool merged = false;
  if (left.depth() == depth) {
    bool one_stripe = stripes::of(left_prefix | bit) == left.stripe;
    // locks are taken from left to right
    segment right =
        one_stripe ? segments_.of(left_prefix | bit) : segments_.lock(left_prefix | bit);
    if (!one_stripe) held.adopt(segments_.lock_of(right));
    if (right.depth() == depth) merged = merge(left, right, max_records);
  }
  return merged;
}

/// Copies: nothing stale can come back (hole CCEH 9).
template <medium M, class Kind>
bool table<M, Kind>::merge(const segment& left, const segment& right, std::uint64_t max_records) {
  segment of_left = left;
  if (M::planted("cceh-a-merge-revives-what-is-stale"))
    of_left.entry = checked_place::of(left.offset(), left.depth() - 1);
  std::vector<resident> all = reader_.all_of(of_left), more = reader_.all_of(right);
  all.insert(all.end(), more.begin(), more.end());
  if (all.size() > max_records || !p_.may_change()) return false;
  auto made = segments_.make();
  if (!made || !made->lay_out(all)) return false;
  // records of one go to the other
  if (left.stripe != right.stripe && !M::planted("cceh-a-merge-outruns-the-count"))
    for (stripe_index stripe : {left.stripe, right.stripe})
      count_once(stripe, [&] { count_stripe(stripe); });
  durable written = fence(m_, made->finish(), "cceh.merge.segment");

  std::scoped_lock lock(directory_);
  unsigned depth = left.depth();
  checked_place entry = checked_place::of(made->keep(), depth - 1);
  directory_.publish_entries(
      directory_.range_of(left.prefix, depth - 1), direction::rightward,
      [&](std::uint64_t) { return entry; }, after(std::move(written)));
  segments_.stripes()[left.stripe].outdate();
  segments_.stripes()[right.stripe].outdate();
  ++merges_;
  for (stripe_index stripe : {left.stripe, right.stripe}) {
    segments_.stripes()[stripe].removals = 0;
    segments_.stripes()[stripe].due = soon();  // it may be merged again
  }
  if (left.stripe != right.stripe) {
    const auto moved = segments_.stripes()[right.stripe].records.load(std::memory_order_relaxed);
    segments_.stripes().move_count(right.stripe, left.stripe, moved);
  }
  segments_.give_back(left.offset(), segments_.shape().bytes());
  segments_.give_back(right.offset(), segments_.shape().bytes());
  directory_.note_merge(depth);
  if_memory_allows([&] { directory_.halve(); });
  return true;
}

}  // namespace durahash::cceh
