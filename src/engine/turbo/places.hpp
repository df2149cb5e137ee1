// Where in the tree of shards a key is, and in its shard's array: all that follows from its hash.
// docs/reference/format.md, "turbo".
#pragma once

#include <bit>
#include <cstdint>

#include "base/bits.hpp"

namespace durahash::turbo {

/// Shards are the nodes of a binary tree over the first bits of the hash. A node's index is those
/// bits behind a 1: those of the directory come first, the halves of s are 2s and 2s + 1.
using shard_index = std::uint32_t;

/// The node of a level to which a hash belongs, and the hash without that node's bits.
struct split_hash {
  std::uint64_t shard, rest;
};

/// `nodes`: as many as the level has, a power of two.
[[gnu::always_inline]] inline split_hash split(std::uint64_t hash, std::uint64_t nodes) noexcept {
  const wide_product both = multiply_wide(hash, nodes);  // fewer instructions than two shifts
  return {both.high + nodes, both.low};
}
constexpr unsigned level_of(shard_index s) noexcept {
  return static_cast<unsigned>(std::bit_width(s)) - 1;
}
/// The hash without the shard's bits.
constexpr std::uint64_t rest_in(shard_index s, std::uint64_t hash) noexcept {
  return hash << level_of(s);
}
/// The number of the home bucket.
constexpr std::uint64_t home_of(shard_index s, std::uint64_t hash, unsigned log2_buckets) noexcept {
  return rest_in(s, hash) >> 1 >> (63 - log2_buckets);
}
/// Of a shard below the first level.
constexpr bool belongs(shard_index s, std::uint64_t hash) noexcept {
  const unsigned level = level_of(s);
  return (std::uint64_t{1} << level | hash >> (64 - level)) == s;
}
/// The first hash of the shard; of the one behind a level's last one 0.
constexpr std::uint64_t first_hash_of(std::uint64_t s, unsigned level) noexcept {
  return s << (64 - level);
}
/// What a bucket notes of a record.
constexpr std::uint8_t tag_of(std::uint64_t hash) noexcept {
  return static_cast<std::uint8_t>(hash);
}

}  // namespace durahash::turbo
