// GPHash: the table lent to a device. The borrower keeps the rules of write.hpp in his own way
// (gpu/operations.hpp).
#pragma once

#include "engine/gphash/table.hpp"

namespace durahash::gphash {

/// Until take_back the borrower alone reads and writes: other threads' writes wait, their reads
/// must not be made, and the caller calls nothing else. A crash meanwhile is one that recovery
/// knows. Nothing, if the disk does not take the root.
template <medium M, class Kind>
std::optional<leased_table> table<M, Kind>::lend() requires(Kind::in_slot) {
  lock_all();
  drop_growth();
  if (p_.read_only() || p_.may_change()) return as_leased();
  unlock_all();
  return std::nullopt;
}

/// Where the table is, for somebody who only reads: good until a write.
template <medium M, class Kind>
leased_table table<M, Kind>::as_leased() const {
  const levels_view& v = levels();
  leased_table lent{places_, {}, {}, root_of_table().escapes};
  for (unsigned l = 0; l < v.count; ++l) {
    lent.levels[l] = v.at[l].first;
    lent.log2[l] = v.at[l].log2;
  }
  return lent;
}

/// Calls visit(extent) for all of the pool that a search for the key reads, and that a write of it
/// has changed: but for new levels.
template <medium M, class Kind>
template <class Visit>
void table<M, Kind>::for_each_extent_of(key_type key, Visit&& visit) const {
  candidates s = candidates_of(hash_of(key));
  const levels_view& v = levels();
  for (const level_view& level : v.all())
    for (unsigned which = 0; which < shape_.hashes; ++which)
      visit(extent{bucket_of(level, s.place[which]), shape_.bucket_bytes()});
  look_everywhere(warp_over(v, s), s, [&](slot_ref at) {
    if constexpr (!Kind::in_slot)
      if (std::uint64_t offset = load(m_, *at.value); auto record = record_at(m_, p_, offset))
        visit(extent{p_.at(offset), record->bytes()});
    return false;
  });
}

/// Growth by the borrower, who does nothing else meanwhile: a level for him to write, with the
/// records of the bottom level (grow.hpp, step 1); nothing if there is no space. `added`: as in
/// take_back, by now. A crash, or a borrower who gives up, leaves it unreachable.
template <medium M, class Kind>
std::optional<leased_level> table<M, Kind>::lease_top(std::int64_t added) requires(Kind::in_slot) {
  auto made = allocate_top(levels(), size() + static_cast<std::uint64_t>(added));
  if (!made) return std::nullopt;
  top_to_be_ = view_of(made->keep(), levels().at[0].log2 + 1);
  return leased_level{top_to_be_.first, top_to_be_.log2};
}

/// In his place: words of it, from the first-th on.
template <medium M, class Kind>
void table<M, Kind>::write_top(std::uint64_t first,
                               std::span<const std::uint64_t> words) requires(Kind::in_slot) {
  for (std::size_t i = 0; i < words.size(); ++i) store(m_, top_to_be_.first[first + i], words[i]);
}

/// It is written: it is made durable, and the levels begin with it. `moved`: the records it has;
/// `misplaced`: those of the bottom that no place led to. Returns the table as it is lent from now
/// on.
template <medium M, class Kind>
leased_table table<M, Kind>::put_on_top(std::uint64_t moved,
                                        std::uint64_t misplaced) requires(Kind::in_slot) {
  const levels_view& v = levels();
  const levels_view& planned = plan_top(v, top_to_be_);
  rehashed_.fetch_add(moved, std::memory_order_relaxed);
  if (misplaced != 0) damage_found_ = true;
  stripe_index more = stripe_index{1} << std::min(top_to_be_.log2, stripe_bits_on<M>);
  for (stripe_index s = stripes_of(v); s < more; ++s) locks_[s].lock();  // the loan goes on
  adopt_top(v, planned,
            flush(m_, extent{top_to_be_.first, shape_.bucket_bytes() << top_to_be_.log2},
                  "gphash.lend.level"));
  locked_ = &levels();
  return as_leased();
}

/// He could not write it.
template <medium M, class Kind>
void table<M, Kind>::give_top_back() requires(Kind::in_slot) {
  heap_.free(top_to_be_.offset, shape_.level_bytes(top_to_be_.log2));
}

/// `added`: records, less those removed. All that the borrower did is durable.
template <medium M, class Kind>
void table<M, Kind>::take_back(std::int64_t added) requires(Kind::in_slot) {
  records_at_open_ += static_cast<std::uint64_t>(added);
  for (stripe_index s = 0; s < stripes_of(levels()); ++s) stripes_[s].mark.outdate();
  if (levels().cache != nullptr) levels().cache->forget();
  unlock_all();
}

/// In place of take_back when the borrower failed, and nobody knows what it did: the pool stays as
/// a crash leaves it, and no close calls it clean.
template <medium M, class Kind>
void table<M, Kind>::give_up_lease() requires(Kind::in_slot) {
  damage_found_ = true;
  take_back(0);
}

/// A level more, from the processor, for a borrower who found no room and has given the table back.
template <medium M, class Kind>
status table<M, Kind>::grow_now() {
  return grow(levels());
}

// Records that the borrower writes
// -----------------------------------------------------------------

/// For one batch, by who alone has the table in this process: nobody is to be kept out but growth
/// in the background. False, if the disk does not take the root.
template <medium M, class Kind>
bool table<M, Kind>::lend_rows() requires(!Kind::in_slot) {
  await_count();
  resize_lock_.lock();
  drop_growth();
  if (p_.may_change()) return true;
  resize_lock_.unlock();
  return false;
}

/// `added`: records, less those removed. All that was done is durable.
template <medium M, class Kind>
void table<M, Kind>::take_rows_back(std::int64_t added) requires(!Kind::in_slot) {
  records_at_open_ += static_cast<std::uint64_t>(added);
  resize_lock_.unlock();
}

/// In place of that when nobody knows what was done.
template <medium M, class Kind>
void table<M, Kind>::give_rows_up() requires(!Kind::in_slot) {
  damage_found_ = true;
  resize_lock_.unlock();
}

/// A cell for one; nothing if there is no space.
template <medium M, class Kind>
std::optional<std::uint64_t> table<M, Kind>::lease_cell(std::uint64_t bytes) requires(
    !Kind::in_slot) {
  return heap_.allocate(bytes);
}

/// Nothing leads to it.
template <medium M, class Kind>
void table<M, Kind>::give_cell_back(std::uint64_t offset, std::uint64_t bytes) noexcept
    requires(!Kind::in_slot) {
  heap_.free(offset, bytes);
}

/// Nothing leads to it any more, durably.
template <medium M, class Kind>
void table<M, Kind>::retire_cell(std::uint64_t offset, std::uint64_t bytes) noexcept
    requires(!Kind::in_slot) {
  heap_.retire(offset, bytes);
}

}  // namespace durahash::gphash
