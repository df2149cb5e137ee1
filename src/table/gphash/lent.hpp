// GPHash: the table in the hands of somebody who reads and writes its slots himself, a device's kernels, by the same rules.
#pragma once

#include "persist/pm.hpp"
#include "table/gphash/places.hpp"

namespace durahash::gphash {

/// Where everything lies, as the borrower's addresses. Trivially copyable: a kernel's parameter.
struct lent_table {
  places where;
  pm<std::uint64_t>* levels[most_levels];  // from the top down
  unsigned log2[most_levels];
  slot* escapes;

  static lent_table none() noexcept { return {places({}, {}), {}, {}, nullptr}; }
  constexpr unsigned lanes() const noexcept { return where.form().lanes(); }
  /// Of a hash without an escape slot: the slot that is a lane's.
  constexpr pm<std::uint64_t>& state_of(std::uint64_t hash, unsigned lane) const noexcept { return bucket_of(hash, lane)[slot_in(lane)]; }
  constexpr pm<std::uint64_t>& value_of(std::uint64_t hash, unsigned lane) const noexcept { return bucket_of(hash, lane)[where.form().slots + slot_in(lane)]; }

 private:
  constexpr unsigned slot_in(unsigned lane) const noexcept { return lane & (where.form().slots - 1); }
  constexpr pm<std::uint64_t>* bucket_of(std::uint64_t hash, unsigned lane) const noexcept {
    const shape& f = where.form();
    unsigned bucket = lane >> f.slots_log2, level = bucket / f.hashes, which = bucket % f.hashes;
    return levels[level] + (where.place(hash, which) >> (64 - log2[level]) << (f.slots_log2 + 1));
  }
};

}  // namespace durahash::gphash
