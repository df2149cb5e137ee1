// Sixteen bytes compared at once, beside one word after the other.
#include "base/bytes16.hpp"

#include <gtest/gtest.h>

#include <array>

#include "base/bits.hpp"
#include "store/random.hpp"

namespace durahash::test {
namespace {

/// Two bits for each of eight words for which that is so.
template <class Is>
std::uint32_t two_bits_where(const std::array<std::uint64_t, 8>& words, Is is) {
  std::uint32_t bits = 0;
  for (unsigned n = 0; n < 8; ++n) bits |= std::uint32_t{is(words[n]) ? 3u : 0u} << 2 * n;
  return bits;
}

class Halves : public testing::Test {
 protected:
  random_stream draw_{stream_seed("Halves")};
  /// Half of them differ from the word in one bit.
  std::array<std::uint64_t, 8> words_like(std::uint64_t word) {
    std::array<std::uint64_t, 8> made{};
    for (std::uint64_t& each : made)
      each = draw_.one_in(2) ? word ^ std::uint64_t{1} << draw_.below(64) : word;
    return made;
  }
};

TEST_F(Halves, LowerOnesAreFoundAmongEight) {
  for (int round = 0; round < 1000; ++round) {
    const std::uint64_t word = draw_.next();
    alignas(16) const std::array<std::uint64_t, 8> words = words_like(word);
    EXPECT_EQ(same_lower_halves(words.data(), word),
              two_bits_where(words, [&](auto w) { return (w ^ word) << 32 == 0; }));
  }
}

TEST_F(Halves, UpperOnesAreFoundAmongEightByTheirFirstBits) {
  for (int round = 0; round < 1000; ++round) {
    const std::uint64_t word = draw_.next(),
                        mask = ~low_bits(static_cast<unsigned>(draw_.below(65)));
    alignas(16) const std::array<std::uint64_t, 8> words = words_like(word);
    EXPECT_EQ(same_upper_halves(words.data(), word, mask),
              two_bits_where(words, [&](auto w) { return ((w ^ word) & mask) >> 32 == 0; }));
  }
}

TEST_F(Halves, BytesAreComparedInSomeOfTheirBits) {
  for (int round = 0; round < 1000; ++round) {
    const auto mask = static_cast<std::uint8_t>(draw_.next()),
               wanted = static_cast<std::uint8_t>(draw_.next() & mask);
    std::array<std::uint8_t, 16> bytes{};
    std::uint32_t same = 0;
    for (unsigned n = 0; n < 16; ++n) {
      bytes[n] = static_cast<std::uint8_t>(draw_.one_in(2) ? draw_.next()
                                                           : wanted | (draw_.next() & ~mask));
      same |= std::uint32_t{(bytes[n] & mask) == wanted} << n;
    }
    const bytes16 in_mask = in_both(bytes16_at(bytes.data()), in_each_byte(std::uint32_t{mask}));
    EXPECT_EQ(same_bytes(in_mask, in_each_byte(std::uint32_t{wanted})), same);
  }
}

}  // namespace
}  // namespace durahash::test
