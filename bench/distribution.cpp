#include "bench/distribution.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace durahash::bench {
namespace {

// (exp(x) - 1) / x and log(1 + x) / x, exact near 0 too: theta = 1 needs no case of its own.
double expm1_ratio(double x) noexcept { return std::abs(x) > 1e-8 ? std::expm1(x) / x : 1 + x / 2; }
double log1p_ratio(double x) noexcept { return std::abs(x) > 1e-8 ? std::log1p(x) / x : 1 - x / 2; }

}  // namespace

std::string_view name_of(distribution_kind kind) noexcept {
  switch (kind) {
    case distribution_kind::uniform: return "uniform";
    case distribution_kind::zipfian: return "zipfian";
    case distribution_kind::latest: return "latest";
    case distribution_kind::distinct: return "distinct";
    case distribution_kind::tables: return "tables";
    case distribution_kind::rmat: return "rmat";
  }
  return "?";
}

std::optional<distribution_kind> distribution_named(std::string_view name) noexcept {
  if (name == "uniform") return distribution_kind::uniform;
  if (name == "zipfian") return distribution_kind::zipfian;
  return std::nullopt;
}

zipfian_ranks::zipfian_ranks(std::uint64_t n, double theta) noexcept
    : n_(static_cast<double>(n)),
      theta_(theta),
      area_first_(area(1.5) - 1),
      area_last_(area(n_ + 0.5)),
      accept_below_(2 - area_inverse(area(2.5) - height(2))) {}

double zipfian_ranks::area(double x) const noexcept {
  double log_x = std::log(x);
  return expm1_ratio((1 - theta_) * log_x) * log_x;
}

double zipfian_ranks::area_inverse(double area) const noexcept {
  double scaled = std::max(area * (1 - theta_), -1.0);
  return std::exp(log1p_ratio(scaled) * area);
}

double zipfian_ranks::height(double x) const noexcept { return std::exp(-theta_ * std::log(x)); }

std::uint64_t zipfian_ranks::rank(random_source& random) const noexcept {
  // Ends: a round is accepted with a probability above 0.7, whatever n and theta are.
  for (;;) {
    double u = area_last_ + random.unit() * (area_first_ - area_last_);
    double x = area_inverse(u);
    double k = std::clamp(std::floor(x + 0.5), 1.0, n_);
    if (k - x <= accept_below_ || u >= area(k + 0.5) - height(k))
      return static_cast<std::uint64_t>(k) - 1;
  }
}

permutation::permutation(std::uint64_t n, std::uint64_t seed) noexcept
    : n_(n),
      half_shift_(std::max(1, static_cast<int>(std::bit_width(n - 1)) / 2)),
      mask_(n <= 1 ? 0 : ~std::uint64_t{0} >> std::countl_zero(n - 1)) {
  random_source random(seed, 0x7065'726d);
  for (std::uint64_t& key : keys_) key = random.word() | 1;
}

// Each step is a bijection of the words within the mask: an odd multiplication, an addition, a
// shift folded downwards.
std::uint64_t permutation::scramble(std::uint64_t word) const noexcept {
  for (std::uint64_t key : keys_) {
    word = (word * key + (key >> 32)) & mask_;
    word ^= word >> half_shift_;
  }
  return word;
}

std::uint64_t permutation::operator()(std::uint64_t index) const noexcept {
  // Ends: the walk is a cycle of the bijection and comes back to `index`, which is inside; two
  // steps on average.
  do index = scramble(index);
  while (index >= n_);
  return index;
}

}  // namespace durahash::bench
