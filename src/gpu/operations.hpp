// GPHash for a borrower of the table (engine/gphash/leased.hpp): one warp does one operation. The
// same lines are compiled for the GPU and, in lockstep on the host, for the tests and the explorer.
//
// A write holds its key's stripe, as on the host; of slots, compare-and-swap decides whose they
// are. Its steps:
//   stage    insert: a slot claimed, the value word stored; update, removal: nothing yet
//     crash: recovery empties the slot
//   commit   COMMIT: one word - the fingerprint, the value word, or `empty`
//     crash before: old state; after: new state
// Between the two stands what makes the value word durable before the fingerprint: on the level
// `process` the order of two stores; on `power` a fence of the host, for a batch at once, after
// which the second half of the batch commits.
//
//   G3 holds since a batch claims no slot that itself has emptied: its removals are stores of the
//   second half.
//   G5 a write that adds or removes a key changes its stripe's version first; readers that saw the
//   old one look again.
#pragma once

#include <optional>

#include "engine/frame/decision.hpp"
#include "gpu/bucket_copies.hpp"
#include "media/site.hpp"

namespace durahash::gpu {

using gphash::target;

/// A write but for its commit word. Nothing to do: no word.
struct change {
  pm<std::uint64_t>* word = nullptr;
  std::uint64_t next = 0;
  pm<std::uint64_t>* payload = nullptr;  // the value word of an insert
  std::uint64_t value = 0;               // in it
  std::int32_t records = 0;              // added
  bool apart = false;                    // the payload lies in another line than the word
  bool held = false;                     // the stripe is, until the batch's commit
};
static_assert(sizeof(change) == 40);

DURAHASH_ON_DEVICE inline bool same_line(const void* a, const void* b) noexcept {
  return reinterpret_cast<std::uintptr_t>(a) / line_bytes ==
         reinterpret_cast<std::uintptr_t>(b) / line_bytes;
}

/// Where exported records go: arrays that the device writes, and how many are there.
struct exported {
  std::uint64_t* keys;
  std::uint64_t* values;
  std::uint64_t* count;
};

/// `Side` is where it runs: a warp; loads and stores of the pool; turns and versions of stripes,
/// which are volatile.
///   warp                              what a warp is: warp/lockstep_warp.hpp
///   load, store, store_if, order      of words of the pool; `order`: what was stored before is
///                                     visible before what comes after
///   take, try_take, give, version, outdate   of a hash's stripe
///   planted                           a bug of the explorer's: never on a device
///   copies                            of hot buckets, and what gpu/bucket_copies.hpp needs for
///                                     them
template <class Side>
class operations {
 public:
  DURAHASH_ON_DEVICE operations(Side& side, const leased_table& table) noexcept
      : side_(side), table_(table), copies_(side, table) {}

  /// Of searches that are counted: the buckets they looked at, and how many of those were copies.
  struct looks {
    std::uint32_t now = 0;  // the time, for the marks
    std::uint64_t buckets = 0, copies = 0;
  };

  /// `counted`: if not null, the looks are told there, and marked for the next load. Returns   ok
  /// and the value, or not_found.
  DURAHASH_ON_DEVICE status find(std::uint64_t key, std::uint64_t& value,
                                 looks* counted = nullptr) const {
    target s = target_of(key);
    if (copies_.any() && s.escape < 0)
      if (std::optional<status> seen = find_in_copies(s, value, counted)) return *seen;
    while (true) {  // ends: each further round means that a writer got on
      auto version = side_.version(s.hash);
      found at = look(s);
      bool same = true;
      if (at.state != nullptr) {
        value = warp().one([&] { return side_.load(*at.value); });
        same = warp().one([&] { return side_.load(*at.state); }) == s.fingerprint;
      }
      if (same && side_.version(s.hash) == version)
        return at.state != nullptr ? status::ok : status::not_found;
    }
  }

