// TurboHash (SYSTOR'23): the table, its parts and their invariants.
// docs/explanation/engines/turbo.md tells the whole.
//
// A directory of shards (§3.1); a shard is a contiguous array of 256-byte buckets, probed linearly
// from the home bucket over at most `scope` buckets. A shard of limited size (§4.7) is split when
// it is full: the shards are the leaves of a tree, whose upper levels the directory stands for.
//
//   T1  A key lives in at most one live slot, within `scope` buckets from its home, and no bucket
//       before it on that path ends paths.
//   T2  Once a bucket has fewer than two empty slots it never has two again in this shard's array:
//       a delete leaves the slot valid.
//   T3  What a live slot holds was durable before the commit word that made it live.
//   T4  The mirror of a directory entry names an array only after the entry on the medium does,
//       durably.
//   T5  Bytes of an array change only under its shard's lock; readers take none.
//   T6  What a reader is given is durable: a shard with a publication under way is unsettled, and
//       its readers flush what they have read.
//   T7  A shard that was split stays so. Its mirror says it after those of its halves have theirs.
//
// Its parts: `shards`, the tree in DRAM, which finds a hash's shard and home bucket; bucket.hpp,
// what is looked for in one; the table's own functions, which read and write records; `rebuilding`,
// which gives shards other arrays; `recovery`, `checker` and `describer`.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/concept.hpp"
#include "engine/turbo/operation.hpp"

namespace durahash::turbo {

template <medium M, class Kind>
class table : public engine_frame<M, Kind, table<M, Kind>> {
  using frame = engine_frame<M, Kind, table<M, Kind>>;
  friend frame;
  friend lifecycle<M, Kind, table<M, Kind>>;

 public:
  using kind = Kind;
  using key_type = typename Kind::key_type;
  using value_type = typename Kind::value_type;

  /// Resolves the options of a new pool. Settings: shards, scope, collect_distance, in_place,
  /// shard_buckets (docs/explanation/engines/turbo.md).
  static result<engine_plan> plan(const options& how);

  /// On a pool that `plan` was made for. Reads the directory; `open` says what is wrong with it.
  explicit table(pool<M>& p);
  ~table() { background_.stop(); }
  /// With `dropped`, what does not verify is dropped and told there; without, it refuses the open
  /// or is left to check().
  error open(const std::string& path, std::vector<std::string>* dropped = nullptr);

  // find.hpp
  template <class Read>
  status get(key_type key, Read read);  // a reader is a pointer or two

  // open.hpp
  std::uint64_t size();  // waits for the recount after a crash
  std::uint64_t slots() {
    return shards_.sum_of([&](shard_index s) { return view(s).buckets() * slots_per_bucket; });
  }
  void lock_all() { shards_.lock_all(); }  // keeps writers out
  void unlock_all() { shards_.unlock_all(); }

  // check.hpp, describe.hpp
  void describe(table_stats& stats);
  /// The buckets that a search looks at.
  void each_candidate(key_type key, part_visitor& v) { describer(*this, v).each_candidate(key); }

 private:
  // made for a call
  class rebuilding;
  class recovery;
  class checker;
  class describer;

  using frame::p_, frame::m_, frame::heap_, frame::seeds_, frame::records_at_open_,
      frame::damage_found_, frame::background_;
  using frame::reading, frame::await_count, frame::count_once, frame::hash_of_slot;
  using read_guard = typename frame::read_guard;
  using shard_state = turbo::shard_state<M>;
  using unit_type = unit<M>;
  using home_type = unit_type;
  using target_type = target<M>;
  using look_type = home_look<M>;
  using change = turbo::change<M, Kind>;
  using group = fenced_group<change>;  // of shards that differ
  using stretch = plain_stretch<true>;

  // what all parts ask
  shard_view view(shard_index s) const noexcept { return shards_.view(s); }
  unsigned scope_in(shard_view v) const noexcept {
    return static_cast<unsigned>(std::min<std::uint64_t>(scope_, v.buckets()));
  }
  path_in<M> path(shard_view v) const noexcept {
    return {m_, shards_.buckets_of(v), v.buckets() - 1, scope_in(v)};
  }
  unit_type unit_at(shard_index s) const noexcept { return {&shards_[s], view(s)}; }

