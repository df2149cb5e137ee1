// Crashes of linear probing: what was published loses records in two ways, and in no other.
#include "baselines/exploring.hpp"
#include "bench/baselines/linear_probing.hpp"

namespace durahash::crash {
namespace linear_probing_explored {

using baselines::linear_probing;
using published = linear_probing<recording_medium<false>>;

const explored small{8, 14};

TEST(LinearProbingExplored, LosesNothingWithItsHolesMended) {
  expect_safe_when_mended<linear_probing>(small);
}

TEST(LinearProbingExplored, LosesRecordsBetweenTheTwoWordsOfItsRoot) {
  expect_hole<linear_probing>(small, published::root_in_words, "must hold #");
}

TEST(LinearProbingExplored, ShowsAfterAKillWhatALossOfPowerUndoes) {
  explored often = small;
  often.how.kill_every = 1;
  expect_hole<linear_probing>(often, published::read_before_durable, "must hold #");
}

}  // namespace linear_probing_explored
}  // namespace durahash::crash
