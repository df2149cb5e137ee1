// Where an iteration of level looks for the records whose hashes begin with a prefix.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "engine/level/levels_view.hpp"
#include "engine/level/places.hpp"
#include "media/process_medium.hpp"

namespace durahash::level {
namespace {

/// Of few bits several places are one, and hold records with the tags of all of them.
TEST(LevelPlaces, OfAPrefixAreThoseOfEveryHashThatBeginsWithIt) {
  std::mt19937_64 random(19);
  for (const std::uint64_t incompat : {std::uint64_t{0}, has_telling_tags})
    for (int round = 0; round < 50; ++round) {
      const second_maps maps({random(), random() | 1, 1}, incompat);
      for (unsigned bits = 1; bits <= 20; ++bits) {
        const std::uint64_t prefix = random();
        const places_of_prefix places(maps, prefix, bits);
        for (auto* p = places.begin(); p != places.end(); ++p)
          for (auto* q = places.begin(); q != p; ++q) EXPECT_NE(p->place, q->place);
        for (int n = 0; n < 64; ++n) {
          const std::uint64_t hash =
              (prefix & ~low_bits(64 - bits)) | (random() & low_bits(64 - bits));
          const std::uint64_t m = mixed(hash);
          const auto tag = static_cast<std::uint8_t>(tag_of(m));
          for (const std::uint64_t at : {hash, maps.of(m)(hash)})
            EXPECT_TRUE(std::any_of(places.begin(), places.end(),
                                    [&](const auto& p) {
                                      return (p.place ^ at) >> (64 - bits) == 0 && p.tags.in(tag);
                                    }))
                << bits << " bits";
        }
      }
    }
}

TEST(LevelPlaces, FirstBitsAreThoseAtTheTop) {
  EXPECT_EQ(first_bits(std::uint64_t{1} << 63, 1), 1u);
  EXPECT_EQ(first_bits(~std::uint64_t{0} >> 1, 1), 0u);
  EXPECT_EQ(first_bits(~std::uint64_t{0}, 31), low_bits(31));
  EXPECT_EQ(first_bits(~std::uint64_t{0} << 1, 63), low_bits(63));
  EXPECT_EQ(place_with(1, 1), std::uint64_t{1} << 63);
  EXPECT_EQ(place_with(low_bits(63), 63), ~std::uint64_t{1});
  std::mt19937_64 random(20);
  for (unsigned bits = 1; bits < 64; ++bits) {
    const std::uint64_t place = random(), first = place_with(first_bits(place, bits), bits);
    EXPECT_EQ(first, place & ~low_bits(64 - bits));
    EXPECT_EQ(first_bits(first | low_bits(64 - bits), bits), first_bits(place, bits));
  }
}

TEST(LevelPlaces, TagAndClassAreBitsOfTheMixedHash) {
  EXPECT_EQ(tag_of(std::uint64_t{1} << 52) & 0xff, 1u);
  EXPECT_EQ(tag_of(std::uint64_t{1} << 59) & 0xff, 0x80u);
  EXPECT_EQ(tag_of(low_bits(52) | std::uint64_t{0xf} << 60) & 0xff, 0u);
  EXPECT_EQ(class_of(~(std::uint64_t{0xff} << 44)), 0u);
  EXPECT_EQ(class_of(std::uint64_t{0xff} << 44), filter_classes - 1);
  unsigned classes = 0;
  for (std::uint64_t bits = 0; bits < 256; ++bits) classes |= 1u << class_of(bits << 44);
  EXPECT_EQ(classes, low_bits(filter_classes));
}

/// So that of a record's places the one in a bucket is known by the bucket's number.
TEST(LevelPlaces, TheTwoOfARecordDifferInTheirFirstBit) {
  std::mt19937_64 random(21);
  for (const std::uint64_t incompat : {std::uint64_t{0}, has_telling_tags}) {
    const second_maps maps({random(), random() | 1, 1}, incompat);
    for (int n = 0; n < 10000; ++n) {
      const std::uint64_t hash = n == 0 ? 0 : n == 1 ? ~std::uint64_t{0} : random();
      const candidates s = maps.candidates_of(hash, 7);
      EXPECT_EQ(s.place[0], hash);
      EXPECT_EQ(s.place[1], maps.second_place(hash));
      EXPECT_EQ(s.key_word, 7u);
      EXPECT_EQ(s.tag, tag_of(mixed(hash)));
      EXPECT_EQ(s.filter_class, class_of(mixed(hash)));
      EXPECT_EQ(first_bits(s.place[0] ^ s.place[1], 1), 1u);
      for (const std::uint64_t place : s.place)
        for (const unsigned bits : {1u, 14u, 31u}) {
          const std::uint64_t first = place_with(first_bits(place, bits), bits);
          EXPECT_EQ(maps.place_beside(first, hash), place);
          EXPECT_EQ(maps.place_beside(first | low_bits(64 - bits), hash), place);
        }
    }
  }
}

/// The level of 2^31 buckets of 256 bytes is the largest there is; that of two the smallest.
TEST(LevelPlaces, ABucketIsAtItsNumberTimesItsBytes) {
  for (const unsigned log2 : {1u, 2u, 31u})
    for (const unsigned bytes_log2 : {6u, 7u, 8u}) {
      const auto start = std::uintptr_t{1} << 20;
      const level_view l = level_view::of(reinterpret_cast<std::byte*>(start), 0, log2, bytes_log2);
      const std::uint64_t last = l.buckets() - 1;
      EXPECT_EQ(l.number(0), 0u);
      EXPECT_EQ(l.number(low_bits(64 - log2)), 0u);
      EXPECT_EQ(l.number(~std::uint64_t{0}), last);
      EXPECT_EQ(l.number(place_with(last, log2)), last);
      for (const std::uint64_t n : {std::uint64_t{0}, std::uint64_t{1}, last})
        for (const std::uint64_t place : {place_with(n, log2), place_with(n, log2) | 0x123456})
          EXPECT_EQ(reinterpret_cast<std::uintptr_t>(l.bucket_of(place).state),
                    start + (n << bytes_log2));
    }
}

TEST(LevelPlaces, AViewNamesStripesAndLevels) {
  levels_view<process_medium> v;
  v.count = 3;
  for (unsigned i = 0; i < 3; ++i) v.at[i] = level_view::of(nullptr, 0, 5 - i, 7);
  v.at[2].log2 = 2;
  v.stripe_bits = 2, v.stripe_shift = 62;
  EXPECT_EQ(v.stripes(), 4u);
  EXPECT_EQ(v.stripe_of(~std::uint64_t{0}), 3u);
  EXPECT_EQ(v.stripe_of(low_bits(62)), 0u);
  for (stripe_index s = 0; s < 4; ++s) EXPECT_EQ(v.stripe_of(v.place_of(s)), s);
  EXPECT_FALSE(v.under_previous(0));
  EXPECT_TRUE(v.under_previous(1));
  EXPECT_FALSE(v.under_previous(2));  // of a quarter of its size
  EXPECT_EQ(v.index_of(4), 1u);
  EXPECT_EQ(v.index_of(3), v.count);
  EXPECT_EQ(v.level_of(1), 0u);
  EXPECT_EQ(v.level_of(3), 1u);
  v.bottom_first = true;
  EXPECT_EQ(v.level_of(1), 1u);
  EXPECT_EQ(v.level_of(3), 0u);
  EXPECT_EQ(v.level_of(5), 2u);
}

TEST(LevelPlaces, APrefixHasEachBucketThatBeginsWithIt) {
  levels_view<process_medium> v;
  v.count = 2;
  v.at[0] = level_view::of(nullptr, 0, 4, 7), v.at[1] = level_view::of(nullptr, 0, 2, 7);
  std::vector<std::pair<unsigned, std::uint64_t>> seen;
  v.for_each_bucket(place_with(3, 2), 2,
                    [&](const level_view& l, std::uint64_t n) { seen.emplace_back(l.log2, n); });
  const std::vector<std::pair<unsigned, std::uint64_t>> wanted{
      {4, 12}, {4, 13}, {4, 14}, {4, 15}, {2, 3}};
  EXPECT_EQ(seen, wanted);
}

}  // namespace
}  // namespace durahash::level