  /// Find, decide, prepare. The stripe is held. Returns the operation's answer if `c` is committed;
  /// no_space: no slot is free, nothing was done.
  template <class Decide>
  DURAHASH_ON_DEVICE status stage(std::uint64_t key, Decide&& decide, change& c) const {
    using act = typename decision<std::uint64_t>::what;
    c = {};
    target s = target_of(key);
    found at = look(s);
    std::optional<std::uint64_t> present;
    if (at.state != nullptr) present = warp().one([&] { return side_.load(*at.value); });
    decision<std::uint64_t> wanted = decide(present);
    if (wanted.act == act::set && present) c = {.word = at.value, .next = wanted.value};
    if (wanted.act == act::remove) {
      side_.outdate(s.hash);
      c = {.word = at.state, .next = gphash::empty_state, .records = -1};
    }
    if (wanted.act != act::set || present) return wanted.answer;
    side_.outdate(s.hash);
    if (at = claim(s); at.state == nullptr) return status::no_space;
    warp().one([&] { return side_.store(*at.value, wanted.value), true; });
    c = {.word = at.state,
         .next = s.fingerprint,
         .payload = at.value,
         .value = wanted.value,
         .records = 1,
         .apart = !same_line(at.state, at.value)};
    return wanted.answer;
  }

  /// Second half. What the change comes after is durable, or in order.
  DURAHASH_ON_DEVICE void commit(const change& c) const {
    if (c.word != nullptr)
      warp().one([&] {
        return copies_.store(*c.word, c.next, c.payload != nullptr ? &c.value : nullptr), true;
      });
  }

  /// All of a write, where visible is durable.
  template <class Decide>
  DURAHASH_ON_DEVICE status write(std::uint64_t key, Decide&& decide, std::int32_t& records) const {
    std::uint64_t hash = hash_of(key);
    side_.take(hash);
    change c;
    status answer = stage(key, decide, c);
    if (!Side::planted("gpu-nothing-orders-value-and-fingerprint")) side_.order();
    commit(c);
    side_.order();
    side_.give(hash);
    records += c.records;
    return answer;
  }

  /// Growth (engine/gphash/grow.hpp, step 1): the buckets of the new level that lie over one of the
  /// bottom, with its records. Nobody else writes them; nobody writes the bottom meanwhile. Returns
  /// how many records, and counts those that are out of place.
  DURAHASH_ON_DEVICE unsigned copy_up(std::uint64_t index, const leased_level& top,
                                      std::uint64_t& misplaced) const {
    unsigned slots = table_.where.form().slots, rise = top.log2 - table_.log2[table_.bottom()];
    pm<std::uint64_t>* from = table_.levels[table_.bottom()] + index * table_.words_per_bucket();
    auto state = warp().each(
        [&](unsigned lane) { return lane < slots ? side_.load(from[lane]) : gphash::empty_state; });
    auto over = warp().each(
        [&](unsigned lane) { return bucket_over(index, warp().of(state, lane), top.log2, rise); });
    unsigned moved = 0;
    for (unsigned n = 0; n < 1u << rise; ++n) {
      pm<std::uint64_t>* to = top.first + ((index << rise) + n) * table_.words_per_bucket();
      std::uint32_t here =
          warp().ballot(warp().each([&](unsigned lane) { return warp().of(over, lane) == n; }));
      auto records = static_cast<unsigned>(count_bits(here));
      warp().each([&](unsigned lane) {
        if ((here >> lane & 1) != 0) {
          auto slot =
              static_cast<unsigned>(count_bits(here & static_cast<std::uint32_t>(low_bits(lane))));
          side_.store(to[slot], warp().of(state, lane));
          side_.store(to[slots + slot], side_.load(from[slots + lane]));
        }
        if (lane < slots && lane >= records) {
          if (!Side::planted("gpu-a-new-level-shows-what-was-there"))
            side_.store(to[lane], gphash::empty_state);
          side_.store(to[slots + lane], 0);
        }
        return true;
      });
      moved += records;
    }
    misplaced += static_cast<unsigned>(count_bits(warp().ballot(warp().each([&](unsigned lane) {
                   return warp().of(state, lane) >= gphash::first_fingerprint;
                 })))) -
                 moved;
    return moved;
  }

