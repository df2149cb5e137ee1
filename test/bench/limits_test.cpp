#include "bench/limits.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace durahash::bench {
namespace {

TEST(Limits, EveryPatternIsMeasuredOnceUnderItsOwnName) {
  limits_report report = measure_limits(1 << 20, 1, 1);
  std::set<std::string_view> names;
  for (const limit& row : report.rows) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_GT(row.ns, 0) << row.name;
    EXPECT_EQ(report.ns_of(row.name), row.ns);
  }
  EXPECT_EQ(names.size(), 16u);
  EXPECT_TRUE(report.flush_instruction == "clwb" || report.flush_instruction == "clflushopt" ||
              report.flush_instruction == "clflush");
}

TEST(Limits, TheLimitOfAWorkloadIsThatOfItsReadsAndWrites) {
  limits_report report;
  report.rows = {{"read_prefetched_16", "", 10},
                 {"write_unflushed", "", 20},
                 {"persist_fetched", "", 100},
                 {"persist_group_16", "", 30}};
  using enum workload_kind;
  EXPECT_DOUBLE_EQ(limit_ns(report, positive, durability_level::power, 1), 10);
  EXPECT_DOUBLE_EQ(limit_ns(report, insert, durability_level::power, 1), 100);
  EXPECT_DOUBLE_EQ(limit_ns(report, insert, durability_level::power, 64), 30);
  EXPECT_DOUBLE_EQ(limit_ns(report, insert, durability_level::process, 1), 20);
  EXPECT_DOUBLE_EQ(limit_ns(report, ycsb_a, durability_level::power, 1), 55);
}

TEST(Limits, EveryLimitThatAWorkloadIsComparedWithIsMeasured) {
  limits_report report = measure_limits(1 << 20, 1, 1);
  for (durability_level level :
       {durability_level::none, durability_level::process, durability_level::power})
    for (std::uint64_t batch : {1, 64}) {
      EXPECT_GT(report.ns_of(limits_of(level, batch).read), 0);
      EXPECT_GT(report.ns_of(limits_of(level, batch).write), 0);
    }
}

}  // namespace
}  // namespace durahash::bench
