// All records of a table, bucket by bucket, each by one warp: to hand them out, and to visit and
// erase them in kernels of one's own.
#pragma once

#include "durahash/gpu.hpp"
#include "gpu/operations.hpp"

namespace durahash::gpu {

/// Where exported records go: arrays that the device writes, and how many are there.
struct exported {
  std::uint64_t* keys;
  std::uint64_t* values;  // may be null
  std::uint64_t* count;
  selection which;
};

/// Buckets are counted through all levels; behind the last one are the escape slots.
constexpr std::uint64_t visited_buckets(const leased_table& table) noexcept {
  return table.buckets() + 1;
}

template <class Side>
class visits {
 public:
  DURAHASH_ON_DEVICE visits(Side& side, const leased_table& table) noexcept
      : side_(side), table_(table) {}

  /// Records of a bucket, a lane for each. Others may write meanwhile: a record is what it was at
  /// one moment, and one that comes or goes is among them or not.
  struct records {
    using words =
        typename std::remove_cvref_t<decltype(Side::warp)>::template varying<std::uint64_t>;
    std::uint32_t there = 0;  // by lane
    words keys, values;
  };
  DURAHASH_ON_DEVICE records of_bucket(std::uint64_t number) const {
    const bool escapes = number == table_.buckets();
    const unsigned slots =
        escapes ? unsigned{gphash::first_fingerprint} : table_.where.form().slots;
    pm<std::uint64_t>* bucket = escapes ? nullptr : table_.bucket(number);
    auto state_of = [&](unsigned lane) -> pm<std::uint64_t>& {
      return escapes ? table_.escapes[lane].state : bucket[lane];
    };
    auto value_of = [&](unsigned lane) -> pm<std::uint64_t>& {
      return escapes ? table_.escapes[lane].value : bucket[slots + lane];
    };
    auto load_states = [&] {
      return warp().each([&](unsigned lane) {
        return lane < slots ? side_.load(state_of(lane)) : gphash::empty_state;
      });
    };
    auto hash_of = [&](unsigned lane, std::uint64_t state) {
      return escapes ? std::uint64_t{lane} : state;
    };
    auto is_record = [](std::uint64_t state) { return state >= gphash::first_fingerprint; };
    auto states = load_states();
    while (true) {  // ends: each further round means that a writer got on
      // as a find does: the slot may become another key's meanwhile
      auto before = warp().each([&](unsigned lane) {
        std::uint64_t state = warp().of(states, lane);
        return is_record(state) ? side_.version(hash_of(lane, state)) : 0;
      });
      auto again = load_states();
      auto values = warp().each([&](unsigned lane) {
        return is_record(warp().of(again, lane)) ? side_.load(value_of(lane)) : 0;
      });
      side_.fence_loads();
      auto changed = warp().each([&](unsigned lane) {
        std::uint64_t state = warp().of(states, lane);
        if (warp().of(again, lane) != state) return true;
        return is_record(state) &&
               side_.version_again(hash_of(lane, state)) != warp().of(before, lane);
      });
      if (warp().ballot(changed) != 0) {
        states = again;
        continue;
      }
      auto there = warp().each([&](unsigned lane) { return is_record(warp().of(states, lane)); });
      auto keys = warp().each([&](unsigned lane) {
        return table_.where.words().key_of(hash_of(lane, warp().of(states, lane)));
      });
      return {warp().ballot(there), keys, values};
    }
  }

  /// Appends those that are selected.
  DURAHASH_ON_DEVICE void hand_out(std::uint64_t bucket, const exported& to) const {
    const records all = of_bucket(bucket);
    const std::uint32_t chosen = warp().ballot(warp().each([&](unsigned lane) {
      return (all.there >> lane & 1) != 0 &&
             to.which.selects(warp().of(all.keys, lane), warp().of(all.values, lane));
    }));
    if (chosen == 0) return;
    std::uint64_t first = warp().one(
        [&] { return side_.own_count(*to.count, static_cast<std::uint64_t>(count_bits(chosen))); });
    warp().each([&](unsigned lane) {
      if ((chosen >> lane & 1) == 0) return false;
      auto before =
          static_cast<unsigned>(count_bits(chosen & static_cast<std::uint32_t>(low_bits(lane))));
      to.keys[first + before] = warp().of(all.keys, lane);
      if (to.values != nullptr) to.values[first + before] = warp().of(all.values, lane);
      return true;
    });
  }

 private:
  DURAHASH_ON_DEVICE auto& warp() const noexcept { return side_.warp; }

  Side& side_;
  const leased_table& table_;
};

}  // namespace durahash::gpu
