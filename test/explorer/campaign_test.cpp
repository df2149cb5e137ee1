// Campaigns repeat, and what they find can be shown again.
#include "explorer/campaign.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "explorer/exploring.hpp"

namespace durahash::crash {
namespace {

TEST(CrashCampaign, EveryEngineThatIsListedIsExplored) {
  std::vector<engine_kind> listed(all_engines().begin(), all_engines().end());
  EXPECT_EQ(engines(), listed);
}

void nothing_to_tell(double, const std::string&) {}

TEST(CrashCampaign, AnElisionThatNobodyNoticedIsArguedByItsEngineOrSurvives) {
  explored_engine pretend{
      engine_kind::turbo, {}, {}, {{"the flush of turbo.step.1", "nobody reads it"}}};
  findings nothing, lost;
  lost.violations.push_back({"key 0 is lost", {}, {}, "turbo/u64/power#1"});
  matrix_line argued = line_of("the flush of turbo.step.1", nothing, pretend);
  EXPECT_TRUE(argued.argued);
  EXPECT_FALSE(argued.caught);
  EXPECT_EQ(argued.by, "nobody reads it");
  matrix_line survived = line_of("the flush of turbo.step.2", nothing, pretend);
  EXPECT_FALSE(survived.argued || survived.caught);
  EXPECT_EQ(survived.by, "");
  for (const char* place : {"the flush of turbo.step.1", "the flush of turbo.step.2"}) {
    matrix_line caught = line_of(place, lost, pretend);
    EXPECT_TRUE(caught.caught);
    EXPECT_FALSE(caught.argued) << "an argument is no excuse for what was lost";
    EXPECT_EQ(caught.by, "key 0 is lost");
    EXPECT_EQ(caught.what, place);
    EXPECT_EQ(caught.witness, "turbo/u64/power#1");
  }
  findings silent;
  silent.violations.push_back({"nothing was heard for too long", {}, {}});
  EXPECT_FALSE(line_of("the flush of turbo.step.1", silent, pretend).caught);
}

TEST(CrashCampaign, WhatCannotBeRunIsToldInASentence) {
  auto sentence_of = [](auto&& change) {
    campaign what;
    change(what);
    return why_not(what);
  };
  auto starts = [](const std::string& text, const std::string& with) {
    return !with.empty() && text.starts_with(with);
  };
  EXPECT_EQ(sentence_of([](campaign&) {}), "");
  EXPECT_EQ(sentence_of([](campaign& c) { c.only_job = 0, c.keep = {1}; }), "");
  EXPECT_EQ(sentence_of([](campaign& c) { c.without = "the fence of turbo.step.1"; }), "");
  EXPECT_TRUE(starts(sentence_of([](campaign& c) { c.only = "nothing"; }), "--only nothing: "));
  EXPECT_TRUE(starts(sentence_of([](campaign& c) { c.without = "turbo.step.1"; }),
                     "--without turbo.step.1: the elision matrix names"));
  EXPECT_EQ(sentence_of([](campaign& c) { c.plant = "a-lock-in-the-pool"; }), "");
  for (const char* unknown : {"a-lock", "the fence of turbo.write.done"})
    EXPECT_TRUE(starts(sentence_of([&](campaign& c) { c.plant = unknown; }),
                       std::string("--plant ") + unknown + ": no bug"));
  EXPECT_TRUE(starts(sentence_of([](campaign& c) { c.keep = {1}; }),
                     "--keep tells operations of one job's program"));
  EXPECT_TRUE(
      starts(sentence_of([](campaign& c) { c.only = "threads", c.only_job = 0, c.keep = {1}; }),
             "--keep: this job's programs"));
}

TEST(CrashCampaign, TheSameSeedFindsTheSameByteForByte) {
  // one thread, several threads, every image gone on with, another machine, another level
  for (std::size_t job : {0u, 1u, 2u, 3u, 4u}) {
    campaign what;
    what.operations = 8;
    what.seed = 5;
    what.schedules = 12;
    what.pace = pace::quick;
    what.elisions = false;
    what.only_job = job;
    findings once = run(what, nothing_to_tell).found, again = run(what, nothing_to_tell).found;
    EXPECT_EQ(first_of(once), "");
    EXPECT_GT(once.cuts, 10u);
    EXPECT_EQ(once.packed(), again.packed()) << "job " << job;
    what.seed = 6;
    EXPECT_NE(once.packed(), run(what, nothing_to_tell).found.packed()) << "job " << job;
  }
}

/// The place of that kind that ran most often in the engine itself.
std::string max_frequent(const findings& found, const std::string& kind) {
  std::string most;
  for (const auto& [place, times] : found.places)
    if (place.starts_with(kind + " of turbo.") && (most.empty() || times > found.places.at(most)))
      most = place;
  return most;
}

/// What stands behind an option of a replay line.
std::string after_option(const std::string& line, const std::string& option) {
  std::size_t at = line.find(" " + option + " ");
  if (at == std::string::npos) return {};
  at += option.size() + 2;
  bool quoted = line[at] == '"';
  return quoted ? line.substr(at + 1, line.find('"', at + 1) - at - 1)
                : line.substr(at, line.find(' ', at) - at);
}

TEST(CrashCampaign, WhatIsForgottenIsFoundAndItsReplayShowsItAgain) {
  campaign what;
  what.operations = 24;
  what.threads = 1;
  what.seed = 2;
  what.elisions = false;
  what.only_job = 0;
  findings whole = run(what, nothing_to_tell).found;
  EXPECT_EQ(first_of(whole), "");
  for (const char* kind : {"the flush", "the fence", "the order"}) {
    what.without = max_frequent(whole, kind);
    ASSERT_FALSE(what.without.empty()) << kind;
    findings found = run(what, nothing_to_tell).found;
    ASSERT_EQ(found.violations.size(), 1u) << what.without;
    const violation& v = found.violations.front();

    campaign again;
    again.operations = std::stoul(after_option(v.replay, "--ops"));
    again.threads = std::stoul(after_option(v.replay, "--threads"));
    again.seed = std::stoull(after_option(v.replay, "--seed"));
    again.only_job = std::stoul(after_option(v.replay, "--job"));
    again.without = after_option(v.replay, "--without");
    EXPECT_EQ(again.without, what.without);
    std::istringstream kept(after_option(v.replay, "--keep"));
    for (std::string number; std::getline(kept, number, ',');)
      again.keep.push_back(std::stoul(number));
    EXPECT_FALSE(again.keep.empty());
    EXPECT_LT(again.keep.size(), what.operations) << "a smaller program was found: " << v.replay;
    findings repeated = run(again, nothing_to_tell).found;
    ASSERT_EQ(repeated.violations.size(), 1u) << v.replay;
    EXPECT_EQ(repeated.violations.front().what, v.what);
    EXPECT_EQ(repeated.violations.front().report, v.report);
    EXPECT_EQ(repeated.violations.front().replay, v.replay);

    again.without.clear();
    EXPECT_EQ(first_of(run(again, nothing_to_tell).found), "") << "it was the elision";
  }
}

}  // namespace
}  // namespace durahash::crash
