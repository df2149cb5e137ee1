#include "bench/baselines/registry.hpp"

#include <array>

#include "bench/baselines/descriptions.hpp"

namespace durahash::baselines {

std::span<const baseline> all_baselines() {
  static const std::array all{
      linear_probing_baseline(),
      bucketized_cuckoo_baseline(),
      pfht_baseline(),
      path_hashing_baseline(),
      extendible_hashing_baseline(),
      p_clht_baseline(),
      turbo_published_baseline(),
      cceh_in_place_baseline(),
      cceh_copying_baseline(),
      level_paper_baseline(),
      dash_eh_baseline(),
      clevel_baseline(),
      seph_baseline(),
      unordered_map_baseline(),
#ifdef DURAHASH_FLAT_MAP
      concurrent_flat_map_baseline(),
#endif
#ifdef DURAHASH_LIBCUCKOO
      libcuckoo_baseline(),
#endif
  };
  return all;
}

const baseline* baseline_of(std::string_view name) {
  for (const baseline& b : all_baselines())
    if (b.name == name) return &b;
  return nullptr;
}

}  // namespace durahash::baselines
