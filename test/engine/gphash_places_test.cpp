// Where keys of gphash may be, and where an iteration looks for the records of a prefix: all that
// follows from hashes.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "engine/gphash/places.hpp"

namespace durahash::test {
namespace gphash_places {

constexpr std::uint64_t most = ~std::uint64_t{0};

/// Of the hashes the first ones are the least and the greatest that there are.
std::uint64_t hash_of(int n, std::mt19937_64& random) {
  return n == 0 ? 0 : n == 1 ? most : random();
}

/// Hole GPHash 4, whatever the seeds.
TEST(GphashPlaces, OfAKeyAreDifferentBucketsInEveryLevel) {
  std::mt19937_64 random(11);
  for (int pool = 0; pool < 50; ++pool) {
    gphash::shape form{1, gphash::max_hashes, 2, 1};
    gphash::places places(form, {random(), random() | 1});
    for (int n = 0; n < 2000; ++n) {
      std::uint64_t hash = hash_of(n, random);
      for (unsigned log2 = gphash::min_bottom; log2 < gphash::level_sizes; ++log2)
        for (unsigned one = 1; one < form.hashes; ++one)
          for (unsigned other = 0; other < one; ++other)
            ASSERT_NE(places.place(hash, one) >> (64 - log2),
                      places.place(hash, other) >> (64 - log2))
                << "places " << other << " and " << one << " of hash " << hash
                << " in a level of 2^" << log2 << " buckets";
    }
  }
}

/// A place names a bucket by its first bits: of the least place the first one, of the greatest the
/// last.
TEST(GphashPlaces, NameEachBucketOfALevel) {
  for (unsigned log2 = gphash::min_bottom; log2 < gphash::level_sizes; ++log2) {
    EXPECT_EQ(gphash::bucket_number(0, log2), 0u) << log2;
    EXPECT_EQ(gphash::bucket_number(most, log2), (std::uint64_t{1} << log2) - 1) << log2;
    EXPECT_EQ(gphash::bucket_number(most >> log2, log2), 0u) << log2;
    EXPECT_EQ(gphash::bucket_number((most >> log2) + 1, log2), 1u) << log2;
  }
}

TEST(GphashPlaces, AFingerprintOfBytesIsNoState) {
  for (std::uint64_t hash = 0; hash < gphash::first_fingerprint; ++hash)
    EXPECT_EQ(gphash::fingerprint_of(hash), hash + gphash::first_fingerprint);
  for (std::uint64_t hash : {gphash::first_fingerprint, most})
    EXPECT_EQ(gphash::fingerprint_of(hash), hash);
}

/// Only the mixtures of words that stand for states have escape slots.
TEST(GphashPlaces, OnlyStatesEscape) {
  for (std::uint64_t hash = 0; hash < gphash::first_fingerprint; ++hash) {
    EXPECT_EQ(gphash::places::target_of(hash, true).escape, static_cast<int>(hash));
    EXPECT_EQ(gphash::places::target_of(hash, true).fingerprint, gphash::escape_fingerprint);
    EXPECT_EQ(gphash::places::target_of(hash, false).escape, -1);
  }
  for (std::uint64_t hash : {gphash::first_fingerprint, most}) {
    EXPECT_EQ(gphash::places::target_of(hash, true).escape, -1);
    EXPECT_EQ(gphash::places::target_of(hash, true).fingerprint, hash);
  }
}

TEST(GphashPlaces, TellWhichOfThemNamesABucket) {
  std::mt19937_64 random(12);
  for (int pool = 0; pool < 20; ++pool) {
    const unsigned hashes = 1 + static_cast<unsigned>(pool) % gphash::max_hashes;
    const gphash::places places(gphash::shape{1, hashes, 2, 1}, {random(), random() | 1});
    for (int n = 0; n < 100; ++n) {
      const std::uint64_t hash = hash_of(n, random);
      for (unsigned log2 = gphash::min_bottom; log2 < gphash::level_sizes; ++log2)
        for (unsigned which = 0; which < hashes; ++which) {
          const std::uint64_t bucket = gphash::bucket_number(places.place(hash, which), log2);
          EXPECT_EQ(places.place_in(hash, log2, bucket), static_cast<int>(which));
        }
      // of four buckets the places name as many as there are hashes
      int named = 0;
      for (std::uint64_t bucket = 0; bucket < 4; ++bucket)
        named += places.place_in(hash, gphash::min_bottom, bucket) >= 0;
      EXPECT_EQ(named, static_cast<int>(hashes));
    }
  }
}

TEST(GphashPlaces, OfAPrefixAreThoseOfEveryHashThatBeginsWithIt) {
  std::mt19937_64 random(13);
  for (int pool = 0; pool < 40; ++pool) {
    const unsigned hashes = 1 + static_cast<unsigned>(pool) % gphash::max_hashes;
    const gphash::places places(gphash::shape{1, hashes, 2, 1}, {random(), random() | 1});
    for (unsigned bits : {1u, 2u, 7u, 14u, 39u, 63u}) {
      const std::uint64_t prefix = hash_of(pool, random) & ~low_bits(64 - bits);
      const gphash::places_of_prefix where(places, prefix, bits);
      EXPECT_TRUE(std::is_sorted(where.begin(), where.end()));
      EXPECT_EQ(std::adjacent_find(where.begin(), where.end()), where.end());
      for (int n = 0; n < 100; ++n) {
        const std::uint64_t hash = prefix | (hash_of(n, random) & low_bits(64 - bits));
        for (unsigned which = 0; which < hashes; ++which)
          EXPECT_TRUE(std::binary_search(where.begin(), where.end(),
                                         places.place(hash, which) & ~low_bits(64 - bits)))
              << "place " << which << " of " << hash << ", " << bits << " bits";
      }
    }
  }
}

/// Each bucket once, in order, the last one of the level among them.
TEST(GphashPlaces, OfAPrefixAreRunsOfBuckets) {
  std::mt19937_64 random(14);
  for (int pool = 0; pool < 40; ++pool) {
    const unsigned hashes = 1 + static_cast<unsigned>(pool) % gphash::max_hashes;
    const gphash::places places(gphash::shape{1, hashes, 2, 1}, {random(), random() | 1});
    for (unsigned bits : {1u, 2u, 7u})
      for (unsigned log2 : {2u, 3u, 7u, 9u}) {
        const std::uint64_t prefix = hash_of(pool, random) & ~low_bits(64 - bits);
        std::vector<std::uint64_t> visited;
        gphash::places_of_prefix(places, prefix, bits)
            .for_each_run(log2, [&](std::uint64_t first, std::uint64_t end) {
              for (std::uint64_t n = first; n < end; ++n) visited.push_back(n);
            });
        std::vector<std::uint64_t> wanted;
        for (std::uint64_t bucket = 0; bucket < std::uint64_t{1} << log2; ++bucket)
          for (std::uint64_t place : gphash::places_of_prefix(places, prefix, bits)) {
            const unsigned common = std::min(bits, log2);
            if (bucket >> (log2 - common) != place >> (64 - common)) continue;
            wanted.push_back(bucket);
            break;
          }
        EXPECT_EQ(visited, wanted) << bits << " bits of a level of 2^" << log2;
      }
  }
}

/// The bucket with most empty slots; of equals the uppermost. The last lane is one, too.
TEST(GphashPlaces, RoomIsInTheEmptiestBucket) {
  constexpr gphash::shape form{2, 2, 8, 3};
  EXPECT_EQ(gphash::places::room_in(form, 0), -1);
  EXPECT_EQ(gphash::places::room_in(form, 0xffffffff), 0);
  EXPECT_EQ(gphash::places::room_in(form, 0x80000000), 31);
  EXPECT_EQ(gphash::places::room_in(form, 0x01800180), 7);
  EXPECT_EQ(gphash::places::room_in(form, 0xc0010001), 30);
}

}  // namespace gphash_places
}  // namespace durahash::test
