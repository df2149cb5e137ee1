#include "bench/embedding_tables.hpp"

#include <algorithm>
#include <numeric>

namespace durahash::bench {
namespace {

constexpr std::uint64_t purpose_of_exponents = 0x6578'706f, purpose_of_rows = 0x726f'7773;

// Every table has one row, and of the others its share.
std::uint64_t scaled(std::uint64_t cardinality, std::uint64_t records, std::uint64_t count) {
  constexpr auto& all = embedding_tables::cardinalities;
  constexpr std::uint64_t others_of_all =
      std::accumulate(all.begin(), all.end(), std::uint64_t{0}) - all.size();
  std::uint64_t others = std::min(records - count, others_of_all);
  return 1 + (cardinality - 1) * others / others_of_all;  // below 2^24 * 2^26
}

}  // namespace

embedding_tables::embedding_tables(std::uint64_t records, std::uint64_t seed)
    : seed_(mix(seed) ^ purpose_of_rows) {
  random_source random(seed, purpose_of_exponents);
  std::uint64_t count = std::min<std::uint64_t>(records, cardinalities.size());
  std::uint64_t first = 0;
  for (std::uint64_t t = 0; t < count; ++t) {
    std::uint64_t rows = scaled(cardinalities[t], records, count);
    double exponent = exponents[random.below(exponents.size())];
    tables_.push_back(
        {first, rows, exponent, zipfian_ranks(rows, exponent), permutation(rows, mix(seed) + t)});
    first += rows;
  }
}

std::uint64_t embedding_tables::look_up(std::uint64_t number) const noexcept {
  const table& from = tables_[number % tables_.size()];
  // by number: the trace is the same however many threads share it
  random_source random(seed_, number);
  return from.row(from.popular.rank(random));
}

}  // namespace durahash::bench
