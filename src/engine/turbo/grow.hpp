// TurboHash: when a shard gets another array: it is full (paper §3.5), has many deleted slots
// (§4.6), or its size was asked for.
#pragma once

#include "engine/turbo/rebuild.hpp"
#include "engine/turbo/table.hpp"

namespace durahash::turbo {

/// The scope of some key in this shard was full. At first deleted slots may be to blame: a shard
/// that is less than half alive is rebuilt at its size.
template <medium M, class Kind>
status table<M, Kind>::make_room(const unit_type& full, const target_type&, int round) {
  if (full.view.elsewhere()) return status::ok;
  const shard_index s = shards_.index_of(full.state);
  const bool splits =
      !full.view.none() && full.view.log2_buckets() >= most_log2_ && shards_.may_be_split(s);
  if (splits) shards_.make_level(level_of(s) + 1);
  std::scoped_lock lock(shards_[s].lock);
  shard_view v = view(s);
  if (!v.same_array(full.view)) return status::ok;  // others were faster
  if (!p_.may_change()) return status::io_error;
  rebuilding work(*this);
  if (v.none()) return work.rebuild(s, first_log2_);
  const bool sparse = round == 0 && work.live_in(v) * 2 < v.buckets() * slots_per_bucket;
  ++(sparse ? collections_ : resizes_);
  if (splits && !sparse) return work.split(s, v.log2_buckets());
  if (v.log2_buckets() >= max_log2_buckets) return status::no_space;
  return work.rebuild(s, v.log2_buckets() + (sparse ? 0 : 1));
}

/// After an insert walked far: are deleted slots to blame? Then the shard is rebuilt at its size
/// (§4.6).
template <medium M, class Kind>
void table<M, Kind>::survey(shard_index s) {
  shard_state& state = shards_[s];
  if (state.inserts_until_survey > 0) {
    --state.inserts_until_survey;
    return;
  }
  const shard_view v = view(s);
  rebuilding work(*this);
  constexpr std::uint64_t share = 8;  // an eighth of the slots
  if (work.deleted_in(v) * share >= v.buckets() * slots_per_bucket &&
      work.rebuild(s, v.log2_buckets()) == status::ok)
    ++collections_;
  // so that a survey costs each insert about a line
  state.inserts_until_survey = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(view(s).buckets(), shard_state::max_until_survey));
}

// ---------------------------------------------------------------------------------- size on demand

/// In shards that need not be split for so many, and in those that are deeper already. Larger ones
/// stay as they are.
template <medium M, class Kind>
status table<M, Kind>::make_room_for(std::uint64_t records) {
  unsigned level = level_of(shards_.first_node());
  while (level < shards_.max_level() && log2_for(records >> level) > most_log2_) ++level;
  const std::uint64_t present = shards_.sum_of([&](shard_index s) { return view(s).bytes(); });
  if (const std::uint64_t needed = array_bytes(log2_for(records >> level)) << level;
      needed > present)
    if (status s = p_.reserve(needed - present); s != status::ok) return s;
  return shards_.each_while_ok([&](shard_index s) {
    const bool splits = level_of(s) < level;
    const unsigned log2 = log2_for(records >> std::max(level, level_of(s)));
    if (splits && !view(s).elsewhere()) shards_.make_level(level_of(s) + 1);
    std::scoped_lock lock(shards_[s].lock);
    const shard_view v = view(s);
    if (v.elsewhere() || (!splits && !v.none() && v.log2_buckets() >= log2)) return status::ok;
    if (!p_.may_change()) return status::io_error;
    rebuilding work(*this);
    if (!splits) return work.rebuild(s, log2);
    return work.split(s, level_of(s) + 1 == level || v.none() ? log2 : v.log2_buckets());
  });
}

template <medium M, class Kind>
status table<M, Kind>::shrink_to_fit() {
  return shards_.each_while_ok([&](shard_index s) {
    std::scoped_lock lock(shards_[s].lock);
    const shard_view v = view(s);
    if (v.none()) return status::ok;
    rebuilding work(*this);
    const std::uint64_t live = work.live_in(v);
    if (!p_.may_change()) return status::io_error;
    if (live != 0) return work.rebuild(s, std::min(v.log2_buckets(), log2_for(live)));
    work.drop_array(s);
    return status::ok;
  });
}

/// Those that were rebuilt while the front was still full.
template <medium M, class Kind>
status table<M, Kind>::move_arrays_down() {
  return shards_.each_while_ok([&](shard_index s) {
    rebuilding work(*this);
    const status answer = work.move_array_down(s);
    return answer == status::ok ? work.move_pair_down(s) : answer;
  });
}

template <medium M, class Kind>
template <class Visit>
void table<M, Kind>::for_each_locked(Visit&& visit) {
  shards_.each([&](shard_index s) {
    std::scoped_lock lock(shards_[s].lock);
    settle(s);
    for_each_resident(view(s), visit);
  });
}

/// Near-place, as every update of a record.
template <medium M, class Kind>
status table<M, Kind>::replace_value(const resident& r, std::uint64_t value_word, flushed started) {
  const lookup at{r.where, static_cast<std::uint32_t>(r.slot), 0};
  if (!load(m_, at.at->meta).well_formed()) return status::damaged;
  change c;
  const unit_type unit = unit_at(shards_.leaf_of(r.hash));
  c.state = unit.state, c.view = unit.view;
  frame::replaces(load(m_, slot_in(*at.at, at.slot).value), c);
  stage_update(at, r.hash, r.key_word, value_word, c);
  frame::commit(c, std::move(started));
  return status::ok;
}

}  // namespace durahash::turbo
