// What each of Level hashing's design decisions adds to its load factor: Level figure 2.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace durahash::baselines {

/// The load factor at the first insertion that finds no place, with the decisions of the paper's
/// §3.1 one after the other: four slots, two places, two levels, a movement.
std::vector<std::pair<std::string, double>> level_load_factors(std::uint64_t capacity,
                                                               std::uint64_t seed);

}  // namespace durahash::baselines
