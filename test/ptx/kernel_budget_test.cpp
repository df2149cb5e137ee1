// What each kernel costs, beside what is recorded in budgets.json: instructions, sectors, requests
// over the bus, fences and atomics per operation. More than 5 % above is a failure.
//   DURAHASH_RECORD_BUDGETS=1 ptx_kernels_test --gtest_filter='PtxBudgets.*'     records anew
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "test/ptx/budget.hpp"
#include "test/ptx/load.hpp"

namespace durahash::ptx {
namespace {

const std::string recorded_in = DURAHASH_SOURCE_DIR "/test/ptx/budgets.json";

TEST(PtxBudgets, NoKernelCostsMoreThanRecorded) {
  auto counted = count_budgets();
  const std::string compiled_by =
      "nvcc " DURAHASH_NVCC_VERSION ", sm_" + std::to_string(architecture());
  if (std::getenv("DURAHASH_RECORD_BUDGETS") != nullptr) {
    std::ofstream(recorded_in)
        << nlohmann::json({{"compiled_by", compiled_by}, {"per_operation", counted}}).dump(1)
        << "\n";
    GTEST_SKIP() << "recorded in " << recorded_in;
  }
  std::ifstream file(recorded_in);
  nlohmann::json all = nlohmann::json::parse(file);
  if (all.at("compiled_by") != compiled_by)
    GTEST_SKIP() << "recorded with " << all.at("compiled_by") << ", compiled with " << compiled_by;
  const nlohmann::json& recorded = all.at("per_operation");
  ASSERT_EQ(recorded.size(), counted.size());
  constexpr double more = 1.05;
  for (const auto& [row, costs] : counted)
    for (const auto& [figure, cost] : costs) {
      double before = recorded.at(row).at(figure);
      EXPECT_LE(cost, before * more + 1e-9) << row << ": " << figure << ", recorded " << before;
    }
}

TEST(PtxBudgets, AreTheSameAtEveryCount) { EXPECT_EQ(count_budgets(), count_budgets()); }

}  // namespace
}  // namespace durahash::ptx
