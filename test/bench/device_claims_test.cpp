// Rows of the lab that need a device, on threads in lockstep instead of one; and without.
#include <gtest/gtest.h>

#include "bench/reproduce/laboratory.hpp"
#include "bench/reproduce/report.hpp"
#include "durahash/emulated.hpp"
#include "test/bench/lockstep_gpu.hpp"

namespace durahash::reproduce {
namespace {

finding measured(laboratory& lab, std::string_view id) {
  for (const claim& one : claims_of(engine_kind::gphash))
    if (one.id == id) return one.measure(lab);
  throw std::runtime_error("no such claim");
}

TEST(ReproduceDevice, RowsAreMeasuredWhereThereIsOne) {
  use_emulated_medium();
  auto gpu = std::make_shared<bench::threads_in_lockstep>();
  laboratory lab(10'000, 5, true, std::shared_ptr<bench::device>(gpu));
  for (const char* id : {"gphash.fig5", "gphash.fig8"}) {
    SCOPED_TRACE(id);
    const finding f = measured(lab, id);
    EXPECT_NE(f.is, verdict::not_measured) << f.reason;
    EXPECT_GT(f.value, 0);
    EXPECT_NE(f.parameters.find("threads in lockstep"), std::string::npos) << f.parameters;
  }
  EXPECT_LT(measured(lab, "gphash.fig8").value, 1) << "a share";
  EXPECT_GT(gpu->apart, 0) << "batches in the device's memory";
  EXPECT_EQ(gpu->arrays, 0) << "arrays that nobody gave back";
}

TEST(ReproduceDevice, RowsSayWhyWhereThereIsNone) {
  laboratory lab(10'000, 5, true, error{status::unusable, "no GPU of that kind"});
  for (const char* id : {"gphash.fig5", "gphash.fig8"}) {
    const finding f = measured(lab, id);
    EXPECT_EQ(f.is, verdict::not_measured) << id;
    EXPECT_TRUE(f.reason.starts_with("no GPU of that kind; ")) << f.reason;
  }
}

/// Loses what comes back.
class forgetful final : public bench::threads_in_lockstep {
  status copy(void*, const void*, std::size_t) override { return status::io_error; }
};
TEST(ReproduceDevice, ADeviceThatFailsEndsTheRunWithASentence) {
  use_emulated_medium();
  laboratory lab(10'000, 5, true, std::shared_ptr<bench::device>(std::make_shared<forgetful>()));
  EXPECT_ANY_THROW(measured(lab, "gphash.fig8"));
}

}  // namespace
}  // namespace durahash::reproduce
