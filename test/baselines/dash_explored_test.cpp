// Crashes of Dash-EH, in segments of 15 slots.
#include "baselines/exploring.hpp"
#include "bench/baselines/dash.hpp"

namespace durahash::crash {
namespace dash_explored {

using baselines::small_dash_eh;
using published = small_dash_eh<recording_medium<false>>;

// One segment to begin with; the records make three or four of it.
explored small() {
  explored made{15, 40};
  made.how.go_on_every = 2;
  return made;
}

TEST(DashExplored, LosesNothingWithItsHolesMended) {
  findings found = expect_safe_when_mended<small_dash_eh>(small());
  for (const char* step : {"dash.displace.clear", "dash.split.moved", "dash.split.entries",
                           "dash.double.directory", "transaction.begin", "transaction.end"})
    EXPECT_TRUE(reached(found, step)) << step;
}
TEST(DashExplored, LosesWhatASplitMovedBeforeTheDirectoryTellsOfIt) {
  expect_hole<small_dash_eh>(small(), published::split_not_finished, "must hold #");
}
TEST(DashExplored, OverwritesTheSlotOfARecordThatMoved) {
  expect_hole<small_dash_eh>(small(), published::displaced_slot_overwritten, "an iteration finds");
}
TEST(DashExplored, BringsBackTheCopyThatRecoveryDropped) {
  explored crowded{15, 13, crashed_twice()};  // one segment, nearly full: records make way
  crowded.how.nested_operations = 8;
  expect_hole<small_dash_eh>(crowded, published::copy_comes_back, "must hold nothing");
}
TEST(DashExplored, ShowsAfterAKillWhatALossOfPowerUndoes) {
  expect_hole<small_dash_eh>({15, 40, killed_often()}, published::read_before_durable,
                             "must hold #");
}

}  // namespace dash_explored
}  // namespace durahash::crash
