// Crashes of TurboHash as it was published, in buckets of six slots and of two.
#include "baselines/exploring.hpp"
#include "bench/baselines/turbo_published.hpp"

namespace durahash::crash {
namespace turbo_published_explored {

using baselines::crowded_turbo;
using baselines::small_turbo;
using published = small_turbo<recording_medium<false>>;

// Four shards of one bucket to begin with; some double.
const explored small{16, 26};
// One shard of four buckets, each for a record.
const explored crowded{8, 12};

TEST(TurboPublishedExplored, LosesNothingWithItsHolesMended) {
  findings found = expect_safe_when_mended<small_turbo>(small);
  for (const char* step :
       {"write", "write.slot", "erase", "grow.array", "grow.descriptor", "grow.version"})
    EXPECT_TRUE(reached(found, std::string("turbo-published.") + step)) << step;
  expect_safe_when_mended<crowded_turbo>(crowded);
}

TEST(TurboPublishedExplored, LosesARecordOutsideOfItsBucketsFirstLine) {
  expect_hole<small_turbo>(small, published::slot_not_flushed, "must hold #");
}

TEST(TurboPublishedExplored, LosesAShardWhoseDescriptorLiesInTwoLines) {
  expect_hole<small_turbo>(small, published::descriptor_in_two_lines, "does not open");
}

/// No crash is needed. Returns how many of such tables, of different hashes, lose a record, if only
/// until the next rehash.
unsigned tables_with_a_record_out_of_reach(std::uint32_t mended) {
  unsigned lost = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    baselines::request wanted;
    wanted.capacity = 8, wanted.seed = seed, wanted.mended = mended;
    auto made = baselines::make_baseline<crowded_turbo>(wanted);
    bool all = true;
    std::uint64_t value = 0;
    for (std::uint64_t k = 1; k <= 12; ++k) {
      EXPECT_EQ((*made)->insert(k, k), status::ok);
      for (std::uint64_t i = 1; i <= k; ++i) all = all && (*made)->get(i, value) == status::ok;
    }
    lost += !all;
  }
  return lost;
}
TEST(TurboPublishedExplored, LaysARecordOutWhereNoSearchLooks) {
  const unsigned lost = tables_with_a_record_out_of_reach(all_but(published::laid_out_of_reach));
  std::printf("%u of 500 tables\n", lost);
  EXPECT_GT(lost, 0u);
  EXPECT_EQ(tables_with_a_record_out_of_reach(all_mended), 0u);
}

TEST(TurboPublishedExplored, ShowsAfterAKillWhatALossOfPowerUndoes) {
  explored often = small;
  often.how.kill_every = 1;
  expect_hole<small_turbo>(often, published::read_before_durable, "must hold #");
}

}  // namespace turbo_published_explored
}  // namespace durahash::crash