  /// Appends the records of one bucket, counted through all levels; behind the last one are the
  /// escape slots. Nobody writes meanwhile.
  DURAHASH_ON_DEVICE void export_bucket(std::uint64_t number, const exported& to) const {
    unsigned slots = table_.where.form().slots;
    bool escapes = number == table_.buckets();
    pm<std::uint64_t>* from = escapes ? nullptr : table_.bucket(number);
    auto state = warp().each([&](unsigned lane) {
      if (lane >= (escapes ? unsigned{gphash::first_fingerprint} : slots))
        return gphash::empty_state;
      return side_.load(escapes ? table_.escapes[lane].state : from[lane]);
    });
    std::uint32_t there = warp().ballot(warp().each(
        [&](unsigned lane) { return warp().of(state, lane) >= gphash::first_fingerprint; }));
    if (there == 0) return;
    std::uint64_t first = warp().one(
        [&] { return side_.own_count(*to.count, static_cast<std::uint64_t>(count_bits(there))); });
    warp().each([&](unsigned lane) {
      if ((there >> lane & 1) == 0) return false;
      std::uint64_t at =
          first +
          static_cast<unsigned>(count_bits(there & static_cast<std::uint32_t>(low_bits(lane))));
      to.keys[at] = table_.where.words().key_of(escapes ? lane : warp().of(state, lane));
      to.values[at] = side_.load(escapes ? table_.escapes[lane].value : from[slots + lane]);
      return true;
    });
  }

  DURAHASH_ON_DEVICE void copies(copies_step what, const copy_task& t) const {
    switch (what) {
      case copies_step::retire: return copies_.retire(t);
      case copies_step::name: return copies_.name(t);
      case copies_step::fill: return copies_.fill(t);
    }
  }

  DURAHASH_ON_DEVICE std::uint64_t hash_of(std::uint64_t key) const noexcept {
    return table_.where.words().mix(key);
  }

 private:
  /// Two words of the pool, or none.
  struct found {
    pm<std::uint64_t>* state = nullptr;
    pm<std::uint64_t>* value = nullptr;
  };

  static constexpr unsigned no_bucket = ~0u;

  DURAHASH_ON_DEVICE auto& warp() const noexcept { return side_.warp; }
  /// Which of the buckets over this one of the bottom a record goes to: by the place that led here.
  DURAHASH_ON_DEVICE unsigned bucket_over(std::uint64_t index, std::uint64_t hash,
                                          unsigned top_log2, unsigned rise) const noexcept {
    if (hash < gphash::first_fingerprint) return no_bucket;
    for (unsigned which = 0; which < table_.where.form().hashes; ++which) {
      std::uint64_t number = table_.where.place(hash, which) >> (64 - top_log2);
      if (number >> rise == index) return static_cast<unsigned>(number & low_bits(rise));
    }
    return no_bucket;
  }
  DURAHASH_ON_DEVICE target target_of(std::uint64_t key) const noexcept {
    return gphash::places::target_of(hash_of(key), true);
  }

