// Linear: the smallest engine that the frame carries, for tests. One array of slots, probed
// linearly from the home slot over at most `reach` slots; one lock for all writers; readers take
// none.
// README.md tells the whole.
//
//   N1  The root names the array in use, whole and durable.
//   N2  A key's record lies within `reach` slots from its home slot, and no slot before it there is
//       empty, on the medium neither.
//   N3  A slot that is not empty never is again in this array: a record that goes leaves `removed`.
//   N4  What a live slot holds was durable, or is a part of its line before it, when its state was
//       stored.
//   N5  The array and the root change only under the lock.
//   N6  What takes a record away from where it was found (a removal, another array) changes the
//       version, after the word that takes it away is stored, and before anything else is stored in
//       its place.
//   N7  What a reader is given is durable: of what a writer has not fenced yet, it flushes the
//       slots that it looked at (persist/unsettled.hpp).
//
// One write, under the lock:
//   insert   1  bytes: record written, flushed, fenced
//                 crash: its cell is unreachable, hence free
//            2  key and value stored in a slot that is not live
//                 crash: nobody reads them
//            3  COMMIT: the state, in the same line, becomes live
//                 crash before: old state; after: new state
//   update   1  as insert
//            2  COMMIT: the value word
//                 crash before: old value; after: new value
//   removal  1  COMMIT: the state becomes removed
//                 crash before: the record is there; after: it is not
// Another array, under the lock: for growth, without removed slots, or nearer to the front:
//   1  written, flushed, fenced
//        crash: it is unreachable, hence free
//   2  COMMIT: the root's word
//        crash before: old array; after: the new one, with the same records
//   3  the old one is free, after its readers
#pragma once

#include <atomic>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/spin_lock.hpp"
#include "engine/concept.hpp"
#include "engine/frame/frame.hpp"
#include "engine/frame/live_record.hpp"
#include "persist/unsettled.hpp"
#include "test/linear/format.hpp"

namespace durahash::linear {

/// On the medium, and in the programs that link it in (store/registry.hpp).
inline constexpr engine_kind kind_of_linear{200};

template <medium M, class Kind>
class table : public engine_frame<M, Kind, table<M, Kind>> {
  using frame = engine_frame<M, Kind, table<M, Kind>>;
  friend frame;
  friend lifecycle<M, Kind, table<M, Kind>>;

 public:
  using kind = Kind;
  using key_type = typename Kind::key_type;
  using value_type = typename Kind::value_type;

  static result<engine_plan> plan(const options& how);
  explicit table(pool<M>& p);
  ~table() { background_.stop(); }
  error open(const std::string& path, std::vector<std::string>* dropped = nullptr);

  template <class Read>
  status get(key_type key, Read&& read);
  template <class Read>
  void get_many(std::span<const key_type> keys, Read&& read, status* answers);

  std::uint64_t size() {
    await_count();
    return static_cast<std::uint64_t>(records_.load(std::memory_order_relaxed));
  }
  std::uint64_t slots() { return current().slots(); }
  void lock_all() { lock_.lock(); }  // keeps writers out
  void unlock_all() { lock_.unlock(); }
  void describe(table_stats& stats);
  void each_candidate(key_type key, part_visitor& v);

 private:
  using frame::p_, frame::m_, frame::heap_, frame::seeds_, frame::damage_found_, frame::background_;
  using frame::reading, frame::await_count;

  /// The array, as a reader or the holder of the lock found it.
  struct array {
    slot* first = nullptr;
    place_view place;
    std::uint32_t version = 0;

    std::uint64_t slots() const noexcept { return std::uint64_t{1} << place.exponent(); }
    std::uint64_t bytes() const noexcept { return slots() * sizeof(slot); }
    std::uint64_t home_of(std::uint64_t hash) const noexcept {
      return hash >> (64 - place.exponent());
    }
    slot& operator[](std::uint64_t index) const noexcept { return first[index & (slots() - 1)]; }
  };
  /// What a walk over the slots of a key finds.
  struct lookup {
    slot* found = nullptr;
    slot* room = nullptr;      // the first one that a new record can have
    std::uint64_t looked = 0;  // slots
    bool damaged = false;
  };
  struct resident : live_record {
    slot* where;
    std::uint64_t index;
  };
  struct change : replaced_record<Kind> {
    slot* where = nullptr;
    pm<std::uint64_t>* word = nullptr;
    std::uint64_t next = 0;
    bool apart = false;  // its record is to be durable first
    std::int8_t records = 0;
  };
  using target_type = std::uint64_t;  // a hash
  using unit_type = array;            // there is one lock: all of it
  struct group : fenced_group<change> {
    array held;
  };
  using stretch = plain_stretch<true>;

