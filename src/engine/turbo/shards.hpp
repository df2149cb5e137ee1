// TurboHash: the tree of shards as DRAM has it, over the directory and the pairs of the medium.
//
// The shards are the leaves. Searches begin at one level of the tree for all hashes. A node there
// may be a shard, or a part of one above, or split: that is found out in the slow way alone
// (`leaf_of`). When half of a level is split they begin one deeper. Departs from the paper, whose
// directory has all shards from the start; CCEH's doubles, and has entries for what was not split
// yet.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "base/spin_lock.hpp"
#include "base/zeroed_array.hpp"
#include "engine/turbo/format.hpp"
#include "engine/turbo/mirror.hpp"
#include "engine/turbo/places.hpp"
#include "persist/pool.hpp"

namespace durahash::turbo {

/// What is known of a shard besides its array. In DRAM; guarded by `lock`, but for the mirror and
/// the counter's readers. All of it in one line: a writer gets no second one from the processor
/// that wrote last.
template <medium M>
struct shard_state {
  static constexpr std::uint32_t max_until_survey = low_bits(24);

  shard_mirror<M> mirror;  // all that readers look at
  spin_lock lock;
  std::uint32_t inserts_until_survey : 24;
  std::atomic<std::int32_t> records;  // since open, until the recount
};
static_assert(std::uint64_t{slots_per_bucket} << max_log2_buckets < std::uint64_t{1} << 31,
              "a shard's records are counted in 31 bits");

template <medium M>
class shards {
 public:
  using state = shard_state<M>;
  static_assert(sizeof(state) == 16, "four to a line");

  /// `max_level`: of nodes, or less where none is ever split.
  shards(pool<M>& p, std::uint64_t in_directory, unsigned max_level)
      : base_(reinterpret_cast<char*>(p.at(std::uint64_t{0}))),
        level_nodes_(in_directory),
        p_(p),
        first_node_(static_cast<shard_index>(in_directory)),
        max_level_(std::max(level_of(first_node_), max_level)),
        end_of_nodes_(2 * first_node_) {}

  /// Shards without arrays, as many as the directory has.
  void begin() {
    states_ = zeroed_array<state>(max_nodes());
    pairs_ = zeroed_array<std::uint64_t>(max_nodes());
    each([&](shard_index s) { states_[s].mirror.adopt(directory_entry{}, false); });
  }

  // ---- where a hash belongs
  std::uint64_t nodes_to_begin_at() const noexcept {
    return level_nodes_.load(std::memory_order_acquire);
  }
  /// The node where a search for a hash begins.
  [[gnu::always_inline]] split_hash beginning_of(std::uint64_t hash) const noexcept {
    return split(hash, nodes_to_begin_at());
  }

  /// The shard that a hash belongs to: up from where searches begin, or down.
  shard_index leaf_of(std::uint64_t hash) const noexcept {
    auto s = static_cast<shard_index>(beginning_of(hash).shard);
    while (view(s).is_part()) s /= 2;
    while (view(s).is_split()) s = 2 * s + static_cast<shard_index>(rest_in(s, hash) >> 63);
    return s;
  }

  /// The home bucket. Of a shard without an array the superblock, which may be read as one.
  [[gnu::always_inline]] bucket* home_in(shard_view v, split_hash h) const noexcept {
    return reinterpret_cast<bucket*>(base_ + v.offset() + v.home_byte(h.rest));
  }
  bucket* buckets_of(shard_view v) const noexcept { return p_.at(poff<bucket>{v.offset()}); }
  char* bytes_of(shard_view v) const noexcept { return base_ + v.offset(); }

  // ---- nodes
  [[gnu::always_inline]] state& operator[](std::uint64_t s) const noexcept { return states_[s]; }
  shard_view view(shard_index s) const noexcept { return states_[s].mirror.view(); }
  shard_index index_of(const state* s) const noexcept {
    return static_cast<shard_index>(s - states_.data());
  }
  shard_index first_node() const noexcept { return first_node_; }
  unsigned max_level() const noexcept { return max_level_; }
  shard_index max_nodes() const noexcept { return shard_index{2} << max_level_; }
  bool may_be_split(shard_index s) const noexcept { return level_of(s) < max_level_; }

  /// Visits each node of the tree, those too that come while it does: halves come after wholes.
  template <class Visit>
  void each(Visit&& visit) const {
    for (shard_index s = first_node_; s < end_of_nodes_.load(std::memory_order_acquire); ++s)
      visit(s);
  }

