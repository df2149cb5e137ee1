// Crashes of SEPH, in segments of 8 slots.
#include "baselines/exploring.hpp"
#include "bench/baselines/seph.hpp"

namespace durahash::crash {
namespace seph_explored {

using baselines::small_seph;
using published = small_seph<recording_medium<false>>;

// Two level segments to begin with; the records make several of them.
explored small() {
  explored made{24, 32};
  made.how.go_on_every = 2;
  return made;
}

TEST(SephExplored, LosesNothingWithItsHolesMended) {
  findings found = expect_safe_when_mended<small_seph>(small());
  for (const char* step :
       {"settle", "split.copied", "split.half", "split.entries", "double.directory", "double.root"})
    EXPECT_TRUE(reached(found, std::string("seph.") + step)) << step;
}
TEST(SephExplored, MeetsTheMarksOfASplitThatACrashCut) {
  expect_hole<small_seph>(small(), published::copied_marks_stay, "is refused after recovery");
}
TEST(SephExplored, SplitsALevelSegmentNeverAgainWhoseEntriesWereTorn) {
  expect_hole<small_seph>(small(), published::entries_torn, "is refused after recovery");
}
TEST(SephExplored, LosesTheDirectoryThatADyingProcessDoubled) {
  explored often{24, 32, killed_often()};
  often.how.nested_operations = 24;
  expect_hole<small_seph>(often, published::root_not_written_back, "does not open");
}

}  // namespace seph_explored
}  // namespace durahash::crash
