// Writes that wait for a commit: one change for each key, however often they write it. Which change
// is a key's, is found by its hash in the device's own memory.
#pragma once

#include "gpu/operations.hpp"

namespace durahash::gpu {

/// Counted on the device.
struct tallies {
  std::int64_t records = 0;     // added, less removed
  std::uint64_t staged = 0;     // changes of keys, whether committed or not
  std::uint64_t moved = 0;      // records copied to a new level
  std::uint64_t misplaced = 0;  // records that no place leads to, found meanwhile
  std::uint64_t looks = 0;      // of sampled searches: at buckets
  std::uint64_t copies = 0;     // of these: at copies
};

/// Where the changes are. Trivially copyable: a kernel's parameter.
struct staged_changes {
  change* changes = nullptr;         // in memory of both sides
  std::uint64_t* hashes = nullptr;   // of their keys
  std::uint32_t* numbers = nullptr;  // by hash, or behind that: a change's number, from 1; 0: none
  unsigned numbers_log2 = 0;         // at least twice as many as there are changes
  std::uint64_t before = 0;          // changes that were committed, of those ever counted

  static constexpr unsigned numbers_log2_for(std::uint64_t most) noexcept {
    return log2_ceiling(2 * most);
  }
};

/// By one lane. Who finds or adds a key's change holds its stripe.
template <class Side>
class staged_index {
 public:
  DURAHASH_ON_DEVICE staged_index(Side& side, const staged_changes& all) noexcept
      : side_(side), all_(all) {}

  /// The number of the key's change, from 1; 0: it has none.
  DURAHASH_ON_DEVICE std::uint32_t find(std::uint64_t hash) const {
    for (std::uint64_t at = place_of(hash);; at = behind(at)) {  // ends at an empty place
      std::uint32_t number = side_.own_load(all_.numbers[at]);
      if (number == 0 || side_.own_load_in_any_order(all_.hashes[number - 1]) == hash)
        return number;
    }
  }
  /// A number for it.
  DURAHASH_ON_DEVICE std::uint32_t add(std::uint64_t hash, tallies& total) const {
    auto number =
        static_cast<std::uint32_t>(side_.own_count(total.staged, std::uint64_t{1}) - all_.before) +
        1;
    side_.own_store_in_any_order(all_.hashes[number - 1], hash);
    std::uint64_t at = place_of(hash);
    while (!side_.own_give_if(all_.numbers[at], 0, number)) at = behind(at);
    return number;
  }
  /// Nobody finds or adds meanwhile.
  DURAHASH_ON_DEVICE void forget(std::uint32_t number) const {
    std::uint64_t at = place_of(all_.hashes[number - 1]);
    while (side_.own_load_in_any_order(all_.numbers[at]) != number) at = behind(at);
    side_.own_store_in_any_order(all_.numbers[at], 0u);
  }

 private:
  DURAHASH_ON_DEVICE std::uint64_t place_of(std::uint64_t hash) const noexcept {
    return hash * 0x9e3779b97f4a7c15u >> (64 - all_.numbers_log2);
  }
  DURAHASH_ON_DEVICE std::uint64_t behind(std::uint64_t at) const noexcept {
    return (at + 1) & low_bits(all_.numbers_log2);
  }

  Side& side_;
  const staged_changes& all_;
};

}  // namespace durahash::gpu
