// GPHash's short way compares half of a state first. Keys of the same buckets whose fingerprints
// have that half in common, or share it with a state that is none, are told apart all the same.
#include <gtest/gtest.h>

#include <random>

#include "test/engine/engine_rig.hpp"

namespace durahash::test {
namespace gphash_short_way {

using table = rig<plain_medium, word_records, gphash_engine>;

/// A word whose fingerprint this is.
std::uint64_t key_of(const table& r, std::uint64_t fingerprint) {
  return gphash::mixer(seeds_of(r.p->block())).key_of(fingerprint);
}

/// Fingerprints of a few buckets, each half of a few.
std::vector<std::uint64_t> alike(const table& r) {
  std::vector<std::uint64_t> keys;
  for (std::uint64_t bucket : {0, 1, 5})
    for (std::uint64_t between = 0; between < 4; ++between)
      for (std::uint32_t half : {0u, 1u, 8u, 0x12345678u, 0xffffffffu})
        keys.push_back(key_of(r, bucket << 60 | between << 40 | half));
  return keys;
}

TEST(GphashShortWay, TellsKeysApartThatHaveHalfAFingerprintInCommon) {
  auto r = make_rig<plain_medium, word_records, gphash_engine>();
  const std::vector<std::uint64_t> keys = alike(*r);
  model wanted;
  std::mt19937_64 random(7);
  for (std::uint64_t n = 0; n < 20000; ++n) {
    const std::uint64_t key = keys[random() % keys.size()];
    switch (random() % 4) {
      case 0:
        wanted[key] = n;
        EXPECT_EQ(r->put(key, n), status::ok);
        break;
      case 1: EXPECT_EQ(r->erase(key) == status::ok, wanted.erase(key) == 1); break;
      case 2: {
        std::uint64_t some[5], values[5];
        status answers[5];
        for (std::size_t i = 0; i < 5; ++i)
          some[i] = keys[random() % keys.size()], values[i] = n + i;
        r->t->put_many(some, values, answers);
        for (std::size_t i = 0; i < 5; ++i) {
          wanted[some[i]] = values[i];
          EXPECT_EQ(answers[i], status::ok);
        }
        break;
      }
      default: {
        auto at = wanted.find(key);
        EXPECT_EQ(r->get(key), at == wanted.end() ? std::nullopt : std::optional(at->second));
      }
    }
  }
  EXPECT_EQ(difference(*r, wanted), "");
  std::vector<status> answers(keys.size());
  std::map<std::size_t, std::uint64_t> found;
  r->t->get_many(
      keys, [&](std::size_t i, std::uint64_t value) { found[i] = value; }, answers.data());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    auto at = wanted.find(keys[i]);
    EXPECT_EQ(answers[i], at == wanted.end() ? status::not_found : status::ok);
    if (at != wanted.end()) {
      EXPECT_EQ(found[i], at->second);
    }
  }
}

}  // namespace gphash_short_way
}  // namespace durahash::test
