// TurboHash (SYSTOR'23): the table, its parts and their invariants.
// docs/explanation/engines/turbo.md tells the whole.
//
// A directory of shards, over-provisioned so that it never grows (§3.1); a shard is a contiguous
// array of 256-byte buckets, probed linearly from the home bucket over at most `scope` buckets.
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
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/spin_lock.hpp"
#include "engine/concept.hpp"
#include "engine/frame/frame.hpp"
#include "engine/frame/live_record.hpp"
#include "engine/turbo/format.hpp"
#include "persist/unsettled.hpp"

namespace durahash::turbo {

using shard_index = std::uint32_t;

/// A directory entry's mirror in DRAM.
struct shard_view : place_view {
  static constexpr shard_view of(directory_entry e, std::uint64_t generation) noexcept {
    return {place_view::of(e, generation)};
  }
  constexpr unsigned log2_buckets() const noexcept { return exponent(); }
  constexpr std::uint64_t buckets() const noexcept {
    return none() ? 0 : std::uint64_t{1} << log2_buckets();
  }
  constexpr std::uint64_t bytes() const noexcept { return buckets() * block_bytes; }
};

template <medium M, class Kind>
class table : public engine_frame<M, Kind, table<M, Kind>> {
  using frame = engine_frame<M, Kind, table<M, Kind>>;
  friend frame;
  friend lifecycle<M, Kind, table<M, Kind>>;

 public:
  using kind = Kind;
  using key_type = typename Kind::key_type;
  using value_type = typename Kind::value_type;

  /// Resolves the options of a new pool. Settings: shards, scope, collect_distance, in_place
  /// (docs/explanation/engines/turbo.md).
  static result<engine_plan> plan(const options& how);

  /// On a pool that `plan` was made for. Reads the directory; `open` says what is wrong with it.
  explicit table(pool<M>& p);
  ~table();
  /// With `dropped`, what does not verify is dropped and told there; without, it refuses the open
  /// or is left to check().
  error open(const std::string& path, std::vector<std::string>* dropped = nullptr);

  // find.hpp
  template <class Read>
  status get(key_type key, Read&& read);
  template <class Read>
  void get_many(std::span<const key_type> keys, Read&& read, status* answers);

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
  using frame::reading, frame::await_count, frame::count_once;
  using read_guard = typename frame::read_guard;

  /// What is known of a shard besides its array. In DRAM; guarded by `lock`, but for the counter's
  /// readers.
  struct alignas(16) shard_state {
    spin_lock lock;
    bool wants_survey = false;  // an insert walked far
    std::uint32_t inserts_until_survey = 0;
    std::atomic<std::int64_t> records{0};  // since open, until the recount
  };

  /// Where a key is, or where it would go: found by a walk under the shard's lock.
  struct lookup {
    bucket* holder = nullptr;
    int slot = -1;
    meta_word meta;
    bucket* room = nullptr;
    int room_slot = -1;
    meta_word room_meta;
    unsigned distance = 0;
  };
  /// A change that is written but not committed.
  struct change : replaced_record<Kind> {
    shard_index shard = 0;
    bucket* where = nullptr;
    meta_word next;
    int filled = -1;                     // the slot with the payload, or none
    bool apart = false;                  // the payload was flushed
    pm<std::uint64_t>* value = nullptr;  // what changes is this word alone
    std::uint64_t value_word = 0;
    std::int8_t records = 0;
  };
  using target_type = std::uint64_t;  // a hash
  struct unit_type {
    shard_index shard;
    shard_view view;
  };
  using group = fenced_group<change>;  // of shards that differ
  using stretch = plain_stretch;
  enum class probed : std::uint8_t { hit, miss, torn, damaged };
  struct resident : live_record {
    bucket* where;
    int slot;
  };

  // places
  shard_index shard_of(std::uint64_t hash) const noexcept {
    return static_cast<shard_index>(hash >> (64 - shard_bits_));
  }
  std::uint64_t home_of(std::uint64_t hash, unsigned log2_buckets) const noexcept {
    return (hash << shard_bits_) >> 1 >> (63 - log2_buckets);
  }
  static std::uint8_t tag_of(std::uint64_t hash) noexcept {
    return static_cast<std::uint8_t>(hash);
  }
  shard_index shards() const noexcept { return shard_index{1} << shard_bits_; }
  shard_view view(shard_index s) const noexcept {
    return {{mirrors_[s].load(std::memory_order_acquire)}};
  }
  bucket* buckets_of(shard_view v) const noexcept { return p_.at(poff<bucket>{v.offset()}); }
  pm<std::uint64_t>& directory(shard_index s) const noexcept {
    return p_.at(poff<pm<std::uint64_t>>{p_.block().engine_offset})[s];
  }
  unsigned scope_in(shard_view v) const noexcept {
    return static_cast<unsigned>(std::min<std::uint64_t>(scope_, v.buckets()));
  }

  /// A look at the home bucket of a key.
  struct home_look {
    shard_index shard = 0;
    shard_view view;
    const bucket* home = nullptr;
    meta_word meta;
    std::uint32_t hits = 0;  // live slots with the key's tag
  };

