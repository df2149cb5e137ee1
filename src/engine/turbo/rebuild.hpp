// TurboHash: shards get other arrays (paper §3.5, §4.7), and are split.
//
// One rebuild of a shard, under its lock, readers going on in the old array:
//   1  a new array allocated; live records stored there, in the order of the old array, each with
//      its bucket's commit word; flushed in the order of addresses, fenced
//      no space, or a record finds its scope full: the array goes back, nothing has changed
//      crash: unreachable, hence free
//   2  COMMIT: the directory entry published
//      crash before: old array; after: new array, same records
//   3  the mirror switched, the old array retired
//      crash: the old array is unreachable, hence free
//
// Shards of limited size (paper §4.7): a full one is split. Its records go to two new ones by the
// next bit of the hash, and its directory entry names their pair.
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
#pragma once

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/frame/arrays.hpp"
#include "engine/turbo/arrays.hpp"
#include "engine/turbo/table.hpp"

namespace durahash::turbo {

/// Made where a shard is to change. But for what moves down, all is done under the shard's lock.
template <medium M, class Kind>
class table<M, Kind>::rebuilding {
 public:
  explicit rebuilding(table& t) : t_(t), m_(t.m_), p_(t.p_), heap_(t.heap_), shards_(t.shards_) {}

  status rebuild(shard_index s, unsigned log2_buckets) {
    const shard_view old = shards_.view(s);
    return rebuild_from(
        s, log2_buckets, [ this, old ](auto&& visit) __attribute__((always_inline)) {
          return this->each_slot_of(old, visit);
        });
  }

  /// Of other records: each_record(visit) calls visit(record) until that answers false.
  template <class EachRecord>
  status rebuild_from(shard_index s, unsigned log2_buckets, EachRecord&& each_record) {
    flushed started;
    auto made = writer_for(s).lay_out(log2_buckets, started, each_record);
    if (!made) return status::no_space;
    durable written = fence(m_, std::move(started), "turbo.array.words");
    publish_array(s, made->keep(), std::move(written));
    return status::ok;
  }

  /// Into two with arrays of so many buckets, or larger ones; a half without a record has none.
  status split(shard_index s, unsigned log2_buckets) {
    t_.count_once(s, [&] { t_.count_shard(s); });
    const shard_view old = shards_.view(s);
    auto pair = allocate_loose(heap_, sizeof(shard_pair));
    if (!pair) return status::no_space;
    flushed started;
    std::optional<laid_out<M>> arrays[2];
    for (shard_index half : {0u, 1u}) {
      const shard_index child = 2 * s + half;
      auto each_of_it = [&](auto&& visit) {
        return each_slot_of(
            old, [&](const live_record& r) { return !belongs(child, r.hash) || visit(r); });
      };
      if (each_of_it([](const live_record&) { return false; })) continue;
      auto array = writer_for(child).lay_out(log2_buckets, started, each_of_it);
      if (!array) return status::no_space;
      arrays[half].emplace(std::move(*array));
    }
    directory_entry halves[2];
    for (int half : {0, 1})
      if (arrays[half]) halves[half] = arrays[half]->keep();
    publish_pair(s, pair->offset(), halves, std::move(started));
    for (shard_index half : {2 * s, 2 * s + 1}) t_.counted_with(half, s);
    shards_.split_into(s, pair->keep(), halves);
    give_back(old);
    ++t_.splits_;
    return status::ok;
  }

  /// Of a shard without a record.
  void drop_array(shard_index s) {
    // COMMIT: the array goes
    [[maybe_unused]] durable done =
        publish(m_, shards_.entry_of(s), 0, after_nothing("an empty shard has no array"),
                "turbo.array.drop");
    switch_array(s, directory_entry{});
  }

  std::uint64_t live_in(shard_view v) const { return slots_in(v, &meta_word::live); }
  std::uint64_t deleted_in(shard_view v) const { return slots_in(v, &meta_word::deleted); }

  // to the pool's front, where there is room
  status move_array_down(shard_index s) {
    std::scoped_lock lock(shards_[s].lock);
    const shard_view v = shards_.view(s);
    if (v.none() || !lies_too_far_behind(v.offset(), v.bytes())) return status::ok;
    return p_.may_change() ? rebuild(s, v.log2_buckets()) : status::io_error;
  }

