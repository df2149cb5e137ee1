// Hashing, seeded per pool against hash flooding. The id and the seeds stand in the superblock
// (docs/reference/format.md).
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/bits.hpp"
#include "base/seeds.hpp"

namespace durahash {

/// One widening multiplication, both halves folded, and one that takes every bit to the high bits,
/// which choose shard and bucket.
inline std::uint64_t word_hash(std::uint64_t key, const hash_seeds& seeds) noexcept {
  __extension__ using wide = unsigned __int128;
  wide product = static_cast<wide>(key ^ seeds.flip) * seeds.multiply;
  return (static_cast<std::uint64_t>(product >> 64) ^ static_cast<std::uint64_t>(product)) *
         seeds.spread;
}

/// XXH3-64. Most keys have 9 to 16 bytes: of these it is written out, and no call.
[[gnu::always_inline]] inline std::uint64_t xxh3(const char* bytes, std::size_t count,
                                                 std::uint64_t seed) noexcept {
  if (count < 9 || count > 16) return XXH3_64bits_withSeed(bytes, count, seed);
  std::uint64_t low, high;
  std::memcpy(&low, bytes, 8), std::memcpy(&high, bytes + count - 8, 8);
  low ^= 0x6782737bea4239b9u + seed, high ^= 0xaf56bc3b0996523au - seed;  // of the default secret
  const wide_product product = multiply_wide(low, high);
  std::uint64_t x = count + __builtin_bswap64(low) + high + (product.low ^ product.high);
  x = (x ^ x >> 37) * 0x165667919e3779f9u;
  return x ^ x >> 32;
}

[[gnu::always_inline]] inline std::uint64_t bytes_hash(std::string_view key,
                                                       const hash_seeds& seeds) noexcept {
  return xxh3(key.data(), key.size(), seeds.flip);
}

/// The sum of this over a table's records is their digest. Of one record, other bits always give
/// another result: each step can be undone.
constexpr std::uint64_t record_digest(std::uint64_t key, std::uint64_t value) noexcept {
  std::uint64_t x = key * 0x9e3779b97f4a7c15u ^ value;
  x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
  x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
  return x ^ x >> 32;
}

/// Checksum of stored structures: XXH3-64.
inline std::uint64_t checksum(const void* bytes, std::size_t count,
                              std::uint64_t seed = 0) noexcept {
  return XXH3_64bits_withSeed(bytes, count, seed);
}

}  // namespace durahash
