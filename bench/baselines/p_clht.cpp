#include "bench/baselines/p_clht.hpp"

#include "bench/baselines/descriptions.hpp"

namespace durahash::baselines {
namespace {

// In the order of p_clht::hole_index.
constexpr hole p_clht_holes[] = {
    {"p-clht.read-before-durable", "RECIPE's code, clht_get",
     "a search returns what is visible and not yet durable; after the death of the process a later "
     "loss of power undoes it",
     "recovery writes everything back before the first answer"},
};

}  // namespace

baseline p_clht_baseline() {
  return {"p-clht",
          "P-CLHT",
          "RECIPE (SOSP'19), and its published code",
          "TurboHash table 1, figures 6 to 10 (CLHT30)",
          true,
          "the whole table is rehashed once as many buckets were added as its array has",
          "key 0 stands for an empty slot; locks, the helpers of a resize and shrinking are left "
          "out; the published hash is the key itself, here it is seeded",
          p_clht_holes,
          make_baseline<p_clht>};
}

}  // namespace durahash::baselines
