// Where a key may be, and what is noted of it there: all that follows from its hash.
// docs/reference/format.md, "level".
#pragma once

#include <cstdint>

#include "base/bits.hpp"
#include "base/hash.hpp"
#include "engine/level/format.hpp"
#include "persist/format.hpp"

namespace durahash::level {

// What a mixed hash says: from bit 44 on the class, from bit 52 on the tag. The tag's upper half
// says which of the second places the key has. In older pools the four bits behind the tag do.
inline constexpr unsigned second_places = 16;

/// Not its low bits alone: those are no hash of keys that count up.
constexpr std::uint64_t mixed(std::uint64_t hash) noexcept { return hash * 0x9e3779b97f4a7c15u; }
/// In the low byte.
constexpr std::uint32_t tag_of(std::uint64_t mixed_hash) noexcept {
  return static_cast<std::uint32_t>(mixed_hash >> 52);
}
constexpr std::uint8_t class_of(std::uint64_t mixed_hash) noexcept {
  return static_cast<std::uint8_t>((mixed_hash >> 44 & 0xff) * filter_classes >> 8);
}

/// What places have in common that begin with so many bits: at least one, and not all.
constexpr std::uint64_t first_bits(std::uint64_t place, unsigned bits) noexcept {
  return place >> (64 - bits);
}
/// The first of them.
constexpr std::uint64_t place_with(std::uint64_t first, unsigned bits) noexcept {
  return first << (64 - bits);
}

/// What a hash says: the two places, and what to look for there.
struct candidates {
  std::uint64_t place[2];
  std::uint64_t key_word;
  std::uint32_t tag;  // in the low byte
  std::uint8_t filter_class;
};

/// From a first place to a second one. Places with a prefix in common have one in common again.
struct second_map {
  std::uint64_t flip, carry;
  constexpr std::uint64_t operator()(std::uint64_t place) const noexcept {
    return place ^ flip ^ (((place ^ place >> 7) >> 1) & carry);
  }
};

/// What the tags of some records have in common: these bits, in the mask.
struct tag_bits {
  std::uint8_t mask, bits;
  constexpr bool in(std::uint8_t tag) const noexcept { return (tag & mask) == bits; }
};

inline constexpr tag_bits of_all{0, 0};

/// All of a pool's. Looked up by eight bits, of which four count: in all pools by one shift.
class second_maps {
 public:
  second_maps(const hash_seeds& seeds, std::uint64_t incompat)
      : tags_tell_((incompat & has_telling_tags) != 0) {
    const std::uint64_t words[2] = {seeds.flip, seeds.multiply};
    for (unsigned n = 0; n < second_places; ++n) {  // docs/reference/format.md
      const std::uint64_t flip = checksum(words, sizeof words, 2 * n) | std::uint64_t{1} << 63,
                          carry = checksum(words, sizeof words, 2 * n + 1) & low_bits(63);
      for (unsigned other = 0; other < 16; ++other) {
        const unsigned byte = tags_tell_ ? other << 4 | n : n << 4 | other;
        flips_[byte] = flip, carries_[byte] = carry;
      }
    }
  }
  second_map operator[](unsigned n) const noexcept {
    return {flips_[0x11 * n], carries_[0x11 * n]};
  }
  [[gnu::always_inline]] second_map of(std::uint64_t mixed_hash) const noexcept {
    return {flips_[mixed_hash >> 56], carries_[mixed_hash >> 56]};
  }
  std::uint64_t second_place(std::uint64_t hash) const noexcept { return of(mixed(hash))(hash); }
  candidates candidates_of(std::uint64_t hash, std::uint64_t key_word) const noexcept {
    const std::uint64_t m = mixed(hash);
    return {{hash, of(m)(hash)}, key_word, tag_of(m), class_of(m)};
  }
  /// Of a record's two places the one in the bucket that has this place, too: their first bits
  /// differ.
  std::uint64_t place_beside(std::uint64_t place, std::uint64_t hash) const noexcept {
    return first_bits(hash ^ place, 1) == 0 ? hash : second_place(hash);
  }
  /// Of the tags of records that have the n-th of the second places.
  tag_bits tags_of(unsigned n) const noexcept {
    return tags_tell_ ? tag_bits{0xf0, static_cast<std::uint8_t>(n << 4)} : of_all;
  }

 private:
  bool tags_tell_;
  std::uint64_t flips_[256], carries_[256];
};

/// Where the records are whose hashes begin with the first `bits` of a prefix: in buckets whose
/// numbers begin with the first `bits` of one of these places, with tags that have bits in common.
class places_of_prefix {
 public:
  struct place_of_some {
    std::uint64_t place;
    tag_bits tags;
  };
  places_of_prefix(const second_maps& maps, std::uint64_t prefix, unsigned bits) noexcept {
    auto note = [&](std::uint64_t place, tag_bits tags) {
      place = place_with(first_bits(place, bits), bits);
      for (unsigned n = 0; n < count_; ++n)
        if (all_[n].place == place)  // of few bits many are the same
          return static_cast<void>(all_[n].tags = of_all);
      all_[count_++] = {place, tags};
    };
    note(prefix, of_all);
    for (unsigned n = 0; n < second_places; ++n) note(maps[n](prefix), maps.tags_of(n));
  }
  const place_of_some* begin() const noexcept { return all_; }
  const place_of_some* end() const noexcept { return all_ + count_; }

 private:
  place_of_some all_[second_places + 1];
  unsigned count_ = 0;
};

}  // namespace durahash::level
