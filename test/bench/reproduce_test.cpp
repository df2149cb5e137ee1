// durahash reproduce, in its quick form: the rows, their counts, and two runs beside one another.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "test/bench/tool_run.hpp"

namespace durahash::bench {
namespace {

using nlohmann::json;

const json& quick_report() {
  static const json made = [] {
    tool_answer answer = run_tool("reproduce all --quick --seed 5 --json -");
    if (answer.exit_code != 0) throw std::runtime_error(answer.output);
    return json::parse(answer.output);
  }();
  return made;
}

/// A file of this process, gone at the end.
struct own_file {
  std::filesystem::path at;
  explicit own_file(const std::string& name)
      : at(std::filesystem::temp_directory_path() / (name + std::to_string(::getpid()))) {}
  ~own_file() { std::filesystem::remove(at); }
  void write(const json& content) const { std::ofstream(at) << content; }
};

TEST(Reproduce, EveryRowSaysWhatItMeasuredOrWhyNot) {
  std::set<std::string> ids;
  for (const json& row : quick_report()["rows"]) {
    const std::string id = row["id"];
    SCOPED_TRACE(id);
    EXPECT_TRUE(ids.insert(id).second) << "twice";
    EXPECT_TRUE(id.starts_with(row["engine"].get<std::string>() + "."));
    for (const char* field : {"paper", "where", "says"}) EXPECT_NE(row[field], "") << field;
    if (row["verdict"] == "not measured here") {
      EXPECT_NE(row["reason"], "");
      EXPECT_TRUE(row["value"].is_null());
      continue;
    }
    EXPECT_TRUE(row["value"].is_number());
    EXPECT_NE(row["measured"], "");
    EXPECT_NE(row["parameters"], "");
    EXPECT_NE(row["evidence"], "none");
    EXPECT_EQ(row["reason"] == "", row["verdict"] == "holds") << row["reason"];
  }
  EXPECT_GE(ids.size(), 120u);
}

TEST(Reproduce, CountsAreTheSameInEveryRunWithOneSeed) {
  tool_answer again = run_tool("reproduce all --quick --seed 5 --json -");
  ASSERT_EQ(again.exit_code, 0);
  const json other = json::parse(again.output);
  unsigned compared = 0;
  ASSERT_EQ(other["rows"].size(), quick_report()["rows"].size());
  for (std::size_t i = 0; i < other["rows"].size(); ++i) {
    json one = quick_report()["rows"][i], two = other["rows"][i];
    if (one["evidence"] != "counts") continue;
    one.erase("seconds"), two.erase("seconds");
    EXPECT_EQ(one, two);
    ++compared;
  }
  EXPECT_GT(compared, 60u);
}

TEST(Reproduce, AnotherSeedCountsOtherTables) {
  tool_answer other = run_tool("reproduce cceh --quick --seed 6 --json -");
  ASSERT_EQ(other.exit_code, 0);
  unsigned different = 0;
  const json report = json::parse(other.output);
  for (const json& row : report["rows"])
    for (const json& old : quick_report()["rows"])
      different +=
          row["id"] == old["id"] && row["evidence"] == "counts" && row["value"] != old["value"];
  EXPECT_GT(different, 3u);
}

TEST(Reproduce, TellsWhatGotWorseThanInAnEarlierReport) {
  own_file earlier("reproduce-earlier-");
  tool_answer made = run_tool("reproduce cceh --quick --json " + earlier.at.string() + " 2>&1");
  ASSERT_EQ(made.exit_code, 0) << made.output;
  json report;
  std::ifstream(earlier.at) >> report;
  for (json& row : report["rows"]) {
    if (row["evidence"] == "times") row["value"] = nullptr;  // this machine may be busy
    if (row["id"] == "cceh.fig6b-steady") row["value"] = 0.9 * row["value"].get<double>();
    if (row["id"] == "cceh.fig10-directory") row["value"] = 2 * row["value"].get<double>();
  }
  earlier.write(report);
  tool_answer answer =
      run_tool("reproduce cceh --quick --against " + earlier.at.string() + " 2>&1 >/dev/null");
  EXPECT_EQ(answer.exit_code, 1) << answer.output;
  EXPECT_NE(answer.output.find("worse    cceh.fig6b-steady"), std::string::npos) << answer.output;
  EXPECT_NE(answer.output.find("changed  cceh.fig10-directory"), std::string::npos)
      << answer.output;
  EXPECT_EQ(answer.output.find("cceh.fig9-lines"), std::string::npos) << answer.output;
}

TEST(Reproduce, ThePlainReportNamesEveryVerdict) {
  tool_answer answer = run_tool("reproduce gphash --quick 2>&1");
  EXPECT_EQ(answer.exit_code, 0);
  for (const char* word : {"GPHash (FAST'25)", "gphash.fig12a", "holds", "differs",
                           "not measured here", "claims:", "load average", "seed 1, quick"})
    EXPECT_NE(answer.output.find(word), std::string::npos) << word << " in\n" << answer.output;
}

TEST(Reproduce, RefusesWhatItCannotCompareOrRead) {
  own_file other("reproduce-other-");
  json report = quick_report();
  report["keys"] = 7;
  other.write(report);
  struct refusal {
    std::string arguments;
    int exit_code;
    std::string named;
  };
  for (const refusal& one : {refusal{"btree", 2, "btree"},
                             {"--keys 10", 2, "--keys"},
                             {"--seed x", 2, "--seed"},
                             {"--json /nonexistent/x.json", 3, "/nonexistent/x.json"},
                             {"--quick --against /nonexistent/x.json", 3, "/nonexistent/x.json"},
                             {"--quick --seed 5 --against " + other.at.string(), 2, "--keys 7"}}) {
    tool_answer answer = run_tool("reproduce " + one.arguments + " 2>&1");
    EXPECT_EQ(answer.exit_code, one.exit_code) << one.arguments << "\n" << answer.output;
    EXPECT_NE(answer.output.find(one.named), std::string::npos) << answer.output;
  }
}

}  // namespace
}  // namespace durahash::bench
