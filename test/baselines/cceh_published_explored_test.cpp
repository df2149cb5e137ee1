// Crashes of CCEH as it was published, in segments of 16 slots.
#include "baselines/exploring.hpp"
#include "bench/baselines/cceh_published.hpp"

namespace durahash::crash {
namespace cceh_published_explored {

using baselines::small_cceh_copying;
using baselines::small_cceh_in_place;
using published = small_cceh_in_place<recording_medium<false>>;

// One segment to begin with; the records make three or four of it.
explored small() {
  explored made{16, 40};
  made.how.go_on_every = 2;
  return made;
}
explored killed() { return {16, 40, killed_often()}; }
TEST(CcehPublishedExplored, InPlaceLosesNothingWithItsHolesMended) {
  findings found = expect_safe_when_mended<small_cceh_in_place>(small());
  for (const char* step : {"split.entries", "split.depth", "double.entries", "double.root"})
    EXPECT_TRUE(reached(found, std::string("cceh-published.") + step)) << step;
}
TEST(CcehPublishedExplored, InPlaceLosesTheDirectoryThatItDoubles) {
  expect_hole<small_cceh_in_place>(small(), published::directory_not_flushed, "does not open");
}
TEST(CcehPublishedExplored, InPlaceLeavesASplitOfItsLastSegmentHalfDone) {
  expect_hole<small_cceh_in_place>(small(), published::last_segment_skipped,
                                   "after more was written");
}
TEST(CcehPublishedExplored, InPlaceShowsAfterAKillWhatALossOfPowerUndoes) {
  expect_hole<small_cceh_in_place>(killed(), published::read_before_durable, "must hold #");
}

TEST(CcehPublishedExplored, CopyingLosesNothingWithItsHolesMended) {
  findings found = expect_safe_when_mended<small_cceh_copying>(small());
  for (const char* step : {"split.entries", "double.entries", "double.root"})
    EXPECT_TRUE(reached(found, std::string("cceh-published.") + step)) << step;
}
TEST(CcehPublishedExplored, CopyingLosesTheDirectoryThatItDoubles) {
  expect_hole<small_cceh_copying>(small(), published::directory_not_flushed, "does not open");
}
TEST(CcehPublishedExplored, CopyingLeavesASplitOfItsLastSegmentHalfDone) {
  expect_hole<small_cceh_copying>(small(), published::last_segment_skipped,
                                  "after more was written");
}
TEST(CcehPublishedExplored, CopyingShowsAfterAKillWhatALossOfPowerUndoes) {
  expect_hole<small_cceh_copying>(killed(), published::read_before_durable, "must hold #");
}
}  // namespace cceh_published_explored
}  // namespace durahash::crash
