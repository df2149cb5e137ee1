// Crashes of Level hashing as its paper has it.
#include "baselines/exploring.hpp"
#include "bench/baselines/level_paper.hpp"

namespace durahash::crash {
namespace level_paper_explored {

using baselines::level_hashing;
using published = level_hashing<recording_medium<false>>;

// 24 slots to begin with: items move, and a level comes.
explored small() {
  explored made{24, 36};
  made.how.go_on_every = 1;
  return made;
}

TEST(LevelPaperExplored, LosesNothingWithItsHolesMended) {
  findings found = expect_safe_when_mended<level_hashing>(small());
  for (const char* step : {"item", "insert", "update", "move", "rehash", "rehash.from", "which",
                           "swap.interim", "swap.state"})
    EXPECT_TRUE(reached(found, std::string("level-paper.") + step)) << step;
}
TEST(LevelPaperExplored, ErasesOneOfTwoCopiesAndTheOtherOneAnswers) {
  expect_hole<level_hashing>(small(), published::erase_one_copy, "after more was written");
}
TEST(LevelPaperExplored, LosesItsRecordsBetweenTheWordsOfItsRoot) {
  expect_hole<level_hashing>(small(), published::root_in_words, "does not open");
}
TEST(LevelPaperExplored, ShowsAfterAKillWhatALossOfPowerUndoes) {
  expect_hole<level_hashing>({24, 36, killed_often()}, published::read_before_durable,
                             "must hold #");
}

}  // namespace level_paper_explored
}  // namespace durahash::crash
