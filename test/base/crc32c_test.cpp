// CRC-32C, compared with its definition bit by bit.
#include "base/crc32c.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "test/store/random.hpp"

namespace durahash::test {
namespace {

std::uint32_t bit_by_bit(std::string_view text) {
  std::uint32_t sum = ~std::uint32_t{0};
  for (char c : text) {
    sum ^= static_cast<std::uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ ((sum & 1) != 0 ? 0x82f63b78u : 0);
  }
  return ~sum;
}

std::uint32_t of(std::string_view text) { return crc32c().add(text.data(), text.size()).value(); }

TEST(Crc32c, IsThatOfTheStandards) {
  EXPECT_EQ(of(""), 0u);
  EXPECT_EQ(of("123456789"), 0xe3069283u);            // the catalogues' check value
  EXPECT_EQ(of(std::string(32, '\0')), 0x8a9136aau);  // RFC 3720, B.4
  EXPECT_EQ(of(std::string(32, '\xff')), 0x62a8ab43u);
}

TEST(Crc32c, IsTheSameInWhateverPartsTheBytesCome) {
  random_stream random(stream_seed("Crc32c"));
  for (std::size_t bytes = 0; bytes < 150; ++bytes) {
    std::string text(bytes, '\0');
    for (char& c : text) c = static_cast<char>(random.next());
    const std::uint32_t expected = bit_by_bit(text);
    EXPECT_EQ(of(text), expected) << bytes;
    const std::size_t cut = random.below(bytes + 1);
    EXPECT_EQ(crc32c().add(text.data(), cut).add(text.data() + cut, bytes - cut).value(), expected)
        << bytes << " cut at " << cut;
  }
}

}  // namespace
}  // namespace durahash::test
