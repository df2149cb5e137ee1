// Where an iteration of level looks for the records whose hashes begin with a prefix.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "engine/level/places.hpp"

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

}  // namespace
}  // namespace durahash::level
