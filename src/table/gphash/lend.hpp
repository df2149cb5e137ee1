// GPHash: the table lent to a device. The borrower keeps the rules of write.hpp in his own way (gpu/operations.hpp).
#pragma once

#include "table/gphash/table.hpp"

namespace durahash::gphash {

/// Until take_back the borrower alone reads and writes: other threads' writes wait, their reads must not be made, and the caller calls nothing else.
/// A crash meanwhile is one that recovery knows.
template <medium M, class Kind>
lent_table table<M, Kind>::lend()
  requires(Kind::in_slot)
{
  lock_all();
  if (!p_.read_only()) p_.about_to_change();
  const levels_view& v = levels();
  lent_table lent{places_, {}, {}, root_of_table().escapes};
  for (unsigned l = 0; l < v.count; ++l) {
    lent.levels[l] = v.at[l].first;
    lent.log2[l] = v.at[l].log2;
  }
  return lent;
}

/// `added`: records, less those removed. All that the borrower did is durable.
template <medium M, class Kind>
void table<M, Kind>::take_back(std::int64_t added)
  requires(Kind::in_slot)
{
  records_at_open_ += static_cast<std::uint64_t>(added);
  for (stripe_index s = 0; s < stripes_of(levels()); ++s) outdate(s);
  if (levels().cache != nullptr) levels().cache->forget();
  unlock_all();
}

/// In place of take_back when the borrower failed, and nobody knows what it did: the pool stays as a crash leaves it, and no close calls it clean.
template <medium M, class Kind>
void table<M, Kind>::give_up_loan()
  requires(Kind::in_slot)
{
  damage_found_ = true;
  take_back(0);
}

}  // namespace durahash::gphash
