// Arithmetic on words, and the hashes that the pool format names: their values are for ever.
#include <gtest/gtest.h>

#include <bit>
#include <set>
#include <string>
#include <vector>

#include "base/bits.hpp"
#include "base/hash.hpp"
#include "base/key_hash.hpp"
#include "base/random.hpp"
#include "test/store/random.hpp"

namespace durahash::test {
namespace {

TEST(Bits, SizesAreRoundedToTheirUnit) {
  EXPECT_EQ(align_up(0, 64), 0u);
  EXPECT_EQ(align_up(1, 64), 64u);
  EXPECT_EQ(align_up(64, 64), 64u);
  EXPECT_EQ(align_down(127, 64), 64u);
  EXPECT_EQ(low_bits(0), 0u);
  EXPECT_EQ(low_bits(3), 7u);
  EXPECT_EQ(low_bits(64), ~std::uint64_t{0});
}

TEST(Bits, TheLogarithmIsTheSmallestPowerThatHolds) {
  EXPECT_EQ(log2_ceiling(0), 0u);
  EXPECT_EQ(log2_ceiling(1), 0u);
  for (unsigned k = 1; k < 63; ++k) {
    const std::uint64_t power = std::uint64_t{1} << k;
    EXPECT_EQ(log2_ceiling(power), k);
    EXPECT_EQ(log2_ceiling(power + 1), k + 1);
  }
}

TEST(Bits, TakingTheLowestVisitsEachBitOnceInOrder) {
  random_stream random(stream_seed("Bits.TakingTheLowest"));
  for (int round = 0; round < 1000; ++round) {
    const auto all = static_cast<std::uint32_t>(random.next());
    std::uint32_t left = all, seen = 0;
    for (int last = -1; left != 0;) {
      const int bit = take_lowest(left);
      EXPECT_GT(bit, last);
      seen |= std::uint32_t{1} << (last = bit);
    }
    EXPECT_EQ(seen, all);
  }
}

TEST(Bits, AWideProductHasBothHalves) {
  random_stream random(stream_seed("Bits.AWideProduct"));
  for (int round = 0; round < 1000; ++round) {
    const std::uint64_t a = random.next(), b = random.next() >> round % 64;
    __extension__ using wide = unsigned __int128;
    const wide whole = static_cast<wide>(a) * b;
    const wide_product halves = multiply_wide(a, b);
    EXPECT_EQ(static_cast<wide>(halves.high) << 64 | halves.low, whole) << a << " " << b;
  }
}

/// The lengths that are written out are the library's, to the bit.
TEST(Hash, OfEveryLengthIsThatOfTheLibrary) {
  random_stream random(stream_seed("Hash.OfEveryLength"));
  for (std::size_t length = 0; length <= 300; ++length)
    for (int round = 0; round < 20; ++round) {
      std::string bytes(length, '\0');
      for (char& c : bytes) c = static_cast<char>(random.next());
      const std::uint64_t seed = round == 0 ? 0 : random.next();
      EXPECT_EQ(xxh3(bytes.data(), length, seed), XXH3_64bits_withSeed(bytes.data(), length, seed))
          << length << " bytes, seed " << seed;
    }
}

/// docs/reference/format.md names these functions. Other values would lose every old pool.
TEST(Hash, ValuesAreThoseOfTheFormat) {
  const hash_seeds seeds{0x0123456789abcdefu, 0xfedcba9876543211u};
  EXPECT_EQ(word_hash(0, {0, 1}), 0u);
  EXPECT_EQ(word_hash(42, {0, 1, 1}), 42u);
  // (42 ^ flip) * multiply, both halves of 128 bits folded: worked out by hand in Python
  EXPECT_EQ(word_hash(42, {seeds.flip, seeds.multiply, 1}), 0x52027af4a84af30du);
  EXPECT_EQ(word_hash(42, seeds), 0x20ce3538d0a23c11u);
  EXPECT_EQ(bytes_hash("", {0, 1}), 0x2d06800538d394c2u);  // XXH3-64 of nothing, as xxHash tests it
  EXPECT_EQ(bytes_hash("durahash", seeds), 0x9a66e55b1d3f6cc6u);
  EXPECT_EQ(checksum("durahash", 8), 0x917ecce5c625c040u);
}

TEST(Hash, KeysOfWholeWordsHashAsTheirBytes) {
  random_stream random(stream_seed("Hash.KeysOfWholeWords"));
  const hash_seeds seeds{random.next(), random.next() | 1};
  const key_hash device(seeds);
  for (unsigned words = 1; words <= key_hash::max_words; ++words)
    for (int round = 0; round < 20; ++round) {
      std::vector<std::uint64_t> key(words);
      for (std::uint64_t& word : key) word = random.next();
      const std::string_view bytes(reinterpret_cast<const char*>(key.data()), words * 8);
      EXPECT_EQ(device.of(key.data(), words), bytes_hash(bytes, seeds)) << words << " words";
    }
}

TEST(Hash, AChangedBitChangesTheDigestOfARecord) {
  random_stream random(stream_seed("Hash.AChangedBit"));
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t key = random.next(), value = random.next();
    const std::uint64_t digest = record_digest(key, value);
    for (unsigned bit = 0; bit < 64; ++bit) {
      EXPECT_NE(record_digest(key ^ std::uint64_t{1} << bit, value), digest);
      EXPECT_NE(record_digest(key, value ^ std::uint64_t{1} << bit), digest);
    }
  }
}

TEST(Random, WordsDiffer) {
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(random_word());
  EXPECT_EQ(seen.size(), 1000u);
}

}  // namespace
}  // namespace durahash::test