  root& root_of_table() const noexcept { return *p_.at(poff<root>{p_.block().engine_offset}); }
  static std::uint64_t hash_of(key_type key, const hash_seeds& seeds) noexcept {
    return mixed(Kind::hash(key, seeds));
  }
  std::uint64_t hash_of_slot(std::uint64_t key_word) const noexcept {
    if constexpr (Kind::in_slot) return hash_of(key_word, seeds_);
    else return key_word;
  }
  std::uint64_t reach_in(const array& a) const noexcept { return std::min(reach_, a.slots()); }

  // find.hpp
  array current() const noexcept;
  bool unchanged(const array& a) const noexcept {
    return version_.load(std::memory_order_acquire) == a.version;
  }
  lookup walk(const array& a, std::uint64_t hash, key_type key) const;
  template <class Read>
  status search(std::uint64_t hash, key_type key, Read&& read);
  void settle_for_reader(const array& a, std::uint64_t first, std::uint64_t count);
  std::optional<resident> resident_at(const array& a, std::uint64_t index) const;
  template <class Visit>
  void for_each_resident(const array& a, Visit&& visit) const;
  std::vector<live_record> residents(const array& a) const;
  std::optional<std::uint64_t> read_stretch(std::uint64_t position, stretch& found);

  // write.hpp
  target_type target_of(key_type key) const noexcept { return hash_of(key, seeds_); }
  array lock_unit(target_type hash, key_type);
  held_lock held_by(const array&) noexcept { return held_lock(lock_); }
  void settle(const array&) {}  // open did
  template <class Decide>
  staged stage(const array& a, target_type hash, key_type key, Decide& decide, change& c,
               status& answer, flushed& started);
  void stage_update(slot& s, std::uint64_t value_word, change& c) const;
  void stage_removal(slot& s, change& c) const;
  ordered payload_order(const change& c) const;
  durable fence_payloads(flushed started) {
    return fence(m_, std::move(started), "linear.write.payload");
  }
  void begin(const change&) noexcept { unsettled_.begin(0); }
  flushed publish_change(const change& c, ordered payload);
  durable fence_words(flushed started) {
    return fence(m_, std::move(started), "linear.write.done");
  }
  void end(const change& c, const durable& done);
  void outdate() noexcept;
  void look_ahead(std::span<const key_type> keys, target_type* hashes, bool puts) const noexcept;
  std::size_t lock_group(std::span<const key_type> keys, const target_type* hashes, group& g);
  array& unit_in(group& g, std::size_t, target_type) const noexcept { return g.held; }
  bool ends_before(const group& g, target_type hash) const;

  // array.hpp
  bool put_into(const array& made, const live_record& r);
  bool write_array(const array& made, std::span<const live_record> records);
  status build(std::span<const live_record> records, unsigned log2, flushed started);
  status make_room(const array& full, target_type hash, int round);
  status make_room_for(std::uint64_t records);
  status shrink_to_fit();
  status move_arrays_down();
  template <class Visit>
  void for_each_locked(Visit&& visit);
  status replace_value(const resident& r, std::uint64_t value_word, flushed started);

  // recover.hpp
  error open_array(const std::string& path, bool restored, std::vector<std::string>* dropped);
  bool count_units(const background* asking);
  void salvage_array(const array& a, std::vector<live_record>& found,
                     std::vector<std::string>& dropped) const;
  error salvage(const std::string& path, std::vector<std::string>& dropped);

  // check.hpp
  std::uint64_t distance_of(const array& a, const resident& r) const {  // from its home slot
    return (r.index - a.home_of(r.hash)) & (a.slots() - 1);
  }
  bool on_path(const array& a, const resident& r) const;
  std::string fault_of(const resident& r) const {
    return durahash::fault_of<Kind>(m_, p_, seeds_, r, hash_of);
  }
  std::uint64_t check_units(violations& violated, std::uint64_t& reached_bytes);
  void each_part_of_table(part_visitor& v);
  void each_part_of_slot(const array& a, std::uint64_t index, const key_type* wanted,
                         part_visitor& v) const;

  std::uint64_t reach_;
  unsigned first_log2_;
  spin_lock lock_;
  std::atomic<std::uint64_t> array_{0};  // a place_view
  std::atomic<std::uint32_t> version_{0};
  std::atomic<std::int64_t> records_{0};  // since open, until the recount of a pool that was killed
  unsettled<M> unsettled_;
  std::atomic<std::uint64_t> resizes_{0};
};

}  // namespace durahash::linear

#include "test/linear/array.hpp"
#include "test/linear/check.hpp"
#include "test/linear/find.hpp"
#include "test/linear/recover.hpp"
#include "test/linear/write.hpp"