  // find.hpp
  home_look look_home(std::uint64_t hash) const noexcept;
  void read_home(home_look& g, std::uint64_t hash) const noexcept;
  template <class Read>
  probed judge(const home_look& g, key_type key, Read& read) const;
  template <class Read>
  status search(std::uint64_t hash, key_type key, Read& read);
  bool is_as_read(const bucket& b, meta_word meta) const noexcept;
  std::uint32_t match_tags(const bucket& b, std::uint8_t tag) const noexcept;
  std::uint8_t tag_at(const bucket& b, int slot) const noexcept;
  probed probe(shard_view v, std::uint64_t hash, key_type key, std::optional<value_type>& value,
               unsigned& buckets) const;
  void settle_for_reader(shard_index s, shard_view v, std::uint64_t home, unsigned buckets);
  void settle(shard_index s);
  void settle(unit_type u) { settle(u.shard); }
  std::optional<std::vector<live_record>> live_records(shard_index s) const;
  template <class Visit>
  void for_each_resident(shard_view v, Visit&& visit) const;
  std::optional<std::uint64_t> read_stretch(std::uint64_t position, stretch& found);
  std::uint64_t hash_of_slot(std::uint64_t key_word) const noexcept;

  // write.hpp
  target_type target_of(key_type key) const noexcept;
  unit_type lock_unit(target_type hash, key_type key);
  held_lock held_by(unit_type u) const noexcept { return held_lock(states_[u.shard].lock); }
  lookup walk(shard_view v, std::uint64_t hash, key_type key) const;
  template <class Decide>
  staged stage(unit_type u, std::uint64_t hash, key_type key, Decide& decide, change& c,
               status& answer, flushed& started);
  staged stage_set(const lookup& at, std::uint64_t hash, key_type key, value_type value, change& c,
                   status& answer, flushed& started);
  void stage_removal(const lookup& at, change& c) const;
  void stage_update(const lookup& at, std::uint64_t hash, std::uint64_t key_word,
                    std::uint64_t value_word, change& c, flushed& started);
  void store_slot(bucket& b, int slot, std::uint64_t hash, std::uint64_t key_word,
                  std::uint64_t value_word, change& c, flushed& started);
  durable fence_payloads(flushed started) {
    return fence(m_, std::move(started), "turbo.write.payload");
  }
  void begin(const change& c) noexcept { unsettled_.begin(c.shard); }
  flushed publish_change(const change& c, ordered payload);
  ordered payload_order(const change& c) const;
  durable fence_words(flushed started) { return fence(m_, std::move(started), "turbo.write.done"); }
  void end(const change& c, const durable& done);
  void look_ahead(std::span<const key_type> keys, target_type* hashes, bool puts) const noexcept;
  std::size_t lock_group(std::span<const key_type> keys, const target_type* hashes, group& g);
  unit_type unit_in(const group&, std::size_t, target_type hash) const noexcept {
    return {shard_of(hash), view(shard_of(hash))};
  }
  void prefetch_room(shard_view v, std::uint64_t hash) const noexcept;

  // grow.hpp
  status make_room(unit_type full, target_type hash, int round);
  status rebuild(shard_index s, unsigned log2_buckets);
  status rebuild_from(shard_index s, const std::vector<live_record>& records,
                      unsigned log2_buckets);
  static constexpr std::uint64_t array_bytes(unsigned log2_buckets) noexcept {
    return std::uint64_t{block_bytes} << log2_buckets;
  }
  bool lay_out(const std::vector<live_record>& records, unsigned log2_buckets,
               std::vector<std::uint64_t>& image) const;
  void write_image(bucket* at, const std::vector<std::uint64_t>& image, flushed& started);
  void drop_array(shard_index s);
  void switch_array(shard_index s, directory_entry made);
  void survey(shard_index s);
  unsigned log2_for(std::uint64_t records_in_shard) const noexcept;
  status make_room_for(std::uint64_t records);
  status shrink_to_fit();
  status move_arrays_down();
  template <class Visit>
  void for_each_locked(Visit&& visit);
  status replace_value(const resident& r, std::uint64_t value_word, flushed started);

  // check.hpp
  std::uint64_t check_units(violations& violated, std::uint64_t& reached_bytes);
  std::uint64_t check_shard(shard_index s, violations& violated, std::uint64_t& reached_bytes);
  void check_bucket(shard_index s, std::uint64_t index, violations& violated,
                    std::vector<live_record>& seen, std::uint64_t& reached_bytes);
  bool on_path(shard_view v, std::uint64_t hash, std::uint64_t index) const;

  std::uint64_t path_length(shard_view v, std::uint64_t home) const;

  // describe.hpp
  void each_part_of_table(part_visitor& v);
  void each_part_of_shard(shard_index s, part_visitor& v);
  void each_part_of_bucket(shard_index s, std::uint64_t index, const key_type* wanted,
                           part_visitor& v);

  // recover.hpp
  error read_directory(const std::string& path, bool restored, std::vector<std::string>* dropped);
  status salvage_shard(shard_index s, std::vector<std::string>& dropped);
  bool verifies(shard_index s, const bucket& b, int i, std::string& why) const;
  bool count_units(const background* asking);
  void count_shard(shard_index s);

  unsigned shard_bits_, scope_, first_log2_, collect_distance_;
  bool in_place_;
  std::unique_ptr<std::atomic<std::uint64_t>[]> mirrors_;  // dense: readers touch nothing else
  std::unique_ptr<shard_state[]> states_;
  unsettled<M> unsettled_;  // by shard
  std::atomic<std::uint64_t> resizes_{0}, collections_{0};
};

}  // namespace durahash::turbo

#include "engine/turbo/check.hpp"
#include "engine/turbo/describe.hpp"
#include "engine/turbo/find.hpp"
#include "engine/turbo/grow.hpp"
#include "engine/turbo/recover.hpp"
#include "engine/turbo/write.hpp"
