// What makes a pool's hashes its own (base/hash.hpp).
#pragma once

#include <cstdint>

namespace durahash {

struct hash_seeds {
  std::uint64_t flip = 0;      ///< xor-ed into the key
  std::uint64_t multiply = 1;  ///< odd
};

/// Of a new pool: nobody can guess them, and the multiplier spreads well. Cost: 77 tries on average
/// (docs/lab/hash.md).
hash_seeds draw_hash_seeds();

/// Whether word_hash spreads keys that count up, by one or by another usual step, over the buckets
/// of a table. Multiples of a word, as fractions of 2^64, gather where a partial quotient q of
/// word / 2^64 is large: about 2 sqrt(q) of them where there should be four.
bool spreads_well(std::uint64_t multiply) noexcept;

}  // namespace durahash
