// How unevenly a workload asks for its keys.
#pragma once

#include <cstdint>
#include <span>

#include "bench/operations.hpp"

namespace durahash::bench {

struct popularity {
  std::uint64_t operations = 0;
  std::uint64_t different_keys = 0;
  std::uint64_t on_top = 0;  ///< operations on the most popular 1 % of these keys, at least one key

  double unique_ratio() const noexcept { return ratio(different_keys); }
  double top_1_percent_share() const noexcept { return ratio(on_top); }

 private:
  double ratio(std::uint64_t part) const noexcept {
    return operations == 0 ? 0 : static_cast<double>(part) / static_cast<double>(operations);
  }
};

/// Counts the keys of all threads together. Needs a copy of them.
popularity popularity_of(std::span<const operations> drawn);

}  // namespace durahash::bench
