// GPHash for a borrower of the table (engine/gphash/leased.hpp): one warp, or one tile of a warp,
// does one operation. The same lines are compiled for the GPU and, in lockstep on the host, for the
// tests and the explorer.
//
// A write holds its key's stripe, as on the host; of slots, compare-and-swap decides whose they
// are. Its steps:
//   stage    insert: a slot claimed, the value word stored; update, removal: nothing yet
//     crash: recovery empties the slot
//   commit   COMMIT: one word - the fingerprint, the value word, or of a removal `claimed`
//     crash before: old state; after: new state
//   empty    of a removal alone: the slot may be claimed again
//     crash before: recovery empties the slot
// Between the first two stands what makes the value word durable before the fingerprint: on the
// level `process` a release to the system; on `power` a fence of the host, for a batch at once,
// after which the second half of the batch commits. On `process` a value is released to the system,
// too: else it could be in memory while the state there is still that of the slot's key before.
//
//   G3 holds since a batch claims no slot that itself has emptied: its removals are stores of the
//   second half.
//   G5 a write that adds or removes a key changes its stripe's version while the slot is claimed.
//   Readers look at it before and behind all that they read. Who saw the new one does not find what
//   was in the slot before; who reads what comes after sees the new one behind it, and looks again.
#pragma once

#include <optional>

#include "engine/frame/decision.hpp"
#include "gpu/bucket_copies.hpp"
#include "media/site.hpp"

namespace durahash::gpu {

using gphash::target;

/// A write but for its commit word. Nothing to do: no word.
struct change {
  enum class kind : std::uint8_t {
    none,
    insert,
    update,
    removal,
    undone  // a slot was claimed, and is to be empty again
  };
  pm<std::uint64_t>* word = nullptr;
  std::uint64_t next = 0;
  pm<std::uint64_t>* payload = nullptr;  // the value word of an insert
  std::uint64_t value = 0;               // in it
  kind what = kind::none;
  bool apart = false;  // the payload lies in another line than the word

  /// Added.
  constexpr std::int32_t records() const noexcept {
    return what == kind::insert ? 1 : what == kind::removal ? -1 : 0;
  }
};
static_assert(sizeof(change) == 40);

DURAHASH_ON_DEVICE inline bool same_line(const void* a, const void* b) noexcept {
  return reinterpret_cast<std::uintptr_t>(a) / line_bytes ==
         reinterpret_cast<std::uintptr_t>(b) / line_bytes;
}

/// The table's shape: as it says, or known when it is compiled.
struct any_shape {
  static DURAHASH_ON_DEVICE const gphash::shape& of(const leased_table& t) noexcept {
    return t.where.form();
  }
};
template <unsigned Levels, unsigned Hashes, unsigned SlotsLog2>
struct fixed_shape {
  static DURAHASH_ON_DEVICE constexpr gphash::shape of(const leased_table&) noexcept {
    return {Levels, Hashes, 1u << SlotsLog2, SlotsLog2};
  }
};

/// `Side` is where it runs: a warp; loads and stores of the pool; turns and versions of stripes,
/// which are volatile.
///   warp                              what a warp is: warp/lockstep_warp.hpp
///   load, store_if                    of words of the pool, in no order but that store_if sees
///                                     what came before the word's value
///   load_in_order                     sees what came before the word's value
///   store_in_any_order, store, publish   `store` is visible behind what was stored before it;
///                                     `publish` in memory, too, as a kill leaves it
///   store_words                       many, as store_in_any_order; by all lanes
///   fence_loads                       what was loaded is older than what comes
///   try_take, give, version, version_again, outdate   of a hash's stripe
///   may_have_copies                   false: there are none
///   planted                           a bug of the explorer's: never on a device
///   copies                            of hot buckets, and what gpu/bucket_copies.hpp needs for
///                                     them
template <class Side, class Shape = any_shape>
class operations {
 public:
  DURAHASH_ON_DEVICE operations(Side& side, const leased_table& table) noexcept
      : side_(side), table_(table), copies_(side, table) {}

