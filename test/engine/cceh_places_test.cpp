// What CCEH's table and its readers beside a writer make of a hash alone.
#include "engine/cceh/places.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <random>
#include <vector>

#include "engine/kinds.hpp"

namespace durahash::cceh {
namespace cceh_places {

constexpr std::uint64_t all_ones = ~std::uint64_t{0}, highest = std::uint64_t{1} << 63;

segment_shape shape_of(std::uint64_t log2, std::uint64_t probe) {
  setting_words settings{};
  settings[setting::segment_log2] = log2, settings[setting::probe] = probe;
  return segment_shape(settings);
}

TEST(CcehPlaces, APrefixIsTheFirstBitsOfItsHash) {
  EXPECT_EQ(shifted(all_ones, 0), 0u);
  EXPECT_EQ(shifted(highest, 1), 1u);
  EXPECT_EQ(shifted(highest - 1, 1), 0u);
  EXPECT_EQ(shifted(all_ones, max_depth), 0xffff'ffffu);
  EXPECT_EQ(shifted(all_ones, 63), all_ones >> 1);
  EXPECT_EQ(prefix_of(all_ones, 0), 0u);
  EXPECT_EQ(prefix_of(all_ones, 1), highest);
  EXPECT_EQ(prefix_of(all_ones, 63), all_ones - 1);
  for (unsigned depth = 0; depth <= 63; ++depth) {
    EXPECT_EQ(prefix_mask(depth), prefix_of(all_ones, depth)) << depth;
    EXPECT_EQ(std::popcount(prefix_mask(depth)), static_cast<int>(depth));
  }
}

/// One behind the other, and each hash in one of them.
TEST(CcehPlaces, PrefixesOfADepthShareOutAllHashes) {
  std::mt19937_64 random(23);
  for (unsigned depth = 0; depth <= max_depth; ++depth)
    for (int round = 0; round < 200; ++round) {
      const std::uint64_t hash = round == 0   ? 0
                                 : round == 1 ? all_ones
                                              : random(),
                          prefix = prefix_of(hash, depth), end = end_of(prefix, depth);
      for (std::uint64_t inside : {prefix, hash, end - 1})
        EXPECT_TRUE(begins_with(inside, prefix, depth)) << depth << " bits of " << hash;
      if (depth == 0) {
        EXPECT_EQ(end, 0u);
        continue;
      }
      EXPECT_FALSE(begins_with(end, prefix, depth)) << depth << " bits of " << hash;
      EXPECT_FALSE(begins_with(prefix - 1, prefix, depth)) << depth << " bits of " << hash;
      EXPECT_EQ(end == 0, shifted(hash, depth) == low_bits(depth)) << "the last one ends with all";
      EXPECT_EQ(shifted(end, depth), (shifted(hash, depth) + 1) & low_bits(depth));
    }
}

TEST(CcehPlaces, HalvesOfAPrefixAreBuddies) {
  for (std::uint64_t hash : {std::uint64_t{0}, all_ones, std::uint64_t{0x9e3779b97f4a7c15}})
    for (unsigned depth = 1; depth <= max_depth; ++depth) {
      const std::uint64_t whole = prefix_of(hash, depth - 1), right = right_half_of(whole, depth);
      EXPECT_EQ(end_of(whole, depth), right);
      EXPECT_EQ(end_of(right, depth), end_of(whole, depth - 1));
    }
}

TEST(CcehPlaces, ADirectoryTakesABlockAtLeast) {
  EXPECT_EQ(directory_bytes(0), block_bytes);
  EXPECT_EQ(directory_bytes(5), block_bytes);
  EXPECT_EQ(directory_bytes(6), 2 * block_bytes);
  EXPECT_EQ(directory_bytes(max_depth), std::uint64_t{8} << max_depth);
}

/// Also keys that count up, whose hashes differ in their low bits alone.
TEST(CcehPlaces, HomesAreSpreadOverAllBuckets) {
  for (unsigned log2 : {2u, 8u, 12u}) {
    const segment_shape shape = shape_of(log2, 8);
    std::vector<int> homes(shape.buckets());
    const std::uint64_t hashes = 16 * shape.buckets();
    for (std::uint64_t hash = 0; hash < hashes; ++hash) {
      ASSERT_LT(shape.home_of(hash), shape.buckets());
      ++homes[shape.home_of(hash)];
    }
    for (int each : homes) EXPECT_NEAR(each, 16, 8) << log2;
  }
}

TEST(CcehPlaces, BucketsLieInACircle) {
  const segment_shape shape = shape_of(4, 8);
  EXPECT_EQ(shape.buckets(), 16u);
  EXPECT_EQ(shape.slots(), 64u);
  EXPECT_EQ(shape.bytes(), 1024u);
  std::uint64_t hash = 0;
  while (shape.home_of(hash) != shape.mask()) ++hash;
  EXPECT_EQ(shape.distance_of(hash, 15), 0u);
  EXPECT_EQ(shape.distance_of(hash, 0), 1u);
  EXPECT_EQ(shape.distance_of(hash, 14), 15u);
  EXPECT_TRUE(shape.may_hold(15, hash));
  EXPECT_TRUE(shape.may_hold(6, hash));  // the eighth
  EXPECT_FALSE(shape.may_hold(7, hash));
  EXPECT_FALSE(shape.may_hold(14, hash));
}

TEST(CcehPlaces, AProbeIsNoLongerThanASegment) {
  EXPECT_EQ(shape_of(2, 8).probe, 4u);
  EXPECT_EQ(shape_of(3, 8).probe, 8u);
  EXPECT_EQ(shape_of(12, 256).probe, 256u);
  EXPECT_FALSE(shape_of(1, 8).is_possible());
  EXPECT_FALSE(shape_of(13, 8).is_possible());
  EXPECT_FALSE(shape_of(200, 8).is_possible());
}

TEST(CcehPlaces, TwoWordsEscape) {
  for (std::uint64_t key : {empty_word, removed_word}) EXPECT_TRUE(escapes<word_records>(key));
  for (std::uint64_t key : {std::uint64_t{1}, removed_word - 1, highest})
    EXPECT_FALSE(escapes<word_records>(key));
  EXPECT_NE(escape_word_of(empty_word), escape_word_of(removed_word));
  for (std::uint64_t key : {empty_word, removed_word}) {
    EXPECT_NE(escape_word_of(key), empty_word);
    EXPECT_NE(escape_word_of(key), removed_word);
  }
}

/// A hash, and where a slot says that it has no record.
template <std::uint64_t Hash>
struct records_that_hash_to {
  using key_type = std::uint64_t;
  static constexpr bool in_slot = false;
  static std::uint64_t hash(key_type, const hash_seeds&) { return Hash; }
};

TEST(CcehPlaces, NoHashOfBytesIsAWordThatSaysThereIsNoRecord) {
  EXPECT_EQ(hash_of<records_that_hash_to<empty_word>>(7, {}), 1u);
  EXPECT_EQ(hash_of<records_that_hash_to<removed_word>>(7, {}), removed_word - 1);
  EXPECT_EQ(hash_of<records_that_hash_to<highest>>(7, {}), highest);
}

}  // namespace cceh_places
}  // namespace durahash::cceh
