// Each planted bug is found by the programs that find nothing in the build's kernels.
#include <gtest/gtest.h>

#include "test/ptx/mutants.hpp"

namespace durahash::ptx {
namespace {

constexpr unsigned seeds_without_a_bug = 20;
// Some show in one program of nine. Addresses are parts of the programs: no two runs are the same.
constexpr unsigned most_seeds = 100;

}  // namespace

void PrintTo(const mutant& m, std::ostream* to) { *to << m.name; }

namespace {

class PtxMutants : public testing::TestWithParam<mutant> {};
INSTANTIATE_TEST_SUITE_P(Every, PtxMutants, testing::ValuesIn(mutants), [](const auto& each) {
  std::string name = each.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST_P(PtxMutants, IsFound) {
  module kernels = planted(GetParam());
  program_options o = GetParam().shown_by;
  for (o.seed = 1; o.seed <= most_seeds; ++o.seed) {
    program_end end = run_program(o, &kernels);
    if (end.complaint.empty()) continue;
    std::printf("seed %u: %s\n", static_cast<unsigned>(o.seed), end.complaint.c_str());
    return;
  }
  FAIL() << GetParam().name << " was not found by " << most_seeds << " seeds";
}

/// The same programs, and nothing planted.
TEST(PtxKernels, AreRightWithoutAPlantedBug) {
  for (program_options o :
       {program_options{}, program_options{.exchanges = true, .rounds = 40},
        program_options{.cache_percent = 60},
        program_options{.place = gpu::table_place::device_mirror},
        program_options{.place = gpu::table_place::host_mirror, .cache_percent = 60}})
    for (o.seed = 1; o.seed <= seeds_without_a_bug; ++o.seed)
      ASSERT_EQ(run_program(o).complaint, "");
}

}  // namespace
}  // namespace durahash::ptx