  /// `counted`: if not null, the looks are told there, and marked for the next load. Returns   ok
  /// and the value, or not_found.
  DURAHASH_ON_DEVICE status find(std::uint64_t key, std::uint64_t& value,
                                 looks* counted = nullptr) const {
    std::uint64_t hash = hash_of(key);
    return find_hash(true, hash, has_escape(hash), value, counted);
  }
  DURAHASH_ON_DEVICE static bool has_escape(std::uint64_t hash) noexcept {
    return hash < gphash::first_fingerprint;
  }
  /// `mine`: whether this tile does it, here as in what follows. `escapes`: whether some tile's
  /// hash has an escape slot.
  DURAHASH_ON_DEVICE status find_hash(bool mine, std::uint64_t hash, bool escapes,
                                      std::uint64_t& value, looks* counted = nullptr) const {
    return escapes ? find_hash<true>(mine, hash, value, counted)
                   : find_hash<false>(mine, hash, value, counted);
  }
  template <bool Escapes>
  DURAHASH_ON_DEVICE status find_hash(bool mine, std::uint64_t hash, std::uint64_t& value,
                                      looks* counted) const {
    target s = target_of<Escapes>(hash);
    if (copies_.any() && mine && s.escape < 0)  // the tile is the warp
      if (std::optional<status> seen = find_in_copies(s, value, counted)) return *seen;
    status answer = status::not_found;
    do {  // ends: each further round means that a writer got on
      auto before = warp().hold([&](unsigned) { return side_.version(s.hash); });
      auto at = look<false, Escapes>(mine, s);
      auto values = warp().hold([&](unsigned lane) {
        return warp().of(at.hit, lane) ? side_.load(*value_behind(s, warp().of(at.state, lane)))
                                       : std::uint64_t{0};
      });
      side_.fence_loads();
      auto behind = warp().hold([&](unsigned) { return side_.version_again(s.hash); });
      bool same = warp().agreed(before, behind);
      std::uint64_t found = warp().from(values, at.lane());
      if (mine && same && at.hits != 0) value = found, answer = status::ok;
      mine = mine && !same;
    } while (warp().in_any_tile(mine));
    return answer;
  }

  /// Find, decide, prepare. The stripe is held. `c`: what the key's last write that waits for a
  /// commit has prepared, or nothing; then what is to be committed in its place. Returns the
  /// operation's answer if that is; no_space: no slot is free, nothing was done.
  template <bool AtOnce, class Decide>
  DURAHASH_ON_DEVICE status stage(bool mine, std::uint64_t hash, Decide&& decide, change& c) const {
    using act = typename decision<std::uint64_t>::what;
    target s = target_of<true>(hash);
    const bool again = c.what != change::kind::none;
    auto seen = look<true, true>(mine && !again, s);
    pm<std::uint64_t>* state = warp().from(seen.state, seen.lane());
    std::optional<std::uint64_t> present;  // in one expression gcc 12 takes it for unset at -O1
    if (again) present = left_by(c);
    if (mine && seen.hits != 0) present = side_.load(*value_behind(s, state));
    decision<std::uint64_t> wanted = decide(present);
    const bool sets = mine && wanted.act == act::set, removes = mine && wanted.act == act::remove;
    pm<std::uint64_t>* claimed = nullptr;
    bool claims = sets && !present && !again;
    if (warp().in_any_tile(claims))
      claimed = claim<AtOnce>(claims, s, seen.at, seen.empty, wanted.value);
    if (claims && claimed == nullptr) return status::no_space;
    if (claims) {
      c = insertion(s, claimed, wanted.value);
    } else if (again) {
      if (sets) c = set_after(s, c, wanted.value);
      if (removes) c = removed_after(s, c);
    } else if (sets) {
      c = {.word = value_behind(s, state), .next = wanted.value, .what = change::kind::update};
    } else if (removes) {
      c = {.word = state, .next = gphash::empty_state, .what = change::kind::removal};
    }
    return wanted.answer;
  }

