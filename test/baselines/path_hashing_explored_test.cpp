// Crashes of path hashing.
#include "baselines/exploring.hpp"
#include "bench/baselines/path_hashing.hpp"

namespace durahash::crash {
namespace path_hashing_explored {

using baselines::path_hashing;
using published = path_hashing<recording_medium<false>>;

const explored small{7, 14};

TEST(PathHashingExplored, LosesNothingWithItsHolesMended) {
  expect_safe_when_mended<path_hashing>(small);
}
TEST(PathHashingExplored, LosesItsNewTable) {
  expect_hole<path_hashing>(small, published::root_not_flushed, "must hold #");
}
TEST(PathHashingExplored, ShowsAfterAKillWhatALossOfPowerUndoes) {
  explored often = small;
  often.how.kill_every = 1;
  expect_hole<path_hashing>(often, published::read_before_durable, "must hold #");
}

}  // namespace path_hashing_explored
}  // namespace durahash::crash
