// durahash reproduce, in its quick form: the rows, their counts, and two runs beside one another.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "test/bench/browser.hpp"
#include "test/bench/tool_run.hpp"

namespace durahash::bench {
namespace {

using nlohmann::json;

json quick_report(const std::string& papers, unsigned seed = 5) {
  tool_answer answer =
      run_tool("reproduce " + papers + " --quick --seed " + std::to_string(seed) + " --json -");
  if (answer.exit_code != 0) throw std::runtime_error(answer.output);
  return json::parse(answer.output);
}

void expect_rows_say_what_they_measured_or_why_not(const json& report) {
  std::set<std::string> ids;
  for (const json& row : report["rows"]) {
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

TEST(Reproduce, EveryRowSaysWhatItMeasuredAndCountsAreTheSameInEveryRunWithOneSeed) {
  const json once = quick_report("all"), again = quick_report("all");
  expect_rows_say_what_they_measured_or_why_not(once);
  unsigned compared = 0;
  ASSERT_EQ(again["rows"].size(), once["rows"].size());
  for (std::size_t i = 0; i < again["rows"].size(); ++i) {
    json one = once["rows"][i], two = again["rows"][i];
    if (one["evidence"] != "counts") continue;
    for (const char* time : {"seconds", "processor_seconds"}) one.erase(time), two.erase(time);
    EXPECT_EQ(one, two);
    ++compared;
  }
  EXPECT_GT(compared, 60u);
}

TEST(Reproduce, AnotherSeedCountsOtherTables) {
  unsigned different = 0;
  const json one = quick_report("cceh", 5), other = quick_report("cceh", 6);
  for (const json& row : other["rows"])
    for (const json& old : one["rows"])
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

/// What was recorded has no noise, and more digits than a report: it was "worse" by nothing.
TEST(Reproduce, WhatWasRecordedIsNotWorseThanItself) {
  own_file earlier("reproduce-earlier-");
  const json report = quick_report("gphash");
  earlier.write(report);
  tool_answer answer = run_tool("reproduce gphash --quick --seed 5 --against " +
                                earlier.at.string() + " 2>&1 >/dev/null");
  unsigned recorded = 0;
  for (const json& row : report["rows"]) {
    if (row["evidence"] != "recorded") continue;
    ++recorded;
    EXPECT_EQ(answer.output.find(row["id"].get<std::string>() + ":"), std::string::npos)
        << answer.output;
  }
  EXPECT_GT(recorded, 5u);
}

TEST(Reproduce, ThePlainReportNamesEveryVerdict) {
  tool_answer answer = run_tool("reproduce gphash --quick 2>&1");
  EXPECT_EQ(answer.exit_code, 0);
  for (const char* word : {"GPHash (FAST'25)", "gphash.fig12a", "holds", "differs",
                           "not measured here", "claims:", "load average", "seed 1, quick"})
    EXPECT_NE(answer.output.find(word), std::string::npos) << word << " in\n" << answer.output;
}

bool with_matplotlib() {
  return std::system("python3 -c 'import matplotlib' >/dev/null 2>&1") == 0;
}

TEST(Reproduce, ThePageHasAllRowsAndFitsAPhone) {
  if (!with_matplotlib()) GTEST_SKIP() << "no matplotlib: no page is made";
  own_file page("reproduce-page-"), report("reproduce-report-");
  tool_answer made = run_tool("reproduce gphash --quick --seed 5 --html " + page.at.string() +
                              " --json " + report.at.string() + " 2>&1");
  ASSERT_EQ(made.exit_code, 0) << made.output;
  std::ifstream file(page.at);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  for (const char* other : {"src=", "http://", "https://"}) {
    // The names of XML's dialects are no links.
    std::size_t at = 0;
    while ((at = text.find(other, at)) != std::string::npos) {
      EXPECT_NE(text.substr(at, 40).find("www.w3.org"), std::string::npos)
          << "not in one file: " << text.substr(at, 80);
      ++at;
    }
  }
  json rows;
  std::ifstream(report.at) >> rows;
  const std::string browser = chromium();
  if (browser.empty()) GTEST_SKIP() << "no chromium: the page is made, and nobody looks at it";
  const json seen = seen_with_width(browser, text, 390);
  EXPECT_EQ(seen["rows"], rows["rows"].size()) << seen;
  EXPECT_EQ(seen["figures"], rows["figures"].size()) << seen;
  EXPECT_GT(seen["text"], 50) << "letters of figures are text: " << seen;
  EXPECT_LE(seen["width"], 390) << seen;
  EXPECT_EQ(seen["wide"], 0) << seen;
  EXPECT_EQ(seen["errors"], 0) << seen;
  EXPECT_EQ(seen["console"], false) << seen;
}

// docs/lab/reproduce.html is what one named machine measured.
TEST(ReproduceReport, InTheDocumentsIsWholeAndFitsADeskAndAPhone) {
  std::ifstream file(DURAHASH_REPORT ".html"), recorded(DURAHASH_REPORT ".json");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  ASSERT_GT(text.size(), 100'000u);
  EXPECT_LT(text.size(), 2'000'000u);
  json report;
  recorded >> report;
  EXPECT_GE(report["rows"].size(), 60u);
  EXPECT_EQ(report["quick"], false);
  for (const json& row : report["rows"])
    EXPECT_NE(text.find("id=\"" + row["id"].get<std::string>() + "\""), std::string::npos)
        << row["id"];
  const std::string browser = chromium();
  if (browser.empty()) GTEST_SKIP() << "no chromium: nobody looks at the page";
  const json& counted = report["verdicts"];
  for (unsigned width : {390u, 1280u}) {
    SCOPED_TRACE(width);
    const json seen = seen_with_width(browser, text, width);
    EXPECT_EQ(seen["rows"], report["rows"].size());
    EXPECT_EQ(seen["verdicts"],
              json({counted["holds"], counted["differs"], counted["not measured here"]}));
    EXPECT_GT(seen["figures"], 40) << seen;
    EXPECT_LE(seen["width"], width) << seen;
    EXPECT_EQ(seen["wide"], 0) << seen;
    EXPECT_EQ(seen["errors"], 0) << seen;
    EXPECT_EQ(seen["console"], false) << seen;
  }
}

/// A claim that came, went or is measured otherwise since then wants the report made anew.
TEST(ReproduceReport, InTheDocumentsHasTheRowsOfThisCode) {
  std::ifstream recorded(DURAHASH_REPORT ".json");
  json report;
  recorded >> report;
  const json made = quick_report("all"), &then = report["rows"], &now = made["rows"];
  ASSERT_EQ(then.size(), now.size());
  for (std::size_t i = 0; i < now.size(); ++i)
    for (const char* field : {"id", "where", "says", "measured", "evidence"})
      EXPECT_EQ(then[i][field], now[i][field]) << now[i]["id"];
}

TEST(Reproduce, AFigureIsDrawnOrItsAbsenceExplained) {
  namespace fs = std::filesystem;
  own_file folder("reproduce-figures-");
  tool_answer made =
      run_tool("reproduce gphash --quick --seed 5 --plot " + folder.at.string() + " 2>&1");
  const bool there = with_matplotlib();
  EXPECT_EQ(made.exit_code, there ? 0 : 3) << made.output;
  if (!there) {
    EXPECT_NE(made.output.find("matplotlib"), std::string::npos) << made.output;
    return;
  }
  std::set<std::string> drawn;
  for (const fs::directory_entry& one : fs::directory_iterator(folder.at)) {
    EXPECT_GT(one.file_size(), 2000u) << one.path();
    drawn.insert(one.path().filename());
  }
  std::size_t wanted = 0;
  const json report = quick_report("gphash");
  for (const json& one : report["figures"]) {
    if (one["engine"] != "gphash") continue;
    const std::string id = one["id"];
    for (const char* ending : {".png", ".svg"}) EXPECT_TRUE(drawn.contains(id + ending)) << id;
    wanted += 2;
  }
  EXPECT_EQ(drawn.size(), wanted);
  fs::remove_all(folder.at);
}

TEST(Reproduce, RefusesWhatItCannotCompareOrRead) {
  own_file other("reproduce-other-");
  json report = quick_report("gphash");
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
                             {"--quick --device tape", 2, "tape"},
                             {"--quick --device cuda:1023", 3, "CUDA"},
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
