// What the claims of Level hashing's paper share: tables as it has them, and figures.
#pragma once

#include <fmt/format.h>

#include "bench/reproduce/laboratory.hpp"

namespace durahash::reproduce::level_paper {

inline const setup level{engine_kind::level};
/// The paper's buckets have four slots.
inline const setup four = level.with("slots", 4);
inline const setup as_published = four.with("in_place", 0);

/// A table of about so many slots, before it grows.
inline setup sized(const setup& made, const laboratory& lab) {
  return made.for_records(lab.size(30'000, 2'000));
}

inline picture figure(const char* number, const char* title, const char* x, const char* y) {
  return {fmt::format("level-{}", number), engine_kind::level,
          fmt::format("Level hashing, figure {}: {}", number, title), x, y};
}

/// Baselines that the paper compares with, and their names there.
inline const std::pair<const char*, const char*> others[] = {
    {"pfht", "PFHT"}, {"bucketized-cuckoo", "BCH"}, {"path-hashing", "path"}};

// The claims, each in a file of its own.
std::vector<claim> load_claims();       // figures 2, 4, 8 and 9
std::vector<claim> operation_claims();  // figures 6(b), 10 to 16

}  // namespace durahash::reproduce::level_paper
