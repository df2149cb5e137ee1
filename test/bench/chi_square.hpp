// Pearson's test: whether frequencies are those of a law.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace durahash::bench {

/// The statistic of `seen` against `expected`; the sums of both are equal. Classes of fewer than 20
/// expected are taken together.
struct chi_square {
  double statistic = 0;
  double freedom = 0;

  void add(const std::vector<double>& expected, const std::vector<std::uint64_t>& seen) {
    double of_class = 0, seen_of_class = 0;
    std::vector<double> terms;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      of_class += expected[i];
      seen_of_class += static_cast<double>(seen[i]);
      if (of_class < 20) continue;
      terms.push_back((seen_of_class - of_class) * (seen_of_class - of_class) / of_class);
      of_class = seen_of_class = 0;
    }
    if (terms.size() < 2) return;
    for (double term : terms) statistic += term;
    freedom += static_cast<double>(terms.size()) - 1;
  }

  /// Five deviations above the mean. Seeds of tests are fixed, so that the verdict is too.
  double limit() const { return freedom + 5 * std::sqrt(2 * freedom); }
};

}  // namespace durahash::bench