  // find.hpp
  look_type look_home(key_type key) const noexcept;
  home_seen read_home(const look_type& l) const noexcept;
  void look_at(std::span<const key_type> keys, look_type* looks) const noexcept;
  template <class Read>
  status answer(const look_type& l, key_type key, Read read);
  template <class Read>
  status get_beyond(key_type key, Read read, std::uint64_t view_word, const bucket* home,
                    std::uint64_t home_meta, std::uint64_t known);
  status search_long(key_type key, any_reader<value_type> read);
  static bool is_current(const shard_mirror<M>& mirror, shard_view v) noexcept;
  probed probe(shard_view v, std::uint64_t home, std::uint64_t hash, key_type key,
               std::optional<value_type>& value, unsigned& buckets) const;
  void settle_for_reader(shard_index s, shard_view v, std::uint64_t home, unsigned buckets);
  void settle(shard_index s);
  void settle(const unit_type& u) {
    if (!u.view.ready()) [[unlikely]]
      settle(shards_.index_of(u.state));
  }

  // iteration.hpp
  meta_word collect(const bucket& b, std::uint64_t first, std::uint64_t last,
                    std::vector<live_record>& found) const;
  template <class Visit>
  void for_each_resident(shard_view v, Visit&& visit) const;
  std::optional<std::uint64_t> read_stretch(std::uint64_t position, stretch& found);

  // write.hpp
  target_type look_up(key_type key, std::uint64_t nodes) const noexcept;
  void ask_for_home(const target_type& target) const noexcept;
  target_type target_of(key_type key) const noexcept;
  unit_type lock_unit(const target_type& target, key_type key);
  unit_type lock_home(const target_type& target) noexcept;
  unit_type lock_leaf(std::uint64_t hash) noexcept;
  held_lock held_by(const unit_type& u) const noexcept { return held_lock(u.state->lock); }
  bool is_settled(const unit_type& u, const target_type&) const noexcept { return u.view.ready(); }
  bucket* home_under_lock(const unit_type& u, const target_type& target) const noexcept;
  template <class Decide>
  staged stage_home(const unit_type& u, const target_type& target, key_type key, Decide& decide,
                    change& c, status& answer, flushed& started);
  lookup walk(shard_view v, const bucket* home, std::uint64_t hash, key_type key) const;
  template <class Decide>
  staged stage(const unit_type& u, const target_type& target, key_type key, Decide& decide,
               change& c, status& answer, flushed& started);
  staged stage_set(const lookup& at, std::uint64_t hash, key_type key, value_type value, change& c,
                   status& answer, flushed& started);
  void stage_removal(const lookup& at, change& c) const;
  void stage_update(const lookup& at, std::uint64_t hash, std::uint64_t key_word,
                    std::uint64_t value_word, change& c);
  void store_slot(bucket& b, std::size_t slot, std::uint64_t hash, std::uint64_t key_word,
                  std::uint64_t value_word, change& c);
  flushed flush_payload(const change& c) const;
  [[gnu::always_inline]] durable fence_payloads(flushed started) {
    return fence(m_, std::move(started), "turbo.write.payload");
  }
  void begin(const change& c) noexcept { c.state->mirror.begin_publishing(c.view); }
  flushed publish_change(const change& c, ordered payload);
  ordered payload_order(const change& c) const;
  [[gnu::always_inline]] durable fence_words(flushed started) {
    return fence(m_, std::move(started), "turbo.write.done");
  }
  template <class LetGo>
  void end(const change& c, const durable& done, LetGo&& let_go);
  void look_ahead(std::span<const key_type> keys, target_type* targets, bool puts) const noexcept;
  std::size_t lock_group(std::span<const key_type> keys, const target_type* targets, group& g);
  unit_type unit_in(const group&, std::size_t, const target_type& target) const noexcept {
    return {target.state, target.state->mirror.view()};
  }

  // grow.hpp
  status make_room(const unit_type& full, const target_type& target, int round);
  void survey(shard_index s);
  status make_room_for(std::uint64_t records);
  status shrink_to_fit();
  status move_arrays_down();
  template <class Visit>
  void for_each_locked(Visit&& visit);
  status replace_value(const resident& r, std::uint64_t value_word, flushed started);

  // open.hpp, check.hpp, describe.hpp
  bool count_units(const background* asking);
  void count_shard(shard_index s);
  std::uint64_t check_units(violations& violated, std::uint64_t& reached_bytes) {
    return checker(*this, violated, reached_bytes).check();
  }
  void each_part_of_table(part_visitor& v) { describer(*this, v).each_part(); }

  shards<M> shards_;
  unsigned scope_, first_log2_, collect_distance_;
  unsigned most_log2_;  // buckets of a shard: a larger one is split
  bool in_place_;
  std::atomic<std::uint64_t> resizes_{0}, collections_{0}, splits_{0};
};

}  // namespace durahash::turbo

#include "engine/turbo/check.hpp"
#include "engine/turbo/describe.hpp"
#include "engine/turbo/find.hpp"
#include "engine/turbo/grow.hpp"
#include "engine/turbo/iteration.hpp"
#include "engine/turbo/open.hpp"
#include "engine/turbo/write.hpp"
