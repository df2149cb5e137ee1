// Hole GPHash 4: the places of a key are different buckets, in every level that a table can have,
// whatever the seeds.
#include <gtest/gtest.h>

#include <random>

#include "engine/gphash/candidates.hpp"

namespace durahash::test {
namespace gphash_candidates {

TEST(GphashPlaces, OfAKeyAreDifferentBucketsInEveryLevel) {
  std::mt19937_64 random(11);
  for (int pool = 0; pool < 50; ++pool) {
    gphash::shape form{1, gphash::max_hashes, 2, 1};
    gphash::places places(form, {random(), random() | 1});
    for (int n = 0; n < 2000; ++n) {
      std::uint64_t hash = n == 0 ? 0 : n == 1 ? ~std::uint64_t{0} : random();
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

}  // namespace gphash_candidates
}  // namespace durahash::test
