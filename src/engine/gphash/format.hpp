// GPHash on the medium: the root, levels, buckets, state words. docs/reference/format.md, "gphash".
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/bits.hpp"
#include "base/seeds.hpp"
#include "engine/place.hpp"
#include "persist/pm.hpp"

namespace durahash::gphash {

inline constexpr unsigned max_levels = 4, max_hashes = 4, max_slots = 16;
inline constexpr unsigned level_sizes = 40;  // a level has 2^2 to 2^39 buckets
// log2 of the smallest bottom level: the places of a key differ in their first two bits
inline constexpr unsigned min_bottom = 2;

/// What a state word can be besides a fingerprint (§3.2.3, "slot states"). Fresh zeroed memory is
/// empty.
inline constexpr std::uint64_t empty_state = 0, claimed_state = 1;
inline constexpr std::uint64_t first_fingerprint = 8;  // the words between stand for nothing yet
inline constexpr std::uint64_t escape_fingerprint = ~std::uint64_t{0};

inline constexpr unsigned min_key_bytes = 8, max_key_bytes = 128;  // of keys in the slots
// of its bytes, hence of its offset: what a GPU reads at once
inline constexpr std::uint64_t keyed_bucket_multiple = 128;

/// How a bucket is laid out: the state words, the value words, the keys.
struct shape {
  unsigned levels, hashes, slots, slots_log2;
  unsigned key_bytes = 0;  // of each slot's key; 0: none lies there

  friend bool operator==(const shape&, const shape&) = default;
  /// Slots that a key may be in: one for each lane of a warp.
  constexpr unsigned lanes() const noexcept { return levels * hashes << slots_log2; }
  /// So many empty ones, or fewer, are few: before none is left there is time for growth.
  constexpr int few_slots() const noexcept { return std::max(1, static_cast<int>(lanes() / 16)); }
  /// States and values: all that changes of a record while it is there.
  constexpr unsigned words_log2() const noexcept { return slots_log2 + 1; }
  constexpr std::uint64_t words_bytes() const noexcept { return std::uint64_t{8} << words_log2(); }
  constexpr std::uint64_t bucket_bytes() const noexcept {
    if (key_bytes == 0) return words_bytes();
    return (words_bytes() + std::uint64_t{slots} * key_bytes + keyed_bucket_multiple - 1) /
           keyed_bucket_multiple * keyed_bucket_multiple;
  }
  constexpr std::size_t bucket_words() const noexcept {
    return static_cast<std::size_t>(bucket_bytes() / 8);
  }
  constexpr unsigned key_words() const noexcept { return key_bytes / 8; }
  constexpr std::uint64_t level_bytes(unsigned log2) const noexcept {
    std::uint64_t bytes = bucket_bytes() << log2;
    return bytes < block_bytes ? block_bytes : bytes;
  }
  /// A value lies in its state's line.
  constexpr bool one_line() const noexcept { return words_bytes() <= line_bytes; }
};

/// Where the levels begin: bits 0-5 log2 of the bottom level, 6 the bank; 7 set; 8-63 check.
struct geometry {
  std::uint64_t word = 0;

