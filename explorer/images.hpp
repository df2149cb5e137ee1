// Which images a crash may leave, chosen from all that the model allows.
#pragma once

#include <functional>
#include <random>
#include <vector>

#include "explorer/cache_model.hpp"

namespace durahash::crash {

/// A pending line and what it holds in an image; lines that are not named hold option 0, nothing
/// but what is guaranteed.
struct choice {
  line_number line;
  std::uint32_t option;
  bool operator==(const choice&) const = default;
};
using image = std::vector<choice>;

struct effort {
  // images of one crash point that are few enough to look at each
  std::size_t all_up_to = 4096;
  std::size_t options_per_line = 64;
  std::size_t lines_each = 64;  // lines that are tried alone, and withheld
  // beyond: drawn with a seed, with few, half and most lines kept
  std::size_t samples = 48;
};

struct legal_images {
  double log10 = 0;  // of how many the model allows
  bool all = false;  // and each was visited
};

/// Visits images of a crash now. `visit` returns false to stop.
legal_images images_of(cache_model& model, const effort& how, std::mt19937_64& random,
                       const std::function<bool(const image&)>& visit);

/// The hash of the whole medium with this image.
std::uint64_t hash_of(cache_model& model, const image& chosen);

}  // namespace durahash::crash
