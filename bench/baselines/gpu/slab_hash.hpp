// SlabHash's shape (IPDPS'18), as GPHash's paper compares with it: a bucket is a list of slabs of
// 128 bytes, 15 pairs and the next slab's number. It lies in pinned memory, in a pool's place. For
// counting on the interpreter and for its test; not for data.
//
// Find     a warp reads a slab at once, one list after another: of its 32 operations one at a time.
// Insert   the whole list is looked at for the key; then the first empty pair, by compare and swap.
// Erase    the pair becomes a tombstone, which nobody uses again.
// Crash    as GPHash §4.1 has it, by a log: an entry for each warp, of the pair that it changes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/key_hash.hpp"
#include "durahash/status.hpp"

namespace durahash::baselines {

/// Keys and values of 32 bits, as published: a pair is one word, and is never torn.
struct slab_lists {
  static constexpr unsigned pairs = 15, words_per_slab = 16;  // 128 bytes
  static constexpr std::uint32_t empty_key = ~0u, erased_key = ~1u;
  static constexpr std::uint64_t nothing = ~std::uint64_t{0};  // a pair, or no next slab

  std::uint64_t* slabs;             // of all bits 1 to begin with; the first ones are the buckets
  std::uint64_t* log;               // two words for each warp; 0 to begin with
  std::uint32_t* slabs_in_use;      // of the device's
  std::uint32_t buckets, capacity;  // slabs
  bool logs;

  static constexpr std::uint32_t key_of(std::uint64_t pair) {
    return static_cast<std::uint32_t>(pair);
  }
  static constexpr std::uint32_t value_of(std::uint64_t pair) {
    return static_cast<std::uint32_t>(pair >> 32);
  }
  static constexpr std::uint64_t pair_of(std::uint32_t key, std::uint32_t value) {
    return key | std::uint64_t{value} << 32;
  }
  static constexpr bool takes(std::uint32_t key) { return key < erased_key; }
  constexpr std::uint32_t bucket_of(std::uint32_t key) const {
    std::uint32_t hash = (key ^ key >> 16) * 0x85ebca6bu;
    hash = (hash ^ hash >> 13) * 0xc2b2ae35u;
    return static_cast<std::uint32_t>(std::uint64_t{hash} * buckets >> 32);
  }
  /// A log's entry that a crash has torn is told by this. Never 0.
  static constexpr std::uint64_t log_mark(std::uint64_t old, std::uint32_t place) {
    const std::uint64_t mixed = (old ^ place) * 0x9e3779b97f4a7c15u;
    return place | (mixed >> 33 | 1u << 30) << 32;
  }
};

/// Longer keys, as GPHash's figure 12(a) has them: a pair names its record, which has the key. How
/// the paper's SlabHash holds such keys is not told; that it reads them whole is.
struct slab_records {
  slab_lists lists;
  key_hash hashing;
  std::uint64_t* words;  // records of key and value, which lie where the lists do
  std::uint32_t key_words, value_words;

  constexpr std::uint64_t* record(std::uint32_t number) const {
    return words + std::uint64_t{number} * (key_words + value_words);
  }
  constexpr std::uint32_t bucket_of(const std::uint64_t* key) const {
    const std::uint64_t hash = hashing.of(key, key_words);
    return static_cast<std::uint32_t>((hash >> 32) * lists.buckets >> 32);
  }
};

enum class slab_operation : std::uint8_t { find, insert, update, erase };

/// `blocks` of 256 threads, on the default stream; done when it returns. Arrays where the device
/// reaches them: of pinned memory. A find writes the values. Answers: ok, exists, not_found,
/// no_space. Returns false where the device failed.
bool run_slab_lists(const slab_lists& lists, slab_operation does, unsigned blocks, std::size_t n,
                    const std::uint32_t* keys, std::uint32_t* values, status* answers);

inline constexpr unsigned slab_warps_per_block = 8;

/// After a crash: takes back what the log of so many warps tells of.
void recover_slab_lists(const slab_lists& lists, unsigned warps);
/// By the processor. Returns whether the key is there.
bool find_in_slab_lists(const slab_lists& lists, std::uint32_t key, std::uint32_t& value);

/// By the processor: appends the record of that number, whose key is new. `slabs_in_use`: of the
/// lists. Returns false where all slabs are in use.
bool add_record(const slab_records& all, std::uint32_t number, std::uint32_t& slabs_in_use);
/// As run_slab_lists. The values of keys that are there are copied. Answers: ok, not_found.
bool find_records(const slab_records& all, unsigned blocks, std::size_t n,
                  const std::uint64_t* keys, std::uint64_t* values, status* answers);

}  // namespace durahash::baselines
