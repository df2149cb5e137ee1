// Crashes of extendible hashing with least significant bits.
#include "baselines/exploring.hpp"
#include "bench/baselines/extendible_hashing.hpp"

namespace durahash::crash {
namespace extendible_hashing_explored {

using baselines::extendible_hashing;
using published = extendible_hashing<recording_medium<false>>;

// One block to begin with; the records make three or four of it.
explored small() {
  explored made{16, 44};
  made.how.go_on_every = 2;
  return made;
}

TEST(ExtendibleHashingExplored, LosesNothingWithItsHolesMended) {
  findings found = expect_safe_when_mended<extendible_hashing>(small());
  for (const char* step : {"double.root", "split.entry", "split.depth"})
    EXPECT_TRUE(reached(found, std::string("extendible.") + step)) << step;
}
TEST(ExtendibleHashingExplored, LosesTheDirectoryThatItDoubles) {
  expect_hole<extendible_hashing>(small(), published::old_directory_flushed, "does not open");
}
TEST(ExtendibleHashingExplored, RefusesWhatASplitMovedBetweenTheWordsOfItsRoot) {
  expect_hole<extendible_hashing>(small(), published::root_in_words, "is refused after recovery");
}
TEST(ExtendibleHashingExplored, RefusesWhatASplitMovedBeforeTheDirectoryTellsOfIt) {
  expect_hole<extendible_hashing>(small(), published::depth_before_directory,
                                  "is refused after recovery");
}
TEST(ExtendibleHashingExplored, LosesTheNewBlocksPattern) {
  expect_hole<extendible_hashing>(small(), published::pattern_not_flushed, "must hold #");
}
TEST(ExtendibleHashingExplored, ShowsAfterAKillWhatALossOfPowerUndoes) {
  explored often = small();
  often.how.kill_every = 1;
  expect_hole<extendible_hashing>(often, published::read_before_durable, "must hold #");
}

}  // namespace extendible_hashing_explored
}  // namespace durahash::crash
