// GPHash: the table in the hands of somebody who reads and writes its slots himself, a device's
// kernels, by the same rules.
#pragma once

#include "engine/gphash/places.hpp"
#include "persist/pm.hpp"

namespace durahash::gphash {

/// A level that the borrower writes, every word of it.
struct leased_level {
  pm<std::uint64_t>* first;
  unsigned log2;
};

/// Where everything lies, as the borrower's addresses. Trivially copyable: a kernel's parameter.
struct leased_table {
  places where;
  pm<std::uint64_t>* levels[max_levels];  // from the top down
  unsigned log2[max_levels];
  slot* escapes;

  static leased_table none() noexcept { return {places({}, {}), {}, {}, nullptr}; }
  constexpr unsigned lanes() const noexcept { return where.form().lanes(); }
  /// States and values: all of a bucket without keys.
  constexpr unsigned words_per_bucket() const noexcept { return 2u << where.form().slots_log2; }
  constexpr std::uint64_t words_of(unsigned level_log2) const noexcept {
    return std::uint64_t{words_per_bucket()} << level_log2;
  }
  /// Buckets are numbered through all levels, from the top down.
  constexpr std::uint64_t first_bucket(unsigned level) const noexcept {
    std::uint64_t before = 0;
    for (unsigned l = 0; l < level; ++l) before += std::uint64_t{1} << log2[l];
    return before;
  }
  constexpr std::uint64_t buckets() const noexcept { return first_bucket(where.form().levels); }
  constexpr pm<std::uint64_t>* bucket(std::uint64_t number) const noexcept {
    unsigned level = 0;
    while (number >> log2[level] != 0) number -= std::uint64_t{1} << log2[level++];
    return levels[level] + number * where.form().bucket_words();
  }
  constexpr unsigned bottom() const noexcept { return where.form().levels - 1; }
  constexpr std::uint64_t bottom_buckets() const noexcept {
    return std::uint64_t{1} << log2[bottom()];
  }
  /// Of a hash without an escape slot, in buckets without keys: the slot that is a lane's.
  /// `f` is the table's shape, which the caller may know when it is compiled.
  constexpr pm<std::uint64_t>& state_of(const shape& f, std::uint64_t hash,
                                        unsigned lane) const noexcept {
    return bucket_of(f, hash, lane)[lane & (f.slots - 1)];
  }
  constexpr pm<std::uint64_t>& value_of(const shape& f, std::uint64_t hash,
                                        unsigned lane) const noexcept {
    return bucket_of(f, hash, lane)[f.slots + (lane & (f.slots - 1))];
  }
  constexpr unsigned slot_in(unsigned lane) const noexcept {
    return lane & (where.form().slots - 1);
  }
  /// A lane's bucket: its level, and its number there.
  struct bucket_name {
    unsigned level;
    std::uint64_t index;
  };
  constexpr bucket_name bucket_for(const shape& f, std::uint64_t hash,
                                   unsigned lane) const noexcept {
    unsigned bucket = lane >> f.slots_log2, level = bucket / f.hashes, which = bucket % f.hashes;
    return {level, where.place(hash, which) >> (64 - log2[level])};
  }

 private:
  constexpr pm<std::uint64_t>* bucket_of(const shape& f, std::uint64_t hash,
                                         unsigned lane) const noexcept {
    bucket_name b = bucket_for(f, hash, lane);
    return levels[b.level] + (b.index << f.words_log2());
  }
};

}  // namespace durahash::gphash
