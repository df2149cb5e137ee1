// What DRAM has of levels: where they are, which one is being drained; and where in them a place
// is.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

#include "base/spin_lock.hpp"
#include "base/zeroed_array.hpp"
#include "engine/frame/stripes.hpp"
#include "engine/level/bucket.hpp"
#include "engine/level/places.hpp"
#include "media/medium.hpp"

namespace durahash::level {

/// The buckets of a level that are still to be drained.
template <medium M>
struct drain {
  unsigned log2;
  std::atomic<std::uint64_t> next{0}, done{0};
  spin_lock lock;                       // guards what follows
  zeroed_array<std::uint8_t> put_back;  // by bucket: 1 if it had records that found no room
  std::uint64_t put_back_count = 0, put_back_from = 0;  // none lies before that one
  explicit drain(unsigned l) : log2(l), put_back(buckets()) {}
  std::uint64_t buckets() const noexcept { return std::uint64_t{1} << log2; }
  /// While there are three levels writes take the long way: of a large one more go at a time.
  std::uint64_t by_a_write() const noexcept { return log2 < 6 ? 1 : 3; }

  bool is_over() const noexcept {
    return done.load(std::memory_order_acquire) +
               (M::planted("level-the-level-goes-too-early") ? 1 : 0) ==
           buckets();
  }

  std::optional<std::uint64_t> take() {
    if (next.load(std::memory_order_relaxed) < buckets())
      if (std::uint64_t n = next.fetch_add(1, std::memory_order_relaxed); n < buckets()) return n;
    std::scoped_lock guard(lock);
    if (put_back_count == 0) return std::nullopt;
    while (put_back[put_back_from] == 0) ++put_back_from;
    put_back[put_back_from] = 0;
    --put_back_count;
    return put_back_from++;
  }

  void give_back(std::uint64_t bucket) noexcept {
    std::scoped_lock guard(lock);
    put_back[bucket] = 1;
    put_back_from = ++put_back_count == 1 ? bucket : std::min(put_back_from, bucket);
  }
};

struct level_view {
  std::byte* first;
  std::uint64_t offset;
  unsigned log2;
  unsigned shift;       // of a place, to the bucket's number
  unsigned byte_shift;  // to its bytes, with those of `byte_mask`
  std::uint64_t byte_mask;

  /// Of buckets of this size, `first` being where they begin in memory.
  static level_view of(std::byte* first, std::uint64_t offset, unsigned log2,
                       unsigned bytes_log2) noexcept {
    return {first, offset, log2, 64 - log2, 64 - log2 - bytes_log2, ~low_bits(bytes_log2)};
  }
  std::uint64_t buckets() const noexcept { return std::uint64_t{1} << log2; }
  std::size_t bucket_bytes() const noexcept { return std::size_t{1} << (shift - byte_shift); }
  /// Of those buckets whose numbers begin with so many bits.
  std::size_t bytes_of_part(unsigned bits) const noexcept {
    return std::size_t{1} << (64 - byte_shift - bits);
  }
  std::uint64_t number(std::uint64_t place) const noexcept { return place >> shift; }
  bucket bucket_of(std::uint64_t place) const noexcept {
    return {reinterpret_cast<pm<std::uint64_t>*>(first + (place >> byte_shift & byte_mask))};
  }
};

/// The levels, from the largest to the smallest. Never changed, replaced as a whole; kept until
/// the table goes, so that a reader sees by the pointer whether they are still the same. A table
/// that grows and shrinks again and again does so ever less often (look_around): they stay few.
template <medium M>
struct levels_view {
  unsigned count = 0;
  level_view at[max_levels];
  // the levels that records enter: all but the one that is drained
  unsigned first_open = 0, end_open = 0;
  drain<M>* draining = nullptr;  // of the smallest, or of the largest
  bool bottom_first = false;     // search order
  bool filtered = false;         // the second lies right under the first
  unsigned stripe_bits = 0, stripe_shift = 0;
  // there are two, and the filters tell what lies below: the short ways may be taken
  bool is_pair = false;
  level_view searched[2];           // of a pair, in search order
  std::uint64_t always_admits = 0;  // filters that nobody asks: of a search from the bottom up

  /// Of the n-th bucket on the way of a search.
  unsigned level_of(unsigned n) const noexcept { return n < 4 && bottom_first ? 1 - n / 2 : n / 2; }
  /// Whether the level with this index lies right below the one before it.
  bool under_previous(unsigned index) const noexcept {
    return index > 0 && at[index - 1].log2 == at[index].log2 + 1;
  }
  /// Of the level of this size; `count` if there is none.
  unsigned index_of(unsigned log2) const noexcept {
    unsigned i = 0;
    while (i < count && at[i].log2 != log2) ++i;
    return i;
  }
  /// The level that is drained: the smallest, or the largest.
  const level_view& drained(const drain<M>& d) const noexcept {
    return at[at[0].log2 == d.log2 ? 0 : count - 1];
  }

  stripe_index stripes() const noexcept { return stripe_index{1} << stripe_bits; }
  stripe_index stripe_of(std::uint64_t place) const noexcept {
    return static_cast<stripe_index>(place >> stripe_shift);
  }
  std::uint64_t place_of(stripe_index stripe) const noexcept {
    return place_with(stripe, stripe_bits);
  }
  /// Calls visit(level, number of the bucket) for the buckets whose numbers begin with the first
  /// `bits` of the place; no level has fewer bits.
  template <class Visit>
  void for_each_bucket(std::uint64_t place, unsigned bits, Visit&& visit) const {
    for (unsigned i = 0; i < count; ++i) {
      std::uint64_t first = at[i].number(place), some = std::uint64_t{1} << (at[i].log2 - bits);
      for (std::uint64_t n = first; n < first + some; ++n) visit(at[i], n);
    }
  }
};

}  // namespace durahash::level