  static constexpr std::uint64_t check_bits(std::uint64_t low) noexcept {
    return (low * 0x9e3779b97f4a7c15u) >> 8 << 8;
  }
  static constexpr geometry of(unsigned bottom, unsigned bank) noexcept {
    std::uint64_t low = bottom | bank << 6 | 1u << 7;
    return {low | check_bits(low)};
  }
  constexpr bool none() const noexcept { return word == 0; }
  constexpr unsigned bottom() const noexcept { return word & 63; }
  constexpr unsigned bank() const noexcept { return word >> 6 & 1; }
  constexpr bool sound() const noexcept {
    return (word >> 7 & 1) != 0 && check_bits(word & 255) == (word & ~std::uint64_t{255});
  }
};

struct slot {
  pm<std::uint64_t> state;
  pm<std::uint64_t> value;
};

/// In front of the heap.
struct root {
  pm<std::uint64_t> geometry;
  pm<std::uint64_t> reserved[7];
  // by bank and log2 of the buckets: a checked_place with that exponent
  pm<std::uint64_t> levels[2][level_sizes];
  // for the u64 keys whose mixture is no fingerprint, by it
  slot escapes[first_fingerprint];
};
static_assert(sizeof(root) == 64 + 2 * level_sizes * 8 + 128 &&
              offsetof(root, escapes) % line_bytes == 0);

/// The n-th word of a key as it lies in a slot.
inline std::uint64_t word_of_key(std::string_view key, unsigned n) noexcept {
  std::uint64_t word;
  std::memcpy(&word, key.data() + n * sizeof word, sizeof word);
  return word;
}

/// A bijection of words whose high bits depend on all of the key: the fingerprint of a u64 key is
/// the key.
class mixer {
 public:
  constexpr explicit mixer(const hash_seeds& seeds) noexcept
      : flip_(seeds.flip),
        multiply_(seeds.multiply | 1),
        inverse_(inverse_of(seeds.multiply | 1)) {}
  constexpr std::uint64_t mix(std::uint64_t key) const noexcept {
    std::uint64_t x = (key ^ flip_) * multiply_;
    x = (x ^ x >> 32) * second;
    return x ^ x >> 32;
  }
  constexpr std::uint64_t key_of(std::uint64_t mixed) const noexcept {
    std::uint64_t x = (mixed ^ mixed >> 32) * inverse_of(second);
    return ((x ^ x >> 32) * inverse_) ^ flip_;
  }

 private:
  static constexpr std::uint64_t second = 0xd6e8feb86659fd93u;
  /// Of an odd number, modulo 2^64: each step doubles the bits that are right.
  static constexpr std::uint64_t inverse_of(std::uint64_t odd) noexcept {
    std::uint64_t x = odd;
    for (int step = 0; step < 5; ++step) x *= 2 - odd * x;
    return x;
  }
  std::uint64_t flip_, multiply_, inverse_;
};

/// Settings in the superblock, by index.
enum setting : std::size_t {
  levels,
  hashes,
  slots,
  first_top,
  cache,
  cache_policy,
  key_bytes,
  stop_to_grow
};

/// Slots of a table with this top level.
constexpr std::uint64_t slots_of(const shape& s, unsigned top) noexcept {
  std::uint64_t buckets = 0;
  for (unsigned n = 0; n < s.levels; ++n) buckets += std::uint64_t{1} << (top - n);
  return buckets << s.slots_log2;
}

/// The size of a top level with which a table holds so many records, filled to four fifths.
constexpr unsigned top_for(std::uint64_t records, const shape& s) noexcept {
  unsigned top = min_bottom + s.levels - 1;
  while (top + 1 < level_sizes && slots_of(s, top) / 5 * 4 < records) ++top;
  return top;
}

/// log2 of how many of these records find every bucket of theirs full, by chance: at most so many
/// are expected, since each is counted in all of its buckets.
inline double log2_of_overflows(const shape& s, unsigned top, double records) noexcept {
  double arrangements = 0, log2_chance = 0;
  for (unsigned n = 2; n <= s.slots; ++n) arrangements += std::log2(n);
  for (unsigned level = 0; level < s.levels; ++level) {
    double per_bucket = std::log2(records * s.hashes) - (top - level);
    log2_chance += s.hashes * std::min(0.0, s.slots * per_bucket - arrangements);
  }
  return std::log2(records) + log2_chance;
}

/// Whether a record that found no room in levels of this size would find none in larger ones
/// either. It takes keys whose hashes agree in more bits than chance makes agree: damage, or
/// somebody who knows the seeds. Few large buckets never overflow by chance; many small ones may.
inline bool growth_is_vain(const shape& s, unsigned top, std::uint64_t records) noexcept {
  constexpr std::uint64_t min_records = 64, slots_per_record = 256;
  constexpr double one_table_in_a_million = -20;
  return slots_of(s, top) / slots_per_record > std::max(records, min_records) &&
         log2_of_overflows(s, top, static_cast<double>(records + 1)) < one_table_in_a_million;
}

}  // namespace durahash::gphash