  /// Second half, by one lane. What the change comes after is durable, or is made so by its order:
  /// `AtOnce`.
  template <bool AtOnce>
  DURAHASH_ON_DEVICE void commit(std::uint64_t hash, const change& c) const {
    if (c.word == nullptr) return;
    copies_.store(*c.word, c.next, c.payload != nullptr ? &c.value : nullptr, [&] {
      const std::int32_t records = c.records();
      if (records < 0) side_.store_in_any_order(*c.word, gphash::claimed_state);
      if (records != 0) side_.outdate(hash);
      // a removal has nothing to come behind: what the slot gets next is published
      bool in_order =
          AtOnce && records >= 0 && !Side::planted("gpu-nothing-orders-value-and-fingerprint");
      in_order ? side_.publish(*c.word, c.next) : side_.store(*c.word, c.next);
    });
  }

  /// All of a write, where visible is durable. False: somebody else holds the stripe.
  template <class Decide>
  DURAHASH_ON_DEVICE bool try_write(bool mine, std::uint64_t hash, Decide&& decide, status& answer,
                                    std::int32_t& records) const {
    mine = side_.try_take(mine, hash);
    change c;
    status got = stage<true>(mine, hash, decide, c);
    warp().one_does(mine, [&] {
      commit<true>(hash, c);
      side_.give(hash);
    });
    if (mine) answer = got;
    records += c.records();
    return mine;
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
          side_.store_in_any_order(to[slot], warp().of(state, lane));
          side_.store_in_any_order(to[slots + slot], side_.load(from[slots + lane]));
        }
        if (lane < slots && lane >= records) {
          if (!Side::planted("gpu-a-new-level-shows-what-was-there"))
            side_.store_in_any_order(to[lane], gphash::empty_state);
          side_.store_in_any_order(to[slots + lane], 0);
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

  DURAHASH_ON_DEVICE void copies(copies_step what, const copy_task& t) const {
    switch (what) {
      case copies_step::retire: return copies_.retire(t);
      case copies_step::name: return copies_.name(t);
      case copies_step::fill: return copies_.fill(t);
    }
  }

  DURAHASH_ON_DEVICE const leased_table& table() const noexcept { return table_; }
  DURAHASH_ON_DEVICE std::uint64_t hash_of(std::uint64_t key) const noexcept {
    return table_.where.words().mix(key);
  }

 private:
  using warp_type = std::remove_cvref_t<decltype(Side::warp)>;
  /// What a look saw: which lanes' state is the key's, and where it is; with room where all of them
  /// are, and which of them are empty.
  struct sight {
    typename warp_type::template held<bool> hit;
    typename warp_type::template held<pm<std::uint64_t>*> state;
    std::uint32_t hits = 0;  // bit n: of the n-th lane
    typename warp_type::template varying<pm<std::uint64_t>*> at;
    std::uint32_t empty = 0;
    DURAHASH_ON_DEVICE unsigned lane() const noexcept {
      return hits == 0 ? 0 : static_cast<unsigned>(lowest_bit(hits));
    }
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
  DURAHASH_ON_DEVICE decltype(auto) form() const noexcept { return Shape::of(table_); }

  // What a write prepares; where another one of its key has prepared something before it, in place
  // of that.

  DURAHASH_ON_DEVICE change insertion(const target& s, pm<std::uint64_t>* state,
                                      std::uint64_t value) const noexcept {
    pm<std::uint64_t>* payload = value_behind(s, state);
    return {.word = state,
            .next = s.fingerprint,
            .payload = payload,
            .value = value,
            .what = change::kind::insert,
            .apart = !same_line(state, payload)};
  }
  /// The key's value once that is committed.
  DURAHASH_ON_DEVICE static std::optional<std::uint64_t> left_by(const change& c) noexcept {
    if (c.what == change::kind::insert) return c.value;
    if (c.what == change::kind::update) return c.next;
    return std::nullopt;
  }
  DURAHASH_ON_DEVICE change set_after(const target& s, const change& c,
                                      std::uint64_t value) const noexcept {
    if (c.what == change::kind::update)
      return {.word = c.word, .next = value, .what = change::kind::update};
    if (c.what == change::kind::removal)  // it stays, with another value
      return {.word = value_behind(s, c.word), .next = value, .what = change::kind::update};
    return insertion(s, c.word, value);
  }
  DURAHASH_ON_DEVICE change removed_after(const target& s, const change& c) const noexcept {
    if (c.what == change::kind::insert)
      return {.word = c.word, .next = gphash::empty_state, .what = change::kind::undone};
    return {.word = c.word - values_behind(s),
            .next = gphash::empty_state,
            .what = change::kind::removal};
  }

  /// `Escapes` false: it has none.
  template <bool Escapes>
  DURAHASH_ON_DEVICE static target target_of(std::uint64_t hash) noexcept {
    return Escapes ? gphash::places::target_of(hash, true) : target{hash, hash, -1};
  }
  template <bool Escapes>
  DURAHASH_ON_DEVICE unsigned lanes_of(const target& s) const noexcept {
    return Escapes && s.escape >= 0 ? 1 : form().lanes();
  }
  /// Null: there is no such lane.
  template <bool Escapes>
  DURAHASH_ON_DEVICE pm<std::uint64_t>* state_at(const target& s, unsigned lane) const noexcept {
    if (Escapes && s.escape >= 0) return &table_.escapes[s.escape].state;
    return lane < form().lanes() ? &table_.state_of(form(), s.hash, lane) : nullptr;
  }
  DURAHASH_ON_DEVICE pm<std::uint64_t>* value_behind(const target& s,
                                                     pm<std::uint64_t>* state) const noexcept {
    return state + values_behind(s);
  }
  DURAHASH_ON_DEVICE unsigned values_behind(const target& s) const noexcept {
    static_assert(offsetof(gphash::slot, value) == sizeof(std::uint64_t));
    return s.escape < 0 ? form().slots : 1;
  }
  template <class At>
  DURAHASH_ON_DEVICE auto states(bool mine, unsigned lanes, unsigned first, unsigned end,
                                 const At& at) const {
    return warp().some(first, end, [&](unsigned lane) {
      return mine && lane < lanes ? side_.load(*warp().of(at, lane)) : gphash::claimed_state;
    });
  }
  /// Level by level, from the top: what is found above costs no look below.
  /// Departs from the paper, which looks at all levels in one go ("one-shot warp access", §3.1).
  template <bool WithRoom, bool Escapes>
  DURAHASH_ON_DEVICE sight look(bool mine, const target& s) const {
    constexpr unsigned width = warp_type::width;
    const unsigned lanes = lanes_of<Escapes>(s), of_level = form().hashes << form().slots_log2,
                   at_once = of_level < width ? width : of_level;
    sight all;
    all.hit = warp().hold([](unsigned) { return false; });
    DURAHASH_UNROLLED
    for (unsigned first = 0; first < warp_type::lanes; first += at_once) {
      if (first >= form().lanes()) break;
      const unsigned end = first + at_once;
      mine = mine && all.hits == 0;
      if (first != 0 && !warp().in_any_tile(mine)) break;
      auto at = warp().some(first, end, [&](unsigned lane) { return state_at<Escapes>(s, lane); });
      auto states_here = states(mine, lanes, first, end, at);
      auto is_key = warp().some(
          first, end, [&](unsigned lane) { return warp().of(states_here, lane) == s.fingerprint; });
      auto here = warp().any_of(first, end, is_key);
      auto state_here = warp().chosen(first, end, at, is_key);
      all.state = warp().hold([&](unsigned lane) {
        return first == 0 || warp().of(here, lane) ? warp().of(state_here, lane)
                                                   : warp().of(all.state, lane);
      });
      all.hit = warp().hold(
          [&](unsigned lane) { return warp().of(here, lane) || warp().of(all.hit, lane); });
      all.hits |= warp().ballot(here);
      if constexpr (WithRoom) {
        warp().put(all.at, first, end, at);
        all.empty |= empties(first, end, states_here);
      }
    }
    return all;
  }
  template <class States>
  DURAHASH_ON_DEVICE std::uint32_t empties(unsigned first, unsigned end, const States& all) const {
    return warp().ballot(first, end, warp().some(first, end, [&](unsigned lane) {
      return warp().of(all, lane) == gphash::empty_state;
    }));
  }
  /// The state of a slot that is the caller's, with the value in it; or null. `at`, `empty`: what a
  /// look saw that did not find the key.
  template <bool AtOnce, class All>
  DURAHASH_ON_DEVICE pm<std::uint64_t>* claim(bool mine, const target& s, All at,
                                              std::uint32_t empty, std::uint64_t value) const {
    pm<std::uint64_t>* claimed = nullptr;
    while (true) {  // ends: each further round means that another warp got a slot
      int lane = mine ? gphash::places::room_in(form(), empty) : -1;
      pm<std::uint64_t>* state = warp().from(at, static_cast<unsigned>(lane < 0 ? 0 : lane));
      bool got = warp().one(lane >= 0, [&] {
        if (!side_.store_if(*state, gphash::empty_state, gphash::claimed_state)) return false;
        pm<std::uint64_t>& to = *value_behind(s, state);
        AtOnce ? side_.publish(to, value) : side_.store(to, value);
        return true;
      });
      if (got) claimed = state;
      mine = lane >= 0 && !got;
      if (!warp().in_any_tile(mine)) return claimed;
      empty =
          empties(0, warp_type::lanes, states(mine, lanes_of<true>(s), 0, warp_type::lanes, at));
    }
  }

  /// One look, at copies where there are some. Nothing: a writer came between, and the table has to
  /// be looked at.
  DURAHASH_ON_DEVICE std::optional<status> find_in_copies(const target& s, std::uint64_t& value,
                                                          looks* counted) const {
    using source = typename copies_of<Side>::source;
    unsigned slots = table_.where.form().slots;
    auto version = warp().one([&] { return side_.version(s.hash); });
    auto from = warp().each([&](unsigned lane) {
      return lane < table_.lanes() ? copies_.find(copies_.bucket_of(s.hash, lane)) : source();
    });
    std::uint32_t hits = warp().ballot(warp().each([&](unsigned lane) {
      if (lane >= table_.lanes()) return false;
      source mine = warp().of(from, lane);
      return (mine.words != nullptr
                  ? side_.own_load(mine.words[lane & (slots - 1)])
                  : side_.load_in_order(table_.state_of(form(), s.hash, lane))) == s.fingerprint;
    }));
    if (hits != 0) {
      auto hit = static_cast<unsigned>(lowest_bit(hits));
      value = warp().from(warp().each([&](unsigned lane) {
        source mine = warp().of(from, lane);
        if (lane != hit) return std::uint64_t{0};
        return mine.words != nullptr ? side_.own_load(mine.words[slots + (lane & (slots - 1))])
                                     : side_.load_in_order(table_.value_of(form(), s.hash, lane));
      }),
                          hit);
    }
    if (counted != nullptr) copies_.count(s.hash, from, *counted);
    std::uint32_t changed = warp().ballot(
        warp().each([&](unsigned lane) { return !copies_.unchanged(warp().of(from, lane)); }));
    bool as_read =
        changed == 0 && warp().one([&] { return side_.version_again(s.hash); }) == version;
    if (!as_read && !Side::planted("gpu-copies-are-not-looked-at-again")) return std::nullopt;
    return hits != 0 ? status::ok : status::not_found;
  }
  Side& side_;
  const leased_table& table_;
  copies_of<Side> copies_;
};

}  // namespace durahash::gpu
