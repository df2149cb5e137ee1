// Tables that lie are found, and what is said of them.
#include <gtest/gtest.h>

#include "explorer/exploring.hpp"

namespace durahash::crash {
namespace {

TEST(CrashExplorer, ATableThatKeepsItsPromiseIsLeftAlone) {
  findings found = explore_a<wrapped>();
  EXPECT_EQ(first_of(found), "");
  EXPECT_GT(found.cuts, 50u);
  EXPECT_GT(found.recoveries, 60u);
  EXPECT_GT(found.nested, 50u);
  EXPECT_GE(found.images, found.unique_images);
  EXPECT_EQ(found.unique_images, found.recoveries + found.pruned);
}

struct forgets_a_put : wrapped {
  using wrapped::wrapped;
  void perform(call& c) override {
    if (where_.created && c.what.what == act::put && c.what.version == 6) c.parts.front().ok = true;
    else wrapped::perform(c);
  }
};
struct erases_nothing : wrapped {
  using wrapped::wrapped;
  void perform(call& c) override {
    if (where_.created && c.what.what == act::erase) c.parts.front().ok = true;
    else wrapped::perform(c);
  }
};
struct invents_a_key : wrapped {
  using wrapped::wrapped;
  bool holds(key_number key, const present_value& value) override {
    return key == 7 ? value.has_value() : wrapped::holds(key, value);
  }
};
struct counts_wrongly : wrapped {
  using wrapped::wrapped;
  std::uint64_t size() override { return wrapped::size() + 1; }
};
struct repeats_a_key : wrapped {
  using wrapped::wrapped;
  bool scan(std::vector<std::string>& keys) override {
    if (!wrapped::scan(keys)) return false;
    if (!keys.empty()) keys.push_back(keys.front());
    return true;
  }
};
struct skips_a_key : wrapped {
  using wrapped::wrapped;
  bool scan(std::vector<std::string>& keys) override {
    if (!wrapped::scan(keys)) return false;
    if (!keys.empty()) keys.pop_back();
    return true;
  }
};
struct cannot_scan : wrapped {
  using wrapped::wrapped;
  bool scan(std::vector<std::string>&) override { return false; }
};
struct leaks : wrapped {
  using wrapped::wrapped;
  std::uint64_t unaccounted_bytes() override { return 64; }
};
struct breaks_an_invariant : wrapped {
  using wrapped::wrapped;
  check_report check() override {
    check_report report = wrapped::check();
    report.ok = false;
    report.violations.push_back("planted");
    return report;
  }
};
/// The table is opened three times: to record it, and twice to judge it.
struct loses_a_key_the_second_time : wrapped {
  loses_a_key_the_second_time(std::unique_ptr<subject> inner, made_in where)
      : wrapped(std::move(inner), where) {
    call c;
    c.what.what = act::erase;
    c.parts.push_back(key_call{act::erase, 0});
    if (!where.created && where.makes % 2 == 0) wrapped::perform(c);
  }
};
struct refuses_after_recovery : wrapped {
  using wrapped::wrapped;
  void perform(call& c) override {
    wrapped::perform(c);
    if (!where_.created && c.what.what == act::insert) c.parts.front().ok = false;
  }
};

template <class W>
void expect_found(const std::string& part, int line, bool goes_on = false) {
  plan alone = short_plan();
  alone.nested_every = 1000, alone.kill_every = 0;
  alone.go_on_every = 1000;
  if (goes_on) alone.go_on_every = 1;
  findings found = explore_a<W>(alone);
  EXPECT_TRUE(first_of(found).find(part) != std::string::npos)
      << "expected \"" << part << "\", found \"" << first_of(found) << "\", line " << line;
}

TEST(CrashExplorer, ATableThatLiesIsFound) {
  expect_found<forgets_a_put>("key 0 must hold #6, and does not (it holds something else)",
                              __LINE__);
  expect_found<erases_nothing>("key 2 must hold nothing, and does not (it holds something else)",
                               __LINE__);
  expect_found<invents_a_key>("key 7, which nobody put, is there", __LINE__);
  expect_found<counts_wrongly>("the count says 1 records, and there are 0 after recovery",
                               __LINE__);
  expect_found<repeats_a_key>("an iteration finds a key twice after recovery", __LINE__);
  expect_found<skips_a_key>("an iteration finds 0 keys, and gets find 1 after recovery", __LINE__);
  expect_found<cannot_scan>("an iteration meets damage after recovery", __LINE__);
  expect_found<leaks>("64 bytes of the pool are neither reachable nor free after recovery",
                      __LINE__);
  expect_found<breaks_an_invariant>("the check after recovery says: planted", __LINE__);
  expect_found<loses_a_key_the_second_time>("key 0 held #1, and does not after a second recovery",
                                            __LINE__);
  expect_found<refuses_after_recovery>("insert of key 0 is refused after recovery", __LINE__, true);
}

struct reads_what_is_not_there : wrapped {
  using wrapped::wrapped;
  void perform(call& c) override {
    wrapped::perform(c);
    if (c.what.what == act::get) c.parts.front().ok = false;
  }
};

TEST(CrashExplorer, AReadThatNothingExplainsIsFound) {
  findings found = explore_a<reads_what_is_not_there>(
      short_plan(), {{{act::put, {0}, 1}, {act::get, {0}, 0}}, 2});
  EXPECT_EQ(first_of(found), "no order of the calls of key 0 explains what they answered");
}

struct a_scan_misses_a_key : wrapped {
  using wrapped::wrapped;
  void perform(call& c) override {
    wrapped::perform(c);
    if (c.what.what == act::scan) c.parts.front().ok = false;
  }
};
struct a_scan_has_an_old_value : wrapped {
  using wrapped::wrapped;
  void perform(call& c) override {
    wrapped::perform(c);
    if (c.what.what == act::scan) c.parts.back().read = value_of(1, 2, true);
  }
};
struct a_sync_fails : wrapped {
  using wrapped::wrapped;
  void perform(call& c) override {
    wrapped::perform(c);
    if (c.what.what == act::sync) c.fault = "a sync answers: planted";
  }
};

TEST(CrashExplorer, AScanIsAReadOfEachKeyAndMustBeExplained) {
  const program both = {
      {{act::put, {0}, 1}, {act::put, {1}, 2}, {act::put, {1}, 3}, {act::scan, {}, 0}}, 2};
  EXPECT_EQ(first_of(explore_a<wrapped>(short_plan(), both)), "");
  EXPECT_EQ(first_of(explore_a<a_scan_misses_a_key>(short_plan(), both)),
            "no order of the calls of key 0 explains what they answered");
  EXPECT_EQ(first_of(explore_a<a_scan_has_an_old_value>(short_plan(), both)),
            "no order of the calls of key 1 explains what they answered");
}

TEST(CrashExplorer, AnOperationOfTheTableThatFailsIsFound) {
  const program synced = {{{act::put, {0}, 1}, {act::sync, {}, 0}, {act::put, {1}, 2}}, 2};
  EXPECT_EQ(first_of(explore_a<wrapped>(short_plan(), synced)), "");
  EXPECT_EQ(first_of(explore_a<a_sync_fails>(short_plan(), synced)), "a sync answers: planted");
}

TEST(CrashExplorer, AViolationTellsTheCallsTheCrashAndTheImage) {
  findings found = explore_a<forgets_a_put>();
  ASSERT_FALSE(found.violations.empty());
  const std::string& report = found.violations.front().report;
  for (const char* part : {"calls:  put 0 #1;  insert 1 #2;  put_many 2,3,4 #3;",
                           "the crash: after event", "the image: what is durable, and of "})
    EXPECT_NE(report.find(part), std::string::npos) << part << " is missing in:" << report;
}

}  // namespace
}  // namespace durahash::crash
