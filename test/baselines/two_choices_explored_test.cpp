// Crashes of bucketized cuckoo hashing and of PFHT.
#include "baselines/exploring.hpp"
#include "bench/baselines/two_choices.hpp"

namespace durahash::crash {
namespace two_choices_explored {

using baselines::bucketized_cuckoo;
using baselines::pfht;
using published = bucketized_cuckoo<recording_medium<false>>;

// High load: items move. Two buckets: what finds no place goes to the stash.
explored crowded() {
  explored made{32, 32};
  made.how.go_on_every = 1;
  return made;
}
explored killed() {
  explored made{32, 32};
  made.how.kill_every = 1;
  return made;
}

TEST(TwoChoicesExplored, CuckooLosesNothingWithItsHolesMended) {
  findings found = expect_safe_when_mended<bucketized_cuckoo>(crowded());
  found.add(expect_safe_when_mended<bucketized_cuckoo>({8, 16}));
  EXPECT_TRUE(reached(found, "two-choices.move"));
  EXPECT_TRUE(reached(found, "two-choices.grow.root"));
}
TEST(TwoChoicesExplored, CuckooErasesOneOfTwoCopiesAndTheOtherOneAnswers) {
  expect_hole<bucketized_cuckoo>(crowded(), published::erase_one_copy, "after more was written");
}
TEST(TwoChoicesExplored, CuckooShowsAfterAKillWhatALossOfPowerUndoes) {
  expect_hole<bucketized_cuckoo>(killed(), published::read_before_durable, "must hold #");
}

TEST(TwoChoicesExplored, PfhtLosesNothingWithItsHolesMended) {
  findings found = expect_safe_when_mended<pfht>(crowded());
  found.add(expect_safe_when_mended<pfht>({8, 16}));
  for (const char* step : {"move", "stash.insert", "stash.erase", "grow.root"})
    EXPECT_TRUE(reached(found, std::string("two-choices.") + step)) << step;
}
TEST(TwoChoicesExplored, PfhtErasesOneOfTwoCopiesAndTheOtherOneAnswers) {
  expect_hole<pfht>(crowded(), published::erase_one_copy, "after more was written");
}
TEST(TwoChoicesExplored, PfhtShowsAfterAKillWhatALossOfPowerUndoes) {
  expect_hole<pfht>(killed(), published::read_before_durable, "must hold #");
}

}  // namespace two_choices_explored
}  // namespace durahash::crash
