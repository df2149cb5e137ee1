// GPHash (FAST'25) on the host: the table, its parts and their invariants.
// docs/explanation/engines/gphash.md tells the whole.
//
// Levels of buckets, each of twice the buckets of the one below. A key has a few places, each of
// which names a bucket in every level.
//
//   G1  A record lies in one of its places' buckets, once.
//   G2  What a slot with a fingerprint holds was durable, or is a part of the state's line before
//       it, when the fingerprint was stored.
//   G3  A value word or a key is stored in a slot only if no crash can bring back the fingerprint
//       that stood there.
//   G4  The root's geometry word names levels whose places, and all of whose records, are durable.
//   G5  A write that adds or removes a key changes its stripe's version before its commit word is
//       stored.
//   G6  What a reader is given is durable: a stripe with a publication under way is unsettled, and
//       its readers flush what they have read.
#pragma once

#include "engine/concept.hpp"
#include "engine/gphash/claims.hpp"
#include "engine/gphash/coming_level.hpp"
#include "engine/gphash/level_cells.hpp"
#include "engine/gphash/operation.hpp"
#include "engine/gphash/sweep.hpp"

namespace durahash::gphash {

/// Stripes are the keys whose hashes begin with the same bits. No bucket and no slot is ever
/// locked.
template <medium M, class Kind>
class table : public engine_frame<M, Kind, table<M, Kind>> {
  using frame = engine_frame<M, Kind, table<M, Kind>>;
  friend frame;
  friend lifecycle<M, Kind, table<M, Kind>>;
  template <class>
  friend class lender;
  template <class>
  friend class row_lender;

 public:
  using medium_type = M;
  using kind = Kind;
  using key_type = typename Kind::key_type;
  using value_type = typename Kind::value_type;

  /// Resolves the options of a new pool. Settings: levels, hashes, slots, cache, cache_policy,
  /// key_bytes, stop_to_grow (docs/explanation/engines/gphash.md).
  static result<engine_plan> plan(const options& how);

  /// On a pool that `plan` was made for. Reads the geometry; `open` says what is wrong with it.
  explicit table(pool<M>& p);
  ~table() { background_.stop(); }
  /// With `dropped`, what does not verify is dropped and told there; without, it refuses the open
  /// or is left to check().
  error open(const std::string& path, std::vector<std::string>* dropped = nullptr);

  /// Of every key.
  std::size_t key_bytes() const noexcept requires(Kind::fixed_key) { return shape().key_bytes; }

  template <class Read>
  status get(key_type key, Read read);

  std::uint64_t size() {
    await_count();
    return levels_.records(records_at_open_);
  }
  std::uint64_t slots() const noexcept { return slots_of(shape(), levels_.now().at[0].log2); }
  void lock_all();  // keeps writers out
  void unlock_all() noexcept { levels_.unlock_all(); }

  void describe(table_stats& stats);
  /// The buckets that a search looks at.
  void each_candidate(key_type key, part_visitor& v) { describer(*this, v).each_candidate(key); }

 private:
  // made for a call
  class checker;
  class copies_search;
  class counting;
  class describer;
  class growth;
  class rebuilding;
  class recovery;
  class salvager;
  class telling;

  using frame::p_, frame::m_, frame::heap_, frame::seeds_, frame::records_at_open_,
      frame::damage_found_, frame::background_;
  using frame::reading, frame::await_count, frame::counted, frame::count_once;
  using read_guard = typename frame::read_guard;
  using everybody_kept_out = typename frame::everybody_kept_out;

  using target_type = key_target;
  using look_type = look<M>;
  using unit_type = unit;
  using home_type = std::conditional_t<Kind::in_slot, unit_type, void>;
  using change = gphash::change<M, Kind>;
  using group = gphash::group<M, Kind>;
  using stretch = gphash::stretch<Kind>;
  using slot = slot_ref<Kind>;

  const gphash::shape& shape() const noexcept { return buckets_.form(); }

