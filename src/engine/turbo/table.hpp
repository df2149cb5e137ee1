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
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/spin_lock.hpp"
#include "base/zeroed_array.hpp"
#include "engine/concept.hpp"
#include "engine/frame/frame.hpp"
#include "engine/frame/live_record.hpp"
#include "engine/frame/stripes.hpp"
#include "engine/turbo/format.hpp"
#include "engine/turbo/mirror.hpp"

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
  ~table();
  /// With `dropped`, what does not verify is dropped and told there; without, it refuses the open
  /// or is left to check().
  error open(const std::string& path, std::vector<std::string>* dropped = nullptr);

  // find.hpp
  template <class Read>
  status get(key_type key, Read read);  // a reader is a pointer or two

  // recover.hpp
  std::uint64_t size();  // waits for the recount after a crash
  std::uint64_t slots();
  void lock_all();  // keeps writers out
  void unlock_all();

  // check.hpp
  void describe(table_stats& stats);

  // describe.hpp
  void each_candidate(key_type key, part_visitor& v);  // the buckets that a search looks at

 private:
  using frame::p_, frame::m_, frame::heap_, frame::seeds_, frame::records_at_open_,
      frame::damage_found_, frame::background_;
  using frame::reading, frame::await_count, frame::count_once, frame::hash_of_slot;
  using read_guard = typename frame::read_guard;

  /// What is known of a shard besides its array. In DRAM; guarded by `lock`, but for the mirror and
  /// the counter's readers. All of it in one line: a writer gets no second one from the processor
  /// that wrote last.
  struct shard_state {
    static constexpr std::uint32_t max_until_survey = low_bits(24);

    shard_mirror<M> mirror;  // all that readers look at
    spin_lock lock;
    std::uint32_t inserts_until_survey : 24;
    std::atomic<std::int32_t> records;  // since open, until the recount
  };
  static_assert(sizeof(shard_state) == 16, "four to a line");
  static_assert(std::uint64_t{slots_per_bucket} << max_log2_buckets < std::uint64_t{1} << 31,
                "a shard's records are counted in 31 bits");

  /// Where a key is, or the bucket that a new one goes to: found by a walk under the shard's lock.
  /// Two words, so that a call returns it in registers.
  struct lookup {
    static constexpr std::uint32_t in_no_slot = slots_per_bucket;
    bucket* at = nullptr;
    std::uint32_t slot = in_no_slot;  // that the key is in
    std::uint32_t distance = 0;       // of the last bucket that was looked at

    bool found() const noexcept { return slot != in_no_slot; }
  };
  /// A change that is written but not committed.
  struct change : replaced_record<Kind> {
    std::int8_t records = 0;
    bool apart = false;         // the payload lies in other lines than the commit word
    bool wants_survey = false;  // an insert walked far
    shard_state* state = nullptr;
    shard_view view;                    // as it is while the shard is locked, without marks
    pm<std::uint64_t>* word = nullptr;  // the commit word
    std::uint64_t next = 0;
    slot* filled = nullptr;  // with the payload, or none
  };
  /// What a key comes to before its shard is locked, and how the shard was then.
  struct target_type {
    std::uint64_t hash;
    shard_state* state;
    shard_view view;
    bucket* home;
  };
  struct unit_type {
    shard_state* state;
    shard_view view;
  };
  using home_type = unit_type;
  using group = fenced_group<change>;  // of shards that differ
  using stretch = plain_stretch<true>;
  enum class probed : std::uint8_t { hit, miss, torn, damaged };
  struct resident : live_record {
    bucket* where;
    int slot;
  };
  /// An array that nothing refers to yet, written; its write-back has begun.
  struct laid_out {
    loose_cell<M> array;
    unsigned log2_buckets;

    directory_entry keep() noexcept { return directory_entry::of(array.keep(), log2_buckets); }
  };

  // places
  /// The node where a search for a hash begins, and the hash without that node's bits.
  struct split_hash {
    std::uint64_t shard, rest;
  };
  [[gnu::always_inline]] split_hash split(std::uint64_t hash) const noexcept {
    return split(hash, nodes_to_begin_at());
  }
  std::uint64_t nodes_to_begin_at() const noexcept {
    return level_nodes_.load(std::memory_order_acquire);
  }
  [[gnu::always_inline]] static split_hash split(std::uint64_t hash, std::uint64_t nodes) noexcept {
    const wide_product both = multiply_wide(hash, nodes);  // fewer instructions than two shifts
    return {both.high + nodes, both.low};
  }
  static unsigned level_of(shard_index s) noexcept {
    return static_cast<unsigned>(std::bit_width(s)) - 1;
  }
  /// Without the shard's bits.
  static std::uint64_t rest_in(shard_index s, std::uint64_t hash) noexcept {
    return hash << level_of(s);
  }
  static std::uint64_t home_of(shard_index s, std::uint64_t hash, unsigned log2_buckets) noexcept {
    return rest_in(s, hash) >> 1 >> (63 - log2_buckets);
  }
  static bool belongs(shard_index s, std::uint64_t hash) noexcept {
    const unsigned level = level_of(s);
    return (std::uint64_t{1} << level | hash >> (64 - level)) == s;
  }
  /// The first hash of the shard; of the one behind the last one 0.
  static std::uint64_t first_hash_of(std::uint64_t s, unsigned level) noexcept {
    return s << (64 - level);
  }
  /// The home bucket. Of a shard without an array the superblock, which may be read as one.
  [[gnu::always_inline]] bucket* home_in(shard_view v, split_hash h) const noexcept {
    return reinterpret_cast<bucket*>(base_ + v.offset() + v.home_byte(h.rest));
  }
  /// A bucket's slot, in the form that takes the fewest instructions.
  template <class Bucket>
  static auto& slot_in(Bucket& b, std::size_t i) noexcept {
    using its_slot = std::conditional_t<std::is_const_v<Bucket>, const slot, slot>;
    using byte = std::conditional_t<std::is_const_v<Bucket>, const char, char>;
    std::size_t distance = static_cast<unsigned>(i) * unsigned{sizeof(slot)};
    asm("" : "+r"(distance));  // else the header is added to it, and it is no index any more
    return *reinterpret_cast<its_slot*>(reinterpret_cast<byte*>(&b) + distance +
                                        offsetof(bucket, slots));
  }
  /// Those that a new record may go to: deleted ones, else empty ones.
  static std::uint32_t open_in(meta_word meta) noexcept {
    return meta.deleted() != 0 ? meta.deleted() : meta.empty();
  }
  /// The one of these slots that a new record of that hash goes to: in the first line, where it
  /// needs no fence of its own, or else at the end that the hash tells. There is one.
  static std::size_t best_of(std::uint32_t open, std::uint64_t hash) noexcept {
    return (open & slots_of_first_line) == 0 ? best_behind(open, hash) : first_of(open);
  }
  /// Where the first line has no place.
  static std::size_t best_behind(std::uint32_t open, std::uint64_t hash) noexcept {
    return from_the_end(hash) ? 31u ^ static_cast<unsigned>(__builtin_clz(open)) : first_of(open);
  }
  /// Where a search expects the record, if not in the first line.
  static const char* near_line(const bucket* home, std::uint64_t hash) noexcept {
    return reinterpret_cast<const char*>(home) + byte_of_near_line(hash);
  }
  /// The first of these slots; there is one.
  static std::size_t first_of(std::uint32_t slots) noexcept {
    return static_cast<unsigned>(__builtin_ctz(slots));
  }
  static std::uint8_t tag_of(std::uint64_t hash) noexcept {
    return static_cast<std::uint8_t>(hash);
  }
  /// Visits each node of the tree, those too that come while it does: halves come after wholes.
  template <class Visit>
  void each_node(Visit&& visit) const {
    for (shard_index s = first_node_; s < end_of_nodes_.load(std::memory_order_acquire); ++s)
      visit(s);
  }
  shard_index max_nodes() const noexcept { return shard_index{2} << max_level_; }
  shard_view view(shard_index s) const noexcept { return shards_[s].mirror.view(); }
  bucket* buckets_of(shard_view v) const noexcept { return p_.at(poff<bucket>{v.offset()}); }
  /// The shard's entry: in the directory, or in the pair of the shard that it is a half of.
  pm<std::uint64_t>& entry_of(shard_index s) const noexcept {
    if (s < 2 * first_node_)
      return p_.at(poff<pm<std::uint64_t>>{p_.block().engine_offset})[s - first_node_];
    return p_.at(poff<shard_pair>{pairs_[s / 2]})->entries[s % 2];
  }
  std::string name_of(shard_index s) const;  // for people
  unsigned scope_in(shard_view v) const noexcept {
    return static_cast<unsigned>(std::min<std::uint64_t>(scope_, v.buckets()));
  }

  /// A look at a key's home bucket.
  struct home_look {
    std::uint64_t hash;
    const shard_mirror<M>* mirror;
    shard_view view;
    const bucket* home;
  };
  /// What was read there.
  struct home_seen {
    meta_word meta;
    std::uint32_t hits;  // valid slots with the key's tag
  };

  using look_type = home_look;

  // find.hpp
  home_look look_home(key_type key) const noexcept;
  home_seen read_home(const home_look& l) const noexcept;
  void look_at(std::span<const key_type> keys, home_look* looks) const noexcept;
  const slot* slot_of(const bucket& b, meta_word meta, std::uint32_t hits,
                      std::uint64_t key_word) const noexcept;
  std::uint32_t find_in(const bucket& b, meta_word meta, std::uint32_t hits,
                        std::uint64_t key_word) const noexcept;
  template <class Read>
  status answer(const home_look& l, key_type key, Read read);
  template <class Read>
  status get_beyond(key_type key, Read read, std::uint64_t view_word, const bucket* home,
                    std::uint64_t home_meta, std::uint64_t known);
  status search_long(key_type key, any_reader<value_type> read);
  shard_index leaf_of(std::uint64_t hash) const noexcept;
  bool is_as_read(const bucket& b, meta_word meta) const noexcept;
  static bool is_as_read(const shard_mirror<M>& mirror, shard_view v) noexcept;
  std::uint32_t match_tags(const bucket& b, std::uint64_t hash) const noexcept;
  std::uint32_t match_valid(const bucket& b, meta_word meta, std::uint64_t hash) const noexcept;
  std::uint8_t tag_at(const bucket& b, int slot) const noexcept;
  probed probe(shard_view v, std::uint64_t home, std::uint64_t hash, key_type key,
               std::optional<value_type>& value, unsigned& buckets) const;
  void settle_for_reader(shard_index s, shard_view v, std::uint64_t home, unsigned buckets);
  void settle(shard_index s);
  void settle(const unit_type& u) {
    if (!u.view.ready()) [[unlikely]]
      settle(index_of(u.state));
  }

  // iteration.hpp
  meta_word collect(const bucket& b, std::uint64_t first, std::uint64_t last,
                    std::vector<live_record>& found) const;
  std::uint64_t live_in(shard_view v) const;
  template <class Visit>
  void for_each_resident(shard_view v, Visit&& visit) const;
  std::optional<std::uint64_t> read_stretch(std::uint64_t position, stretch& found);

  // write.hpp
  target_type look_up(key_type key, std::uint64_t nodes) const noexcept;
  void ask_for_home(const target_type& target) const noexcept;
  target_type target_of(key_type key) const noexcept;
  unit_type lock_unit(const target_type& target, key_type key);
  held_lock held_by(const unit_type& u) const noexcept { return held_lock(u.state->lock); }
  unit_type unit_at(shard_index s) const noexcept { return {&shards_[s], view(s)}; }
  shard_index index_of(const shard_state* s) const noexcept {
    return static_cast<shard_index>(s - shards_.data());
  }
  bool is_settled(const unit_type& u, const target_type&) const noexcept { return u.view.ready(); }
  unit_type lock_home(const target_type& target) noexcept;
  unit_type lock_leaf(std::uint64_t hash) noexcept;
  template <class Decide>
  staged stage_home(const unit_type& u, const target_type& target, key_type key, Decide& decide,
                    change& c, status& answer, flushed& started);
  bucket* home_under_lock(const unit_type& u, const target_type& target) const noexcept;
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
  durable fence_payloads(flushed started) {
    return fence(m_, std::move(started), "turbo.write.payload");
  }
  void begin(const change& c) noexcept { c.state->mirror.begin_publishing(c.view); }
  flushed publish_change(const change& c, ordered payload);
  ordered payload_order(const change& c) const;
  durable fence_words(flushed started) { return fence(m_, std::move(started), "turbo.write.done"); }
  template <class LetGo>
  void end(const change& c, const durable& done, LetGo&& let_go);
  void look_ahead(std::span<const key_type> keys, target_type* targets, bool puts) const noexcept;
  std::size_t lock_group(std::span<const key_type> keys, const target_type* targets, group& g);
  unit_type unit_in(const group&, std::size_t, const target_type& target) const noexcept {
    return {target.state, target.state->mirror.view()};
  }

  // grow.hpp
  status make_room(const unit_type& full, const target_type& target, int round);
  status rebuild(shard_index s, unsigned log2_buckets);
  template <class Visit>
  bool each_slot_of(shard_view v, Visit&& visit) const;
  template <class EachRecord>
  status rebuild_from(shard_index s, unsigned log2_buckets, EachRecord&& each_record);
  template <class EachRecord>
  std::optional<laid_out> lay_out(shard_index s, unsigned log2_buckets, flushed& started,
                                  EachRecord&& each_record);
  static constexpr std::uint64_t array_bytes(unsigned log2_buckets) noexcept {
    return std::uint64_t{block_bytes} << log2_buckets;
  }
  template <class EachRecord>
  bool fill_array(shard_index s, bucket* made, unsigned log2_buckets, EachRecord&& each_record);
  flushed flush_array(const bucket* made, unsigned log2_buckets);
  void publish_array(shard_index s, directory_entry made, durable written);
  void drop_array(shard_index s);
  void switch_array(shard_index s, directory_entry made);
  void give_back(shard_view old);
  void survey(shard_index s);
  unsigned log2_for(std::uint64_t records_in_shard) const noexcept;
  status make_room_for(std::uint64_t records);
  status shrink_to_fit();
  status move_arrays_down();
  status move_array_down(shard_index s);
  template <class Visit>
  void for_each_locked(Visit&& visit);
  status replace_value(const resident& r, std::uint64_t value_word, flushed started);

  // split.hpp
  bool is_to_split(shard_index s, shard_view v) const noexcept {
    return !v.none() && v.log2_buckets() >= most_log2_ && level_of(s) < max_level_;
  }
  void make_level(unsigned level);
  status split_shard(shard_index s, unsigned log2_buckets);
  void publish_pair(shard_index s, std::uint64_t pair, const directory_entry (&halves)[2],
                    flushed started);
  void switch_to_pair(shard_index s, std::uint64_t pair, const directory_entry (&halves)[2]);
  void count_split(shard_index s) noexcept;
  status move_pair_down(shard_index s);

  // check.hpp
  std::uint64_t check_units(violations& violated, std::uint64_t& reached_bytes);
  std::uint64_t check_shard(shard_index s, violations& violated, std::uint64_t& reached_bytes);
  void check_bucket(shard_index s, std::uint64_t index, violations& violated,
                    std::vector<live_record>& seen, std::uint64_t& reached_bytes);
  bool on_path(shard_index s, std::uint64_t hash, std::uint64_t index) const;

  std::uint64_t path_length(shard_view v, std::uint64_t home) const;

  // describe.hpp
  void each_part_of_table(part_visitor& v);
  void each_part_of_shard(shard_index s, part_visitor& v);
  void each_part_of_bucket(shard_index s, std::uint64_t index, const key_type* wanted,
                           part_visitor& v);

  // recover.hpp
  error read_directory(const std::string& path, bool restored, std::vector<std::string>* dropped);
  const char* fault_of_entry(shard_index s, directory_entry e, bool restored);
  status salvage_shard(shard_index s, std::vector<std::string>& dropped);
  bool verifies(shard_index s, const bucket& b, int i, std::string& why) const;
  bool count_units(const background* asking);
  void count_shard(shard_index s);

  char* const base_;  // of the pool
  // Of the level where searches begin: of the deepest one where most shards are, or below it. A
  // power of two, and the index of its first node.
  std::atomic<std::uint64_t> level_nodes_;
  const shard_index first_node_;  // of the directory
  unsigned scope_, first_log2_, collect_distance_;
  unsigned most_log2_;  // buckets of a shard: a larger one is split
  unsigned max_level_;
  bool in_place_;
  // By node; address space for all that there may be, memory for those that there are.
  zeroed_array<shard_state> shards_;
  zeroed_array<std::uint64_t> pairs_;      // where the pair of a shard that was split is
  std::atomic<shard_index> end_of_nodes_;  // of the deepest level that was begun
  spin_lock levels_lock_;                  // whoever begins one. Locked before any shard's
  std::atomic<std::uint32_t> splits_at_[max_shard_bits + 1] = {};  // by level
  std::atomic<std::uint64_t> resizes_{0}, collections_{0}, splits_{0};
};

}  // namespace durahash::turbo

#include "engine/turbo/check.hpp"
#include "engine/turbo/describe.hpp"
#include "engine/turbo/find.hpp"
#include "engine/turbo/grow.hpp"
#include "engine/turbo/iteration.hpp"
#include "engine/turbo/recover.hpp"
#include "engine/turbo/split.hpp"
#include "engine/turbo/write.hpp"
