// CCEH: splits in both of the paper's schemes (§3.2, §5).
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
#pragma once

#include <algorithm>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/cceh/rewrite.hpp"
#include "engine/cceh/table.hpp"

namespace durahash::cceh {

/// Splits segments of a table.
template <medium M, class Kind>
class table<M, Kind>::growth {
 public:
  explicit growth(table& t) noexcept : t_(t), m_(t.m_), segments_(t.segments_) {}

  /// For a write that found its window full, unless others have made room.
  status make_room(const segment& full, std::uint64_t hash) {
    const segment s = segments_.lock(hash);
    const held_lock held(segments_.lock_of(s));
    if (s.entry != full.entry) return status::ok;
    if (!t_.p_.may_change()) return status::io_error;
    if (rewriter(t_).rewrite_with_room(s, hash)) return status::ok;
    return may_split(s) ? split(s) : status::no_space;
  }

  /// So that so many records fit without a split.
  status make_room_for(std::uint64_t records) {
    const segment_shape& shape = segments_.shape();
    unsigned depth = depth_for(records, shape.slots(), shape.probe);
    std::uint64_t needed = (shape.bytes() << depth) + directory_bytes(depth),
                  present = t_.slots() / slots_per_bucket * sizeof(bucket);
    if (needed > present)
      if (status s = t_.p_.reserve(needed - present); s != status::ok) return s;
    // ends: at each place as many rounds as its segment gets deeper
    for (std::uint64_t at = 0, next = 1; next != 0;) {
      const segment s = segments_.lock(at);
      const held_lock held(segments_.lock_of(s));
      bool shallow = s.depth() < depth;
      if (shallow && !t_.p_.may_change()) return status::io_error;
      t_.settle(s);
      if (status answer = shallow ? split(s) : status::ok; answer != status::ok) return answer;
      if (!shallow) at = next = s.end();
    }
    return status::ok;
  }

 private:
  struct halves {
    std::optional<segment_writer<M>> left, right;  // of a split in place the right alone
    std::size_t moving = 0;                        // records of the right one
  };

  /// Whether a split of that segment leaves a directory in proportion to the segments. Of keys that
  /// were chosen so that it would not, the put is refused before anything is written.
  bool may_split(const segment& s) {
    if (s.depth() < segments_.directory().exponent()) return true;
    std::scoped_lock lock(t_.directory_);
    unsigned depth = s.depth() + 1;
    return depth <= segments_.directory().exponent() || t_.directory_.would_be_in_proportion(depth);
  }

  /// `s` is locked.
  status split(const segment& s) {
    unsigned depth = s.depth() + 1;
    if (depth > max_depth) return status::no_space;
    halves made{t_.copy_on_write_ ? segments_.make() : std::nullopt, segments_.make()};
    if (!made.right || (t_.copy_on_write_ && !made.left)) return status::no_space;
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
  void lay_out_halves(const segment& s, std::uint64_t right_prefix, halves& made) const {
    auto* const left = made.left ? &*made.left : nullptr;
    auto* const right = &*made.right;
    bool left_fits = true, right_fits = true;
    std::size_t moving_records = 0;
    const segment_shape shape = segments_.shape();
    t_.reader_.for_each(
        s, [&](const resident& r) __attribute__((always_inline)) {
          const std::uint64_t home = shape.home_of(r.hash);
          if (r.hash >= right_prefix) {
            ++moving_records;
            right_fits &= right->put(home, shape.probe, r);
          } else if (left != nullptr) {
            left_fits &= left->put(home, shape.probe, r);
          }
        });
    made.moving = moving_records;
    if (left_fits && right_fits) return;
    std::vector<resident> staying = t_.reader_.all_of(s), moving;
    auto first_moving = std::stable_partition(
        staying.begin(), staying.end(), [&](const resident& r) { return r.hash < right_prefix; });
    moving.assign(first_moving, staying.end());
    staying.erase(first_moving, staying.end());
    if (!left_fits) left->lay_out_as_they_lie(staying);
    if (!right_fits) right->lay_out_as_they_lie(moving);
  }

  /// With both stripes locked, so that nobody writes to a half before all of the split is durable
  /// (hole CCEH 2).
  status split_in(const segment& s, halves& made, stripe_index right_stripe) {
    flushed started = made.right->finish();
    if (made.left) started += made.left->finish();
    durable written = fence(m_, std::move(started), "cceh.split.halves");
    auto& directory = t_.directory_;
    auto& stripes = segments_.stripes();
    std::scoped_lock lock(directory);
    unsigned depth = s.depth() + 1;
    // Asked under the lock: of two splits that find no room in the directory one doubles it (hole
    // CCEH 7).
    if (segments_.directory().exponent() < depth && !directory.make_deeper())
      return status::no_space;
    durahash::check(depth <= segments_.directory().exponent(),
                    "no segment is deeper than the directory (C1)");
    stripes.marks().take_over(right_stripe, written);
    entry_range all = directory.range_of(s.prefix, s.depth());
    checked_place right_entry = checked_place::of(made.right->keep(), depth),
                  left_entry = checked_place::of(made.left ? made.left->keep() : s.offset(), depth);
    direction way =
        M::planted("cceh-the-left-half-first") ? direction::rightward : direction::leftward;
    directory.publish_entries(
        all, way, [&](std::uint64_t i) { return i < all.middle() ? left_entry : right_entry; },
        after(std::move(written)));
    if (!M::planted("cceh-a-split-leaves-the-version")) stripes[s.stripe].outdate();
    stripes[right_stripe].outdate();
    directory.note_split(depth);
    ++t_.splits_;
    if (right_stripe != s.stripe) {
      stripes.move_count(s.stripe, right_stripe, static_cast<std::int32_t>(made.moving));
      t_.counted_with(right_stripe, s.stripe);  // or left to the count, which goes rightward
    }
    for (stripe_index stripe : {s.stripe, right_stripe})
      stripes[stripe].removals = stripes[stripe].due = 0;
    if (t_.copy_on_write_) segments_.give_back(s.offset(), segments_.shape().bytes());
    return status::ok;
  }

  table& t_;
  M& m_;
  segments_type& segments_;
};

}  // namespace durahash::cceh
