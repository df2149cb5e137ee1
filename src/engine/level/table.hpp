// Level hashing (OSDI'18): the table, its parts and their invariants.
// docs/explanation/engines/level.md tells the whole.
//
// Levels of buckets, each twice the size of the one below; two of them, and more while the table
// grows or shrinks. A key has two places.
//
//   L1  A record lies in one of its buckets, once; or a movement is under way, and an intent
//       names the bucket that it leaves.
//   L2  What a slot with a token holds was durable, or is a part of the state's line before it,
//       when the token was stored.
//   L3  The filter in a bucket says of every record one level below whose place is this bucket's
//       that it may be there.
//   L4  Bytes of a bucket change only under its stripe's lock; readers take none.
//   L5  Every store of a state changes its version.
//   L6  No record enters a level that is being drained; the level's word goes after its last
//       record, durably.
//   L7  What a reader is given is durable: a stripe with a publication under way is unsettled, and
//       its readers flush what they have read.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/concept.hpp"
#include "engine/frame/frame.hpp"
#include "engine/level/buckets.hpp"
#include "engine/level/filters.hpp"
#include "engine/level/intents.hpp"
#include "engine/level/levels.hpp"
#include "engine/level/operation.hpp"
#include "engine/level/places.hpp"
#include "engine/level/prepared_level.hpp"
#include "engine/level/stretch.hpp"
#include "engine/level/stripes.hpp"

namespace durahash::level {

/// Stripes are the buckets whose numbers begin with the same bits.
template <medium M, class Kind>
class table : public engine_frame<M, Kind, table<M, Kind>> {
  using frame = engine_frame<M, Kind, table<M, Kind>>;
  friend frame;
  friend lifecycle<M, Kind, table<M, Kind>>;

 public:
  using kind = Kind;
  using key_type = typename Kind::key_type;
  using value_type = typename Kind::value_type;

  /// Resolves the options of a new pool. Settings: slots, in_place, bottom_to_top, dynamic, helper
  /// (docs/explanation/engines/level.md).
  static result<engine_plan> plan(const options& how);

  /// On a pool that `plan` was made for. Reads the levels' words; `open` says what is wrong with
  /// them.
  explicit table(pool<M>& p);
  ~table() { background_.stop(); }
  /// With `dropped`, what does not verify is dropped and told there; without, it refuses the open
  /// or is left to check().
  error open(const std::string& path, std::vector<std::string>* dropped = nullptr);

  // find.hpp
  template <class Read>
  status get(key_type key, Read read);

  // recover.hpp
  std::uint64_t size() {
    await_count();
    return levels_.records(records_at_open_ - doubled_);
  }
  std::uint64_t slots();
  void lock_all();  // keeps writers out
  void unlock_all();

  // check.hpp
  void describe(table_stats& stats);

  // describe.hpp
  /// The buckets that a search looks at.
  void each_candidate(key_type key, part_visitor& v) { describer(*this, v).each_candidate(key); }

 private:
  // made for a call
  class balance;
  class checker;
  class describer;
  class drainer;
  class growth;
  class movement;
  class recovery;
  class salvager;
  class shrinking;
  class staging;
  class stretch_reader;
  template <class Read>
  class answering;

  using frame::background_, frame::reading, frame::await_count, frame::count_once;
  using frame::p_, frame::m_, frame::heap_, frame::seeds_, frame::records_at_open_;
  using read_guard = typename frame::read_guard;

  using levels_view = level::levels_view<M>;
  using target_type = level::target<M>;
  using unit_type = level::locked<M>;
  using look_type = level::home_look<M>;
  using home_type = level::locked_home<M>;
  using change = level::change<M, Kind>;
  using group = level::group<M, Kind>;
  using stretch = level::stretch;

  // find.hpp
  target_type look_up(key_type key, std::uint64_t hash, const levels_view& v,
                      const level_view& in) const noexcept;
  template <class Read>
  status answer(const look_type& l, key_type key, Read read);
  void look_at(std::span<const key_type> keys, look_type* looks) const noexcept;
  status search_long(key_type key, any_reader<value_type> read);

