// TurboHash: shards of limited size (paper §4.7). A full one is split: its records go to two new
// ones by the next bit of the hash, and its directory entry names their pair.
//
// One split of a shard, under its lock, readers going on in the old array:
//   1  two new arrays allocated and written, and the pair that names them; all flushed, fenced
//      no space, or no memory: they go back, nothing has changed
//      crash: unreachable, hence free
//   2  COMMIT: the entry names the pair
//      crash before: one shard with the old array; after: two with the same records
//   3  the halves' mirrors name their arrays; then the shard's says that it is split; the old array
//      retired
//      crash: the old array is unreachable, hence free
//
// Searches begin at one level of the tree for all hashes. A node there may be a shard, or a part of
// one above, or split: that is found out in the slow way alone (`leaf_of`). When half of a level is
// split they begin one deeper. Departs from the paper, whose directory has all shards from the
// start; CCEH's doubles, and has entries for what was not split yet.
#pragma once

#include "engine/turbo/table.hpp"

namespace durahash::turbo {

/// Of the tree, in DRAM: each node is part of a shard above it. Nothing may be locked.
template <medium M, class Kind>
void table<M, Kind>::make_level(unsigned level) {
  const shard_index first = shard_index{1} << level;
  if (end_of_nodes_.load(std::memory_order_acquire) > first) return;
  std::scoped_lock lock(levels_lock_);
  if (end_of_nodes_.load(std::memory_order_relaxed) > first) return;
  for (shard_index s = first; s < 2 * first; ++s) shards_[s].mirror.become_part();
  end_of_nodes_.store(2 * first, std::memory_order_release);
}

/// Into two with arrays of so many buckets, or larger ones; a half without a record has none.
template <medium M, class Kind>
status table<M, Kind>::split_shard(shard_index s, unsigned log2_buckets) {
  count_once(s, [&] { count_shard(s); });
  const shard_view old = view(s);
  auto pair = allocate_loose(heap_, sizeof(shard_pair));
  if (!pair) return status::no_space;
  flushed started;
  std::optional<laid_out> arrays[2];
  for (shard_index half : {0u, 1u}) {
    const shard_index child = 2 * s + half;
    auto each_of_it = [&](auto&& visit) {
      return each_slot_of(
          old, [&](const live_record& r) { return !belongs(child, r.hash) || visit(r); });
    };
    if (each_of_it([](const live_record&) { return false; })) continue;
    auto array = lay_out(child, log2_buckets, started, each_of_it);
    if (!array) return status::no_space;
    arrays[half].emplace(std::move(*array));
  }
  directory_entry halves[2];
  for (int half : {0, 1})
    if (arrays[half]) halves[half] = arrays[half]->keep();
  publish_pair(s, pair->offset(), halves, std::move(started));
  switch_to_pair(s, pair->keep(), halves);
  ++splits_;
  return status::ok;
}

/// `started`: the write-back of what the halves name.
template <medium M, class Kind>
void table<M, Kind>::publish_pair(shard_index s, std::uint64_t pair,
                                  const directory_entry (&halves)[2], flushed started) {
  shard_pair& made = *p_.at(poff<shard_pair>{pair});
  for (int half : {0, 1}) {
    durahash::check(halves[half].sound(), "a directory entry is one that recovery believes");
    store(m_, made.entries[half], halves[half].word);
  }
  started += flush(m_, extent_of(made.entries), "turbo.pair.entries");
  durable written = fence(m_, std::move(started), "turbo.pair.words");
  // COMMIT: the shard becomes two, or its pair moves
  [[maybe_unused]] durable done = publish(m_, entry_of(s), directory_entry::of_pair(pair).word,
                                          after(std::move(written)), "turbo.pair.commit");
}

/// In DRAM. Who comes to a half before its whole says that it is split came by the half's level.
/// So does every later search for the same key: none of them looks at the whole any more.
template <medium M, class Kind>
void table<M, Kind>::switch_to_pair(shard_index s, std::uint64_t pair,
                                    const directory_entry (&halves)[2]) {
  const shard_view old = view(s);
  pairs_[s] = pair;
  for (shard_index half : {2 * s, 2 * s + 1}) {
    this->counted_with(half, s);
    shards_[half].mirror.come_from(old.generation(), halves[half % 2]);
  }
  shards_[s].mirror.become_split();
  give_back(old);
  count_split(s);
}

/// Searches begin at the deepest level where no more than half of the nodes are parts of others.
template <medium M, class Kind>
void table<M, Kind>::count_split(shard_index s) noexcept {
  const unsigned level = level_of(s);
  const std::uint32_t split = splits_at_[level].fetch_add(1, std::memory_order_relaxed) + 1;
  std::uint64_t nodes = std::uint64_t{1} << level;
  if (split * std::uint64_t{2} >= nodes)
    level_nodes_.compare_exchange_strong(nodes, 2 * nodes, std::memory_order_acq_rel);
}

/// Where it has room in front of it. It changes under the locks of the three alone.
template <medium M, class Kind>
status table<M, Kind>::move_pair_down(shard_index s) {
  if (!view(s).is_split()) return status::ok;
  std::scoped_lock whole(shards_[s].lock);
  std::scoped_lock first(shards_[2 * s].lock);
  std::scoped_lock second(shards_[2 * s + 1].lock);
  const std::uint64_t old = pairs_[s];
  if (old < this->live_bytes() || !heap_.has_room_before(old, sizeof(shard_pair)))
    return status::ok;
  if (!p_.may_change()) return status::io_error;
  auto pair = allocate_loose(heap_, sizeof(shard_pair));
  if (!pair) return status::ok;
  publish_pair(s, pair->offset(),
               {{{load(m_, entry_of(2 * s))}}, {{load(m_, entry_of(2 * s + 1))}}}, {});
  pairs_[s] = pair->keep();
  p_.readers().before_reuse();
  heap_.free(old, sizeof(shard_pair));
  return status::ok;
}

}  // namespace durahash::turbo