  /// As each, until one does not answer ok.
  template <class Visit>
  status each_while_ok(Visit&& visit) const {
    status answer = status::ok;
    each([&](shard_index s) {
      if (answer == status::ok) answer = visit(s);
    });
    return answer;
  }

  template <class Count>
  std::uint64_t sum_of(Count&& count) const {
    std::uint64_t sum = 0;
    each([&](shard_index s) { sum += count(s); });
    return sum;
  }

  /// The shard's entry: in the directory, or in the pair of the shard that it is a half of.
  pm<std::uint64_t>& entry_of(shard_index s) const noexcept {
    if (s < 2 * first_node_)
      return p_.at(poff<pm<std::uint64_t>>{p_.block().engine_offset})[s - first_node_];
    return pair_at(pairs_[s / 2]).entries[s % 2];
  }

  /// Of a shard that was split.
  std::uint64_t pair_of(shard_index s) const noexcept { return pairs_[s]; }
  shard_pair& pair_at(std::uint64_t offset) const noexcept {
    return *p_.at(poff<shard_pair>{offset});
  }

  /// "shard 5"; of what was split "shard 10 of 128".
  std::string name_of(shard_index s) const {
    const shard_index nodes = shard_index{1} << level_of(s);
    return "shard " + std::to_string(s - nodes) +
           (nodes == first_node_ ? std::string() : " of " + std::to_string(nodes));
  }

  // ---- growing, in DRAM
  /// Each node of the level is part of a shard above it. Nothing may be locked.
  void make_level(unsigned level) {
    const shard_index first = shard_index{1} << level;
    if (end_of_nodes_.load(std::memory_order_acquire) > first) return;
    std::scoped_lock lock(levels_lock_);
    if (end_of_nodes_.load(std::memory_order_relaxed) > first) return;
    for (shard_index s = first; s < 2 * first; ++s) states_[s].mirror.become_part();
    end_of_nodes_.store(2 * first, std::memory_order_release);
  }

  /// As the medium has it already. Who comes to a half before its whole says that it is split came
  /// by the half's level. So does every later search for the same key: none of them looks at the
  /// whole any more.
  void split_into(shard_index s, std::uint64_t pair, const directory_entry (&halves)[2]) noexcept {
    const std::uint64_t generation = view(s).generation();
    pairs_[s] = pair;
    for (shard_index half : {0u, 1u})
      states_[2 * s + half].mirror.come_from(generation, halves[half]);
    states_[s].mirror.become_split();
    count_split(s);
  }

  /// Of a pool that is being opened; what the halves have is read later.
  void adopt_pair(shard_index s, std::uint64_t pair) {
    make_level(level_of(s) + 1);
    pairs_[s] = pair;
    for (shard_index half : {2 * s, 2 * s + 1})
      states_[half].mirror.adopt(directory_entry{}, false);
    states_[s].mirror.become_split();
    count_split(s);
  }

  /// The pair lies elsewhere now; the three are locked.
  void move_pair(shard_index s, std::uint64_t pair) noexcept { pairs_[s] = pair; }

  // ---- all at once
  void lock_all() {
    levels_lock_.lock();  // no more come
    // in order; groups never wait while they hold one
    each([&](shard_index s) { states_[s].lock.lock(); });
  }

  void unlock_all() {
    each([&](shard_index s) { states_[s].lock.unlock(); });
    levels_lock_.unlock();
  }

 private:
  /// Searches begin at the deepest level where no more than half of the nodes are parts of others.
  void count_split(shard_index s) noexcept {
    const unsigned level = level_of(s);
    const std::uint32_t split = splits_at_[level].fetch_add(1, std::memory_order_relaxed) + 1;
    std::uint64_t nodes = std::uint64_t{1} << level;
    if (split * std::uint64_t{2} >= nodes)
      level_nodes_.compare_exchange_strong(nodes, 2 * nodes, std::memory_order_acq_rel);
  }

  char* const base_;  // of the pool
  // Of the level where searches begin: of the deepest one where most shards are, or below it. A
  // power of two, and the index of its first node.
  std::atomic<std::uint64_t> level_nodes_;
  pool<M>& p_;
  const shard_index first_node_;  // of the directory
  const unsigned max_level_;
  // By node; address space for all that there may be, memory for those that there are.
  zeroed_array<state> states_;
  zeroed_array<std::uint64_t> pairs_;      // where the pair of a shard that was split is
  std::atomic<shard_index> end_of_nodes_;  // of the deepest level that was begun
  spin_lock levels_lock_;                  // whoever begins one. Locked before any shard's
  std::atomic<std::uint32_t> splits_at_[max_shard_bits + 1] = {};  // by level
};

}  // namespace durahash::turbo
