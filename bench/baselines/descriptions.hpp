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
baseline turbo_published_baseline();
baseline cceh_in_place_baseline();
baseline cceh_copying_baseline();
baseline level_paper_baseline();
baseline dash_eh_baseline();
baseline clevel_baseline();
baseline seph_baseline();
baseline unordered_map_baseline();
baseline concurrent_flat_map_baseline();  // where there is a Boost that has one
baseline libcuckoo_baseline();            // where it is installed

}  // namespace durahash::baselines
