// GPHash for a borrower of the table (table/gphash/lent.hpp): one warp does one operation. The same lines are compiled for the GPU and, in lockstep on the
// host, for the tests and the explorer.
//
// A write holds its key's stripe, as on the host; of slots, compare-and-swap decides whose they are. Its steps:
//   stage    insert: a slot claimed, the value word stored; update, removal: nothing yet     crash: recovery empties the slot
//   commit   COMMIT: one word - the fingerprint, the value word, or `empty`                  crash before: old state; after: new state
// Between the two stands what makes the value word durable before the fingerprint: on the level `process` the order of two stores; on `power` a fence of the
// host, for a batch at once, after which the second half of the batch commits.
//
//   G3 holds since a batch claims no slot that itself has emptied: its removals are stores of the second half.
//   G5 a write that adds or removes a key changes its stripe's version first; readers that saw the old one look again.
#pragma once

#include <optional>

#include "table/decision.hpp"
#include "table/gphash/lent.hpp"

// What nvcc compiles is a device's alone.
#ifdef __CUDACC__
#define DURAHASH_ON_DEVICE __device__
#else
#define DURAHASH_ON_DEVICE
#endif

namespace durahash::gpu {

using gphash::lent_table;
using gphash::target;

/// A write but for its commit word. Nothing to do: no word.
struct change {
  pm<std::uint64_t>* word = nullptr;
  std::uint64_t next = 0;
  pm<std::uint64_t>* payload = nullptr;  // the value word of an insert, if it lies in another line
  std::int32_t records = 0;              // added
  bool held = false;                     // the stripe is, until the batch's commit
};
static_assert(sizeof(change) == 32);

/// `Side` is where it runs: a warp; loads and stores of the pool; turns and versions of stripes, which are volatile.
///   warp                              what a warp is: warp/lockstep_warp.hpp
///   load, store, store_if, order      of words of the pool; `order`: what was stored before is visible before what comes after
///   take, try_take, give, version, outdate   of a hash's stripe
template <class Side>
class operations {
 public:
  DURAHASH_ON_DEVICE operations(Side& side, const lent_table& table) noexcept : side_(side), table_(table) {}

  /// Returns   ok and the value, or not_found.
  DURAHASH_ON_DEVICE status find(std::uint64_t key, std::uint64_t& value) const {
    target s = target_of(key);
    while (true) {  // ends: each further round means that a writer got on
      auto version = side_.version(s.hash);
      found at = look(s);
      bool same = true;
      if (at.state != nullptr) {
        value = warp().one([&] { return side_.load(*at.value); });
        same = warp().one([&] { return side_.load(*at.state); }) == s.fingerprint;
      }
      if (same && side_.version(s.hash) == version) return at.state != nullptr ? status::ok : status::not_found;
    }
  }

  /// Find, decide, prepare. The stripe is held. Returns the operation's answer if `c` is committed; no_space: no slot is free, nothing was done.
  template <class Decide>
  DURAHASH_ON_DEVICE status stage(std::uint64_t key, Decide&& decide, change& c) const {
    using act = typename decision<std::uint64_t>::what;
    c = {};
    target s = target_of(key);
    found at = look(s);
    std::optional<std::uint64_t> present;
    if (at.state != nullptr) present = warp().one([&] { return side_.load(*at.value); });
    decision<std::uint64_t> wanted = decide(present);
    if (wanted.act == act::set && present) c = {at.value, wanted.value, nullptr, 0};
    if (wanted.act == act::remove) {
      side_.outdate(s.hash);
      c = {at.state, gphash::empty_state, nullptr, -1};
    }
    if (wanted.act != act::set || present) return wanted.answer;
    side_.outdate(s.hash);
    if (at = claim(s); at.state == nullptr) return status::no_space;
    warp().one([&] { return side_.store(*at.value, wanted.value), true; });
    bool one_line = reinterpret_cast<std::uintptr_t>(at.state) / line_bytes == reinterpret_cast<std::uintptr_t>(at.value) / line_bytes;
    c = {at.state, s.fingerprint, one_line ? nullptr : at.value, 1};
    return wanted.answer;
  }

  /// Second half. What the change comes after is durable, or in order.
  DURAHASH_ON_DEVICE void commit(const change& c) const {
    if (c.word != nullptr) warp().one([&] { return side_.store(*c.word, c.next), true; });
  }

  /// All of a write, where visible is durable.
  template <class Decide>
  DURAHASH_ON_DEVICE status write(std::uint64_t key, Decide&& decide, std::int32_t& records) const {
    std::uint64_t hash = hash_of(key);
    side_.take(hash);
    change c;
    status answer = stage(key, decide, c);
    side_.order();
    commit(c);
    side_.order();
    side_.give(hash);
    records += c.records;
    return answer;
  }

  DURAHASH_ON_DEVICE std::uint64_t hash_of(std::uint64_t key) const noexcept { return table_.where.words().mix(key); }

 private:
  /// Two words of the pool, or none.
  struct found {
    pm<std::uint64_t>* state = nullptr;
    pm<std::uint64_t>* value = nullptr;
  };

  DURAHASH_ON_DEVICE auto& warp() const noexcept { return side_.warp; }
  DURAHASH_ON_DEVICE target target_of(std::uint64_t key) const noexcept { return gphash::places::target_of(hash_of(key), true); }

  /// The lanes whose state is this word (§3.1, "one-shot warp access").
  DURAHASH_ON_DEVICE std::uint32_t ballot(const target& s, std::uint64_t word) const {
    return warp().ballot(warp().each([&](unsigned lane) { return lane < table_.lanes() && side_.load(table_.state_of(s.hash, lane)) == word; }));
  }
  DURAHASH_ON_DEVICE found slot_of(const target& s, int lane) const noexcept {
    if (lane < 0) return {};
    if (s.escape >= 0) return {&table_.escapes[s.escape].state, &table_.escapes[s.escape].value};
    return {&table_.state_of(s.hash, static_cast<unsigned>(lane)), &table_.value_of(s.hash, static_cast<unsigned>(lane))};
  }
  DURAHASH_ON_DEVICE found look(const target& s) const {
    if (s.escape >= 0) return slot_of(s, warp().one([&] { return side_.load(table_.escapes[s.escape].state); }) == s.fingerprint ? 0 : -1);
    std::uint32_t hits = ballot(s, s.fingerprint);
    return slot_of(s, hits == 0 ? -1 : lowest_bit(hits));
  }
  /// A slot that is the caller's, or nothing.
  DURAHASH_ON_DEVICE found claim(const target& s) const {
    while (true) {  // ends: each further round means that another warp got a slot
      int lane = s.escape >= 0 ? 0 : table_.where.room_in(ballot(s, gphash::empty_state));
      found at = slot_of(s, lane);
      if (at.state == nullptr) return at;
      if (warp().one([&] { return side_.store_if(*at.state, gphash::empty_state, gphash::claimed_state); })) return at;
    }
  }

  Side& side_;
  const lent_table& table_;
};

}  // namespace durahash::gpu
