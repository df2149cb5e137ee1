// Crashes of P-CLHT: but for what a reader shows too early, nothing is lost.
#include "baselines/exploring.hpp"
#include "bench/baselines/p_clht.hpp"

namespace durahash::crash {
namespace p_clht_explored {

using baselines::p_clht;
using published = p_clht<recording_medium<false>>;

const explored small{6, 24};

TEST(PClhtExplored, LosesNothingWithItsHoleMended) {
  findings found = expect_safe_when_mended<p_clht>(small);
  found.add(expect_safe_when_mended<p_clht>({24, 60}));
  for (const char* step : {"insert.link", "root", "grow.chains"})
    EXPECT_TRUE(reached(found, std::string("p-clht.") + step)) << step;
}
TEST(PClhtExplored, ShowsAfterAKillWhatALossOfPowerUndoes) {
  explored often = small;
  often.how.kill_every = 1;
  expect_hole<p_clht>(often, published::read_before_durable, "must hold #");
}

}  // namespace p_clht_explored
}  // namespace durahash::crash
