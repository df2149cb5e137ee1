// The compiled kernels, killed at any instruction, in weak order: each pool that is left opens, has
// all that was committed, and of the batch under way each operation whole or not at all.
#include <gtest/gtest.h>

#include "test/ptx/row_program.hpp"
#include "test/store/random.hpp"

namespace durahash::ptx {
namespace {

program_end run(const program_options& o) { return run_program(o); }
program_end run(const row_program_options& o) { return run_row_program(o); }

template <class Options>
void expect_right(Options o, unsigned seeds, unsigned least_images) {
  unsigned images = 0;
  for (o.seed = 1; o.seed <= seeds; ++o.seed) {
    program_end end = run(o);
    ASSERT_EQ(end.complaint, "");
    images += end.images;
  }
  std::printf("%u images of %u seeds\n", images, seeds);
  EXPECT_GE(images, least_images);
}

TEST(PtxKernels, KilledAtAnyInstruction) { expect_right(program_options{.killed = true}, 12, 450); }
TEST(PtxKernels, RowsKilledAtAnyInstruction) { expect_right(row_program_options{}, 8, 200); }
TEST(PtxKernels, RowsWithKeysInBucketsKilledAtTheLevelPower) {
  expect_right(row_program_options{.key_bytes = 24, .to_power = true}, 8, 200);
}
TEST(PtxKernels, RowsBesideCopiesOfBucketsKilledInStrongOrder) {
  expect_right(row_program_options{.cache_percent = 60, .weak = false}, 6, 150);
}
TEST(PtxKernels, KilledAtAnyInstructionInStrongOrder) {
  expect_right(program_options{.weak = false, .killed = true}, 12, 450);
}
TEST(PtxKernels, KilledWhileSlotsGoFromKeyToKey) {
  expect_right(program_options{.exchanges = true, .killed = true, .rounds = 40}, 12, 100);
}
/// Writes wait for a commit there, in two halves; the second is what is to be whole.
TEST(PtxKernels, KilledAtAnyInstructionAtTheLevelPower) {
  expect_right(program_options{.to_power = true, .killed = true}, 12, 300);
}
TEST(PtxKernels, KilledBesideCopiesOfBucketsAtTheLevelPower) {
  expect_right(program_options{.cache_percent = 60, .to_power = true, .killed = true}, 6, 200);
}
TEST(PtxKernels, KilledWithinGrowthAtTheLevelPower) {
  expect_right(program_options{.weak = false, .to_power = true, .grows = true, .killed = true}, 2,
               100);
}
TEST(PtxKernels, KilledWithinGrowth) {
  expect_right(program_options{.weak = false, .grows = true, .killed = true}, 3, 250);
}
TEST(PtxKernels, KilledWithinGrowthInWeakOrder) {
  if (!test::long_run())
    GTEST_SKIP() << "half a minute: with DURAHASH_LONG=1, as make nightly has it";
  expect_right(program_options{.grows = true, .killed = true, .rounds = 2}, 1, 30);
}
TEST(PtxKernels, KilledBesideCopiesOfBuckets) {
  expect_right(program_options{.cache_percent = 60, .killed = true}, 12, 600);
}
/// Its pool changes on the processor, behind them.
TEST(PtxKernels, APoolBehindAMirrorIsWholeWhileKernelsRun) {
  expect_right(program_options{.place = gpu::table_place::device_mirror, .killed = true}, 12, 60);
}

}  // namespace
}  // namespace durahash::ptx
