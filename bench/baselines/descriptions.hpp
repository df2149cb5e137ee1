// The baselines' entries, each in a file of its own.
#pragma once

#include "bench/baselines/registry.hpp"

namespace durahash::baselines {

baseline linear_probing_baseline();
baseline bucketized_cuckoo_baseline();
baseline pfht_baseline();
baseline path_hashing_baseline();
baseline extendible_hashing_baseline();
baseline p_clht_baseline();
baseline unordered_map_baseline();

}  // namespace durahash::baselines
