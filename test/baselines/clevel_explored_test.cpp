// Crashes of Clevel hashing, in buckets of two slots.
#include "baselines/exploring.hpp"
#include "bench/baselines/clevel.hpp"

namespace durahash::crash {
namespace clevel_explored {

using baselines::small_clevel;
using published = small_clevel<recording_medium<false>>;

// 12 slots to begin with; the records make levels, and drain them.
explored small() {
  explored made{12, 24};
  made.how.go_on_every = 2;
  return made;
}

TEST(ClevelExplored, LosesNothingWithItsHolesMended) {
  findings found = expect_safe_when_mended<small_clevel>(small());
  for (const char* step : {"expand", "move.to", "move.from", "cursor", "drop", "drop.cursor"})
    EXPECT_TRUE(reached(found, std::string("clevel.") + step)) << step;
}
TEST(ClevelExplored, DropsALevelWhoseFirstBucketsNeverMoved) {
  expect_hole<small_clevel>(small(), published::cursor_apart, "after more was written");
}
TEST(ClevelExplored, ShowsAfterAKillWhatALossOfPowerUndoes) {
  expect_hole<small_clevel>({12, 24, killed_often()}, published::read_before_durable,
                            "must hold #");
}

}  // namespace clevel_explored
}  // namespace durahash::crash