  /// The lanes whose state is this word (§3.1, "one-shot warp access").
  DURAHASH_ON_DEVICE std::uint32_t ballot(const target& s, std::uint64_t word) const {
    return warp().ballot(warp().each([&](unsigned lane) {
      return lane < table_.lanes() && side_.load(table_.state_of(s.hash, lane)) == word;
    }));
  }
  DURAHASH_ON_DEVICE found slot_of(const target& s, int lane) const noexcept {
    if (lane < 0) return {};
    if (s.escape >= 0) return {&table_.escapes[s.escape].state, &table_.escapes[s.escape].value};
    return {&table_.state_of(s.hash, static_cast<unsigned>(lane)),
            &table_.value_of(s.hash, static_cast<unsigned>(lane))};
  }
  DURAHASH_ON_DEVICE found look(const target& s) const {
    if (s.escape >= 0)
      return slot_of(
          s, warp().one([&] { return side_.load(table_.escapes[s.escape].state); }) == s.fingerprint
                 ? 0
                 : -1);
    std::uint32_t hits = ballot(s, s.fingerprint);
    return slot_of(s, hits == 0 ? -1 : lowest_bit(hits));
  }
  /// A slot that is the caller's, or nothing.
  DURAHASH_ON_DEVICE found claim(const target& s) const {
    while (true) {  // ends: each further round means that another warp got a slot
      int lane = s.escape >= 0 ? 0 : table_.where.room_in(ballot(s, gphash::empty_state));
      found at = slot_of(s, lane);
      if (at.state == nullptr) return at;
      if (warp().one([&] {
            return side_.store_if(*at.state, gphash::empty_state, gphash::claimed_state);
          }))
        return at;
    }
  }

  /// One look, at copies where there are some. Nothing: a writer came between, and the table has to
  /// be looked at.
  DURAHASH_ON_DEVICE std::optional<status> find_in_copies(const target& s, std::uint64_t& value,
                                                          looks* counted) const {
    using source = typename copies_of<Side>::source;
    unsigned slots = table_.where.form().slots;
    auto version = side_.version(s.hash);
    auto from = warp().each([&](unsigned lane) {
      return lane < table_.lanes() ? copies_.find(copies_.bucket_of(s.hash, lane)) : source();
    });
    std::uint32_t hits = warp().ballot(warp().each([&](unsigned lane) {
      if (lane >= table_.lanes()) return false;
      source mine = warp().of(from, lane);
      return (mine.words != nullptr ? side_.own_load(mine.words[lane & (slots - 1)])
                                    : side_.load(table_.state_of(s.hash, lane))) == s.fingerprint;
    }));
    if (hits != 0) {
      auto hit = static_cast<unsigned>(lowest_bit(hits));
      value = warp().from(warp().each([&](unsigned lane) {
        source mine = warp().of(from, lane);
        if (lane != hit) return std::uint64_t{0};
        return mine.words != nullptr ? side_.own_load(mine.words[slots + (lane & (slots - 1))])
                                     : side_.load(table_.value_of(s.hash, lane));
      }),
                          hit);
      std::uint32_t same = warp().ballot(warp().each([&](unsigned lane) {
        return lane == hit && (warp().of(from, lane).words != nullptr ||
                               side_.load(table_.state_of(s.hash, lane)) == s.fingerprint);
      }));
      if (same == 0) return std::nullopt;
    }
    if (counted != nullptr) count(s, from, slots, *counted);
    std::uint32_t changed = warp().ballot(
        warp().each([&](unsigned lane) { return !copies_.unchanged(warp().of(from, lane)); }));
    bool as_read = changed == 0 && side_.version(s.hash) == version;
    if (!as_read && !Side::planted("gpu-copies-are-not-looked-at-again")) return std::nullopt;
    return hits != 0 ? status::ok : status::not_found;
  }
  template <class Sources>
  DURAHASH_ON_DEVICE void count(const target& s, const Sources& from, unsigned slots,
                                looks& counted) const {
    auto looks_at_one = [&](unsigned lane) {
      return lane < table_.lanes() && (lane & (slots - 1)) == 0;
    };
    auto marked = warp().each([&](unsigned lane) {
      if (looks_at_one(lane)) copies_.mark(copies_.bucket_of(s.hash, lane), counted.now);
      return looks_at_one(lane);
    });
    auto in_a_copy = warp().each([&](unsigned lane) {
      return looks_at_one(lane) && warp().of(from, lane).words != nullptr;
    });
    counted.buckets += static_cast<unsigned>(count_bits(warp().ballot(marked)));
    counted.copies += static_cast<unsigned>(count_bits(warp().ballot(in_a_copy)));
  }

  Side& side_;
  const leased_table& table_;
  copies_of<Side> copies_;
};

}  // namespace durahash::gpu
