// The baselines' entries, each in a file of its own.
#pragma once

#include "bench/baselines/registry.hpp"

namespace durahash::baselines {

baseline linear_probing_baseline();
baseline bucketized_cuckoo_baseline();
baseline pfht_baseline();
baseline path_hashing_baseline();

}  // namespace durahash::baselines