  // find.hpp
  target_type look_up(key_type key, const levels_view& v) const noexcept;
  bucket_ref find(const target_type& t) const noexcept;
  void look_at(std::span<const key_type> keys, look_type* looks) const noexcept;
  void read_home(look_type& l) const noexcept;
  template <class Read>
  status answer(const look_type& l, key_type key, Read read);
  template <class Read>
  status answer_short(const look_type& l, key_type key, Read read);
  template <class Read>
  status get_anywhere(key_type key, Read read);
  status search_long(key_type key, any_reader<value_type> read);
  status search_at(key_type key, const candidates& s, any_reader<value_type> read);
  void settle_for_reader(const levels_view& v, const candidates& s);
  bool is_swept() const noexcept;
  std::optional<std::uint64_t> read_stretch(std::uint64_t position, stretch& found);

  // write.hpp
  target_type target_of(key_type key) const noexcept;
  void ask_for_all(const levels_view& v, std::uint64_t hash) const noexcept;
  unit_type lock_unit(const target_type& t, key_type key);
  unit_type lock_home(const target_type& t) const noexcept;
  bool is_settled(const unit_type& u, const target_type& t) const noexcept;
  held_lock held_by(const unit_type& u) const noexcept;
  void settle(const unit_type&) {}  // `stage` does, by the key's buckets
  template <class Decide>
  staged stage_home(const unit_type& u, const target_type& t, key_type key, Decide& decide,
                    change& c, status& answer, flushed& started);
  staged stage_new(const target_type& t, value_type value, change& c) requires(Kind::in_slot);
  void note_if_nearly_full(bucket_ref a, bucket_ref b, bucket_ref c, bucket_ref d) noexcept;
  lookup<Kind> locate(const levels_view& v, const candidates& s, key_type key);
  template <class Decide>
  staged stage(const unit_type& u, const target_type& t, key_type key, Decide& decide, change& c,
               status& answer, flushed& started);
  staged stage_set(const levels_view& v, const candidates& s, lookup<Kind>& at, key_type key,
                   value_type value, change& c, status& answer, flushed& started);
  flushed flush_payload(const change& c);
  durable fence_payloads(flushed started) {
    return fence(m_, std::move(started), "gphash.write.payload");
  }
  void begin(const change& c);
  ordered payload_order(const change& c) const;
  flushed publish_change(const change& c, ordered payload);
  durable fence_words(flushed started) {
    return fence(m_, std::move(started), "gphash.write.done");
  }
  void end(const change& c, const durable& done);
  status finish_write(const target_type& t, const change& c, status answer) noexcept;
  void look_ahead(std::span<const key_type> keys, target_type* targets, bool puts);
  std::size_t lock_group(std::span<const key_type> keys, const target_type* targets, group& g);
  static unit_type unit_in(const group& g, std::size_t, const target_type& t) noexcept {
    return {g.levels, g.levels->stripe_of(t.hash)};
  }
  void finish_group(const group& g, std::size_t writes) noexcept;

  // grow.hpp, resize.hpp
  status make_room(const unit_type& full, const target_type&, int) {
    return growth(*this).grow(*full.levels);
  }
  status help_growth(std::uint64_t writes, status answer) noexcept;
  void before_clean_close() noexcept { growth(*this).drop(); }
  status make_room_for(std::uint64_t records);
  status shrink_to_fit();
  status move_arrays_down();
  template <class Visit>
  void for_each_locked(Visit&& visit);
  status replace_value(const resident<Kind>& r, std::uint64_t value_word, flushed started);

  bool count_units(const background* asking) { return counting(*this).count_all(asking); }
  std::uint64_t check_units(violations& violated, std::uint64_t& reached_bytes) {
    return checker(*this, violated, reached_bytes).check();
  }
  void each_part_of_table(part_visitor& v) { describer(*this, v).each_part(); }

  buckets<M, Kind> buckets_;
  level_stack<M> levels_;
  level_cells<M, Kind> cells_;
  growth_need need_;
  claims<M, Kind> claims_;
  coming_level coming_;
  // publications have more to do: there are copies of buckets, or a level is coming
  std::atomic<bool> tells_;
  sweep<M, Kind> sweep_;  // after a crash
  std::atomic<std::uint64_t> resizes_{0}, rehashed_{0};
};

}  // namespace durahash::gphash

#include "engine/gphash/check.hpp"
#include "engine/gphash/describe.hpp"
#include "engine/gphash/find.hpp"
#include "engine/gphash/grow.hpp"
#include "engine/gphash/iteration.hpp"
#include "engine/gphash/recover.hpp"
#include "engine/gphash/resize.hpp"
#include "engine/gphash/write.hpp"