  // iteration.hpp
  std::optional<std::uint64_t> read_stretch(std::uint64_t position, stretch& found) {
    return stretch_reader(*this, found).read(position);
  }

  // write.hpp
  target_type target_of(key_type key) const noexcept;
  unit_type lock_unit(const candidates& s, key_type = {});
  home_type lock_home(const target_type& t) const noexcept;
  bool is_settled(const unit_type& l, const target_type& t) const noexcept;
  held_pair held_by(const unit_type& l) const noexcept;
  static held_pair held_by(const home_type& l) noexcept { return held_pair(*l.low, *l.high); }
  template <class Decide>
  staged stage_home(const unit_type& l, const target_type& t, key_type key, Decide& decide,
                    change& c, status& answer, flushed& started);
  staged stage_new(const unit_type& l, const target_type& t, bucket_state first,
                   bucket_state second, key_type key, value_type value, change& c, status& answer,
                   flushed& started);
  void settle(const unit_type& l);
  bool make_way(const unit_type& l, const candidates& s);
  status make_room(const unit_type& full, const candidates& s, int round);
  status finish_write(const candidates& s, const change& c, status answer);
  status look_behind(bool at_the_table, status answer);
  template <class Decide>
  staged stage(unit_type& l, const candidates& s, key_type key, Decide& decide, change& c,
               status& answer, flushed& started);
  ordered payload_order(const change& c) const;
  [[gnu::always_inline]] flushed flush_payload(const change& c) const {
    return buckets_.flush_item(c.lines);
  }
  durable fence_payloads(flushed started) {
    return fence(m_, std::move(started), "level.write.payload");
  }
  [[gnu::always_inline]] void begin(const change& c) noexcept { stripes_.begin(c.stripe); }
  flushed publish_change(const change& c, ordered payload);
  durable fence_words(flushed started) { return fence(m_, std::move(started), "level.write.done"); }
  void end(change& c, const durable& done);
  void finish(change& c);
  void look_ahead(std::span<const key_type> keys, target_type* targets, bool puts);
  std::size_t lock_group(std::span<const key_type> keys, const target_type* targets, group& g);
  bool ends_before(const group& g, const target_type& t) const;
  static unit_type& unit_in(group& g, std::size_t n, const candidates&) noexcept {
    return g.keys[n];
  }
  void finish_group(group& g, std::size_t taken);

  // grow.hpp, shrink.hpp
  void before_clean_close() { prepared_.drop(); }
  status make_room_for(std::uint64_t records);
  status shrink_to_fit();
  status move_arrays_down();
  template <class Visit>
  void for_each_locked(Visit&& visit);
  status replace_value(const located& r, std::uint64_t value_word, flushed started);

  // recover.hpp
  bool count_units(const background* asking);
  void count_stripe(const levels_view& v, stripe_index stripe);

  // check.hpp
  std::uint64_t check_units(violations& violated, std::uint64_t& reached_bytes) {
    return checker(*this, violated, reached_bytes).check();
  }

  // describe.hpp
  void each_part_of_table(part_visitor& v) { describer(*this, v).each_part(); }

  buckets<M, Kind> buckets_;
  const choices how_;
  second_maps second_maps_;
  filters<M, Kind> filters_;
  level::stripes<M> stripes_;
  level::levels<M> levels_;
  level::intents<M> intents_;
  prepared_level<M> prepared_;
  // records that a crash left twice in a pool that is only read
  std::uint64_t doubled_ = 0;
  std::atomic<std::uint64_t> movements_{0}, rehashed_{0};
};

}  // namespace durahash::level

#include "engine/level/check.hpp"
#include "engine/level/describe.hpp"
#include "engine/level/find.hpp"
#include "engine/level/grow.hpp"
#include "engine/level/iteration.hpp"
#include "engine/level/recover.hpp"
#include "engine/level/shrink.hpp"
#include "engine/level/write.hpp"
