// Where TurboHash looks for a key: what follows from a hash, and from a bucket's commit word.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>

#include "engine/turbo/bucket.hpp"
#include "engine/turbo/mirror.hpp"
#include "engine/turbo/places.hpp"

namespace durahash::turbo {
namespace {

struct alignas(block_bytes) zeros {
  std::byte at[sizeof(bucket)] = {};
  bucket& as_bucket() noexcept { return *reinterpret_cast<bucket*>(at); }
};

constexpr std::uint64_t hashes[] = {
    0, 1, 0x8000000000000000u, 0x7fffffffffffffffu, 0xfedcba9876543210u, ~std::uint64_t{0}};

TEST(TurboPlaces, TheNodesOfALevelShareTheHashes) {
  for (unsigned level = 1; level <= max_shard_bits; ++level)
    for (std::uint64_t hash : hashes) {
      const split_hash at = split(hash, std::uint64_t{1} << level);
      const auto s = static_cast<shard_index>(at.shard);
      EXPECT_EQ(level_of(s), level);
      EXPECT_EQ(s, (shard_index{1} << level) + static_cast<shard_index>(hash >> (64 - level)));
      EXPECT_TRUE(belongs(s, hash));
      EXPECT_FALSE(belongs(s ^ 1, hash));
      EXPECT_EQ(at.rest, rest_in(s, hash));
    }
}

TEST(TurboPlaces, AHashBelongsToOneHalfOfItsShard) {
  for (std::uint64_t hash : hashes) {
    const auto s = static_cast<shard_index>(split(hash, 64).shard);
    const auto half = static_cast<shard_index>(split(hash, 128).shard);
    EXPECT_EQ(half / 2, s);
    EXPECT_EQ(half % 2, rest_in(s, hash) >> 63);
    EXPECT_TRUE(belongs(half, hash));
    EXPECT_FALSE(belongs(half ^ 1, hash));
  }
}

TEST(TurboPlaces, AShardsHashesBeginWhereThoseBeforeItEnd) {
  for (unsigned level : {1u, 6u, max_shard_bits}) {
    const std::uint64_t nodes = std::uint64_t{1} << level;
    for (std::uint64_t s : {nodes, nodes + 1, 2 * nodes - 1}) {
      const std::uint64_t first = first_hash_of(s, level);
      EXPECT_TRUE(belongs(static_cast<shard_index>(s), first));
      EXPECT_TRUE(belongs(static_cast<shard_index>(s), first_hash_of(s + 1, level) - 1));
      if (s != nodes) {
        EXPECT_FALSE(belongs(static_cast<shard_index>(s), first - 1));
      }
    }
    EXPECT_EQ(first_hash_of(2 * nodes, level), 0u);
  }
}

/// The mirror has the same in fewer instructions: searches ask it for bytes.
TEST(TurboPlaces, TheMirrorNamesTheSameHomeBucket) {
  const shard_index s = 64 + 13;
  for (unsigned log2 : {0u, 1u, 7u, max_log2_buckets}) {
    const auto v = shard_view::of(directory_entry::of(65536, log2), 3);
    for (std::uint64_t hash : hashes) {
      EXPECT_LT(home_of(s, hash, log2), std::uint64_t{1} << log2);
      EXPECT_EQ(v.home_byte(rest_in(s, hash)), home_of(s, hash, log2) * block_bytes);
    }
  }
  EXPECT_EQ(home_of(s, ~std::uint64_t{0}, 7), 127u);
  EXPECT_EQ(home_of(s, 0, 7), 0u);
}

TEST(TurboPlaces, ANewRecordGoesToADeletedSlotOrElseToAnEmptyOne) {
  meta_word meta;
  EXPECT_EQ(open_in(meta), all_slots);
  for (std::size_t slot : {0u, 5u, 13u}) meta = meta.with_filled(slot);
  EXPECT_EQ(open_in(meta), all_slots & ~(1u | 1u << 5 | 1u << 13));
  EXPECT_EQ(open_in(meta.with_deleted(5)), 1u << 5);
}

TEST(TurboPlaces, ANewRecordGoesToTheFirstLineOrElseToTheEndThatItsHashTells) {
  constexpr std::uint64_t from_the_front = 0, from_the_back = 128;
  for (std::uint64_t hash : {from_the_front, from_the_back}) {
    EXPECT_EQ(best_of(all_slots, hash), 0u);
    EXPECT_EQ(best_of(all_slots & ~1u, hash), 1u);
  }
  const std::uint32_t behind = all_slots & ~slots_of_first_line;
  EXPECT_EQ(best_of(behind, from_the_front), 2u);
  EXPECT_EQ(best_of(behind, from_the_back), 13u);
  EXPECT_EQ(best_of(1u << 7, from_the_front), 7u);
  EXPECT_EQ(best_of(1u << 7, from_the_back), 7u);
}

/// The slot lies where a search asks for lines ahead, as long as that line has room.
TEST(TurboPlaces, TheLineThatIsAskedForIsWhereTheSlotIs) {
  zeros memory;
  const bucket& b = memory.as_bucket();
  for (std::uint64_t hash : {std::uint64_t{0}, std::uint64_t{128}}) {
    const char* const line = near_line(&b, hash);
    const std::size_t slot = best_behind(all_slots & ~slots_of_first_line, hash);
    const auto* const at = reinterpret_cast<const char*>(&slot_in(b, slot));
    EXPECT_GE(at, line);
    EXPECT_LE(at + sizeof(turbo::slot), line + line_bytes);
  }
}

TEST(TurboPlaces, SlotsAreSixteenBytesApart) {
  zeros memory;
  bucket& b = memory.as_bucket();
  std::set<const void*> seen;
  for (std::size_t i = 0; i < slots_per_bucket; ++i) {
    EXPECT_EQ(&slot_in(b, i), &b.slots[i]);
    seen.insert(&slot_in(std::as_const(b), i));
  }
  EXPECT_EQ(seen.size(), std::size_t{slots_per_bucket});
}

}  // namespace
}  // namespace durahash::turbo