  /// It changes under the locks of the three alone.
  status move_pair_down(shard_index s) {
    if (!shards_.view(s).is_split()) return status::ok;
    std::scoped_lock whole(shards_[s].lock);
    std::scoped_lock first(shards_[2 * s].lock);
    std::scoped_lock second(shards_[2 * s + 1].lock);
    const std::uint64_t old = shards_.pair_of(s);
    if (!lies_too_far_behind(old, sizeof(shard_pair))) return status::ok;
    if (!p_.may_change()) return status::io_error;
    auto pair = allocate_loose(heap_, sizeof(shard_pair));
    if (!pair) return status::ok;
    publish_pair(s, pair->offset(),
                 {{{load(m_, shards_.entry_of(2 * s))}}, {{load(m_, shards_.entry_of(2 * s + 1))}}},
                 {});
    shards_.move_pair(s, pair->keep());
    p_.readers().before_reuse();
    heap_.free(old, sizeof(shard_pair));
    return status::ok;
  }

 private:
  /// Calls visit(record) for each, until it answers false; then it does so, too.
  template <class Visit>
  [[gnu::always_inline]] bool each_slot_of(shard_view v, Visit&& visit) const {
    const bucket* const first = shards_.buckets_of(v);
    for (std::uint64_t index = 0, end = v.buckets(); index < end; ++index) {
      const bucket& b = first[index];
      for (std::uint32_t live = load(m_, b.meta).live(); live != 0; live &= live - 1) {
        const slot& at = slot_in(b, first_of(live));
        const std::uint64_t key_word = load(m_, at.key);
        if (M::planted("a-key-that-means-empty") && key_word == 0) continue;
        if (!visit(live_record{t_.hash_of_slot(key_word), key_word, load(m_, at.value)}))
          return false;
      }
    }
    return true;
  }

  /// Of an array that nobody else writes to.
  std::uint64_t slots_in(shard_view v, std::uint32_t (meta_word::*which)() const noexcept) const {
    std::uint64_t sum = 0;
    const bucket* const first = shards_.buckets_of(v);
    for (std::uint64_t index = 0; index < v.buckets(); ++index)
      sum += static_cast<unsigned>(std::popcount((load(m_, first[index].meta).*which)()));
    return sum;
  }

  array_writer<M> writer_for(shard_index s) { return {p_, heap_, s, t_.scope_}; }

  void publish_array(shard_index s, directory_entry made, durable written) {
    durahash::check(made.sound(), "a directory entry is one that recovery believes");
    bool switched_early = M::planted("the-mirror-before-the-medium");
    if (switched_early) switch_array(s, made);
    // COMMIT: the shard moves
    [[maybe_unused]] durable done = publish(m_, shards_.entry_of(s), made.word,
                                            after(std::move(written)), "turbo.array.commit");
    if (!switched_early) switch_array(s, made);
  }

  /// `started`: the write-back of what the halves name.
  void publish_pair(shard_index s, std::uint64_t pair, const directory_entry (&halves)[2],
                    flushed started) {
    shard_pair& made = shards_.pair_at(pair);
    for (int half : {0, 1}) {
      durahash::check(halves[half].sound(), "a directory entry is one that recovery believes");
      store(m_, made.entries[half], halves[half].word);
    }
    started += flush(m_, extent_of(made.entries), "turbo.pair.entries");
    durable written = fence(m_, std::move(started), "turbo.pair.words");
    // COMMIT: the shard becomes two, or its pair moves
    [[maybe_unused]] durable done =
        publish(m_, shards_.entry_of(s), directory_entry::of_pair(pair).word,
                after(std::move(written)), "turbo.pair.commit");
  }

  void switch_array(shard_index s, directory_entry made) {
    const shard_view old = shards_.view(s);
    shards_[s].mirror.switch_to(made);
    give_back(old);
  }

  /// An array that nothing names any more, neither on the medium nor in DRAM.
  void give_back(shard_view old) {
    if (!old.none()) give_back_array<Kind>(p_, heap_, old.offset(), old.bytes());
  }

  bool lies_too_far_behind(std::uint64_t offset, std::uint64_t bytes) {
    return offset >= t_.live_bytes() && heap_.has_room_before(offset, bytes);
  }

  table& t_;
  M& m_;
  pool<M>& p_;
  heap<M>& heap_;
  shards<M>& shards_;
};

}  // namespace durahash::turbo
