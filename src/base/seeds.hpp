// What makes a pool's hashes its own (base/hash.hpp).
#pragma once

#include <cstdint>

namespace durahash {

/// Names word_hash, and XXH3-64 for bytes, in the superblock. In pools with the first id the last
/// step of word_hash multiplies by 1: words with a pattern gather in few buckets where the seeds
/// are unlucky (docs/lab/hash.md).
inline constexpr std::uint32_t hash_id_folded = 1, hash_id_spread = 2;

inline constexpr std::uint64_t spreading_factor = 0x9e3779b97f4a7c15;

struct hash_seeds {
  std::uint64_t flip = 0;                   ///< xor-ed into the key
  std::uint64_t multiply = 1;               ///< odd
  std::uint64_t spread = spreading_factor;  ///< or 1
};

}  // namespace durahash
