#include "bench/baselines/registry.hpp"

#include <array>

#include "bench/baselines/descriptions.hpp"

namespace durahash::baselines {

std::span<const baseline> all_baselines() {
  static const std::array all{
      linear_probing_baseline(), bucketized_cuckoo_baseline(),  pfht_baseline(),
      path_hashing_baseline(),   extendible_hashing_baseline(), p_clht_baseline(),
      unordered_map_baseline(),
  };
  return all;
}

const baseline* baseline_of(std::string_view name) {
  for (const baseline& b : all_baselines())
    if (b.name == name) return &b;
  return nullptr;
}

}  // namespace durahash::baselines
