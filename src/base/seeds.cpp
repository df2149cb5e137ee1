#include "base/seeds.hpp"

#include "base/random.hpp"

namespace durahash {
namespace {

/// Of the continued fraction of word / 2^64, as far as its convergents matter: their denominators
/// are numbers of records.
bool has_quotients_up_to(std::uint64_t limit, std::uint64_t word) noexcept {
  constexpr std::uint64_t most_records = std::uint64_t{1} << 32;
  if (word <= ~std::uint64_t{0} / limit) return false;  // the first one is larger
  std::uint64_t denominator_before = 1, denominator = (0 - word) / word + 1;  // 2^64 / word
  std::uint64_t divisor = (0 - word) % word, dividend = word;
  while (divisor != 0 && denominator < most_records) {  // ends: Euclid's algorithm
    const std::uint64_t quotient = dividend / divisor, rest = dividend % divisor;
    if (quotient > limit) return false;
    const std::uint64_t next = quotient * denominator + denominator_before;
    denominator_before = denominator, denominator = next;
    dividend = divisor, divisor = rest;
  }
  return true;
}

}  // namespace

bool spreads_well(std::uint64_t multiply) noexcept {
  // numbers; sizes and addresses; decimal numbers; small records
  constexpr std::uint64_t of_one = 16, of_others = 256;
  if (!has_quotients_up_to(of_one, multiply)) return false;
  for (unsigned log2 = 1; log2 <= 32; ++log2)
    if (!has_quotients_up_to(of_others, multiply << log2)) return false;
  for (std::uint64_t step = 10; step <= 1'000'000'000; step *= 10)
    if (!has_quotients_up_to(of_others, multiply * step)) return false;
  for (std::uint64_t step = 3; step < 32; step += 2)
    if (!has_quotients_up_to(of_others, multiply * step)) return false;
  return true;
}

hash_seeds draw_hash_seeds() {
  hash_seeds drawn{random_word(), random_word() | 1};
  while (!spreads_well(drawn.multiply))  // ends: one of 77 does; the next word is odd, too
    drawn.multiply = drawn.multiply * 0x5851f42d4c957f2d + 0x14057b7ef767814e;
  return drawn;
}

}  // namespace durahash
