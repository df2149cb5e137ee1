// The explorer as a whole: it repeats exactly, and finds what is planted: stores that bypass the verbs, tables that lie, and those that hang or abort.
#include "crash/explorer.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/turns.hpp"
#include "crash/baton.hpp"
#include "crash/campaign.hpp"
#include "crash/crew.hpp"
#include "crash/last_words.hpp"
#include "crash/wrapped.hpp"
#include "persist/order.hpp"

namespace durahash::crash {
namespace {

void nothing_to_tell(double, const std::string&) {}

/// A few calls that reach every kind of change.
program short_program() {
  return {{{act::put, {0}, 1}, {act::insert, {1}, 2}, {act::put_many, {2, 3, 4}, 3}, {act::update, {1}, 4}, {act::erase, {2}, 5}, {act::put, {0}, 6}}, 6};
}

plan short_plan() {
  plan how;
  how.images = {.all_up_to = 64, .options_per_line = 12, .lines_each = 6, .samples = 4};
  how.nested_every = 60;
  how.kill_every = 20;
  how.depth = 2;
  return how;
}

template <class W>
findings explore_a(const plan& how = short_plan(), const program& what = short_program()) {
  solo alone;
  turns::install(&alone);
  subject_kind kind = usual_kind();
  maker make = wrapping<W>();
  explorer x(kind, make, how, 1);
  x.run(what);
  turns::install(nullptr);
  return std::move(x.found());
}

/// What was wrong first, if anything.
std::string first_of(const findings& found) { return found.violations.empty() ? std::string() : found.violations.front().what; }

TEST(CrashExplorer, ATableThatKeepsItsPromiseIsLeftAlone) {
  findings found = explore_a<wrapped>();
  EXPECT_EQ(first_of(found), "");
  EXPECT_GT(found.cuts, 50u);
  EXPECT_GT(found.recoveries, 60u);
  EXPECT_GT(found.nested, 50u);
  EXPECT_GE(found.images, found.unique_images);
  EXPECT_EQ(found.unique_images, found.recoveries + found.pruned);
}

// -------------------------------------------------------------------------------------------- one key: counted by hand

/// A table of one key, in one word. Each put first leaves a note in another line, which is never flushed.
template <bool ReadsNotes>
class one_word : public subject {
 public:
  one_word(region& r, tracer& t, bool create) : mapping_(r.map([&t](std::uint64_t length) { t.length(length); })), medium_(t) {
    if (create) check_grown(mapping_->grow(page_bytes));
    auto* words = reinterpret_cast<pm<std::uint64_t>*>(r.base());
    key_ = words, note_ = words + line_bytes / 8;
    if (!create) settle();
    if (!create) return;
    const bytes zeros(page_bytes);
    store_bytes(medium_, r.base(), zeros.data(), zeros.size());
    (void)persist(medium_, extent{r.base(), page_bytes});
  }
  void perform(call& c) override {
    if (c.what.what == act::get) return get(c.parts.front());
    store(medium_, *note_, c.what.version);
    (void)publish(medium_, *key_, c.parts.front().argument + 1, after_nothing("a note is of no importance"));
    c.parts.front().ok = true;
  }
  bool holds(key_number key, const present_value& value) override {
    return key == 0 ? load(medium_, *key_) == (value ? *value + 1 : 0) : !value;
  }
  bool identify(key_number key, const std::vector<present_value>& candidates, present_value& found) override {
    for (const present_value& c : candidates)
      if (holds(key, c)) return found = c, true;
    return false;
  }
  bool scan(std::vector<std::string>& keys) override {
    if (ReadsNotes) load(medium_, *note_);
    if (!holds(0, std::nullopt)) keys.push_back(key_text(0));
    return true;
  }
  std::string key_text(key_number key) const override { return std::to_string(key); }
  std::uint64_t size() override { return holds(0, std::nullopt) ? 0 : 1; }
  std::uint64_t unaccounted_bytes() override { return 0; }
  check_report check() override { return {}; }

 protected:
  void get(key_call& part) {
    std::uint64_t found = load(medium_, *key_);
    part.ok = found != 0;
    if (part.ok) part.read = found - 1;
  }
  /// What a killed process left may not be durable, and is read from now on.
  void settle() { (void)persist(medium_, extent_of(*key_)); }
  static void check_grown(status s) { EXPECT_EQ(s, status::ok); }
  std::unique_ptr<mapping> mapping_;
  recording_medium<false> medium_;
  pm<std::uint64_t> *key_, *note_;
};

template <class Table>
findings explore_small(const plan& how, const program& what) {
  subject_kind kind = usual_kind();
  maker make = [](const subject_kind&, region& r, tracer& t, bool create, std::string&) { return std::make_unique<Table>(r, t, create); };
  explorer x(kind, make, how, 1);
  x.run(what);
  return std::move(x.found());
}

template <bool ReadsNotes>
findings explore_one_word(machine stops, const elision* without = nullptr) {
  plan how = short_plan();
  how.stops = stops;
  how.go_on_every = how.nested_every = 1000;
  how.kill_every = 0;
  how.leave_out = without;
  return explore_small<one_word<ReadsNotes>>(how, {{{act::put, {0}, 1}}, 1});
}

// crash points, each with its images; those that were there before with the same promise in brackets:
//   before the call                 nothing
//   after the note's store          nothing, note
//   after the word's store          [nothing], [note], word, both
//   after the fence                 [word], [both]
//   after the call                  word, both
TEST(CrashExplorer, CountsAreThoseOfOneWordAndANote) {
  findings found = explore_one_word<true>(machine::adr);
  EXPECT_EQ(first_of(found), "");
  EXPECT_EQ(found.cuts, 5u);
  EXPECT_EQ(found.whole_cuts, 5u);
  EXPECT_EQ(found.images, 11u);
  EXPECT_EQ(found.unique_images, 7u);
  EXPECT_EQ(found.recoveries, 7u);
  EXPECT_EQ(found.pruned, 0u);
  EXPECT_NEAR(found.most_log10, std::log10(4), 1e-9);
  ASSERT_EQ(found.commits.size(), 1u);
  EXPECT_EQ(found.commits.begin()->second.kept, 2u);
  EXPECT_EQ(found.commits.begin()->second.lost, 2u);
}

TEST(CrashExplorer, ImagesThatDifferOnlyWhereNobodyReadsAreOne) {
  findings found = explore_one_word<false>(machine::adr);
  EXPECT_EQ(first_of(found), "");
  EXPECT_EQ(found.unique_images, 7u);
  EXPECT_EQ(found.recoveries, 4u) << "with the word and without it, and again where the promise is another one";
  EXPECT_EQ(found.pruned, 3u);
}

TEST(CrashExplorer, EveryImageIsGoneOnWithAndEveryCrashPointComesAfterAKillWhereThePlanSaysSo) {
  plan how = short_plan();
  how.go_on_every = how.deeper_every = 1000;
  how.nested_every = how.kill_every = 1;
  how.nested_operations = 0;  // gets alone
  findings found = explore_small<one_word<false>>(how, {{{act::put, {0}, 1}}, 1});
  EXPECT_EQ(first_of(found), "");
  EXPECT_EQ(found.gone_on, 7u) << "those that differ only where nobody reads too";
  EXPECT_EQ(found.killed, 5u);
}

TEST(CrashExplorer, NoCrashComesWhereAProgramPrepares) {
  plan how = short_plan();
  how.kill_every = 0, how.go_on_every = 1000;
  how.depth = 1;
  program what{{{act::put, {0}, 1}, {act::put, {0}, 2}}, 1};
  what.prepares = 1;
  findings found = explore_small<one_word<true>>(how, what);
  EXPECT_EQ(first_of(found), "");
  EXPECT_EQ(found.cuts, 5u) << "those of one put";
  EXPECT_EQ(found.unique_images, 7u + 4u) << "but the note of the first is not durable: with it, and with the old value";
}

TEST(CrashExplorer, WithItsCachesOnAMachineLeavesOneImagePerCrash) {
  findings found = explore_one_word<true>(machine::eadr);
  EXPECT_EQ(first_of(found), "");
  EXPECT_EQ(found.cuts, 5u);
  EXPECT_EQ(found.images, 5u);
  EXPECT_EQ(found.unique_images, 4u) << "the fence changes nothing";
}

TEST(CrashExplorer, WithoutItsFenceAnAcknowledgedWordIsLost) {
  findings whole = explore_one_word<true>(machine::adr);
  for (auto kind : {elision::what::flush, elision::what::fence}) {
    std::string named;
    for (const auto& [text, times] : whole.places)
      if (text.starts_with(elision{kind, "test/crash/"}.text()) && times == 1) named = text;
    std::string before = elision{kind, ""}.text();
    ASSERT_TRUE(named.starts_with(before));
    elision without{kind, named.substr(before.size())};
    EXPECT_EQ(first_of(explore_one_word<true>(machine::adr, &without)), "key 0 must hold #1, and does not (it is absent)") << named;
    EXPECT_EQ(first_of(explore_one_word<true>(machine::eadr, &without)), "") << "nothing is lost there";
  }
}

/// The note holds what a put is about to write. After a kill a get leaves it there, answers with the old value, and marks the note: the next
/// process that opens the table writes it.
class comes_late : public one_word<true> {
 public:
  comes_late(region& r, tracer& t, bool create) : one_word<true>(r, t, create) {
    static region* first;
    if (create) first = &r;
    after_a_kill_ = &r != first;
    mark_ = note_ + 1;
    if (create || load(medium_, *mark_) == 0) return;
    (void)publish(medium_, *key_, load(medium_, *note_), after_nothing("planted"));
    (void)publish(medium_, *mark_, 0, after_nothing("planted"));
  }
  void perform(call& c) override {
    key_call& part = c.parts.front();
    if (part.what == act::get) {
      get(part);
      std::uint64_t note = load(medium_, *note_);
      if (after_a_kill_ && !part.ok && note != 0) (void)publish(medium_, *mark_, 1, after_nothing("planted"));
      return;
    }
    (void)publish(medium_, *note_, part.argument + 1, after_nothing("planted"));
    (void)publish(medium_, *key_, part.argument + 1, after_nothing("planted"));
    part.ok = true;
  }

 private:
  bool after_a_kill_ = false;
  pm<std::uint64_t>* mark_;
};

TEST(CrashExplorer, APutOfAKilledProcessThatComesAfterAReaderMissedItIsFound) {
  plan how = short_plan();
  how.kill_every = 1;
  how.go_on_every = how.nested_every = 1000;
  how.nested_operations = 0;  // gets alone
  findings found = explore_small<comes_late>(how, {{{act::put, {0}, 1}}, 1});
  ASSERT_FALSE(found.violations.empty());
  EXPECT_EQ(first_of(found), "key 0 must hold nothing, and does not (it holds something else)");
  EXPECT_NE(found.violations.front().story.find("that was after a kill here"), std::string::npos);
}

// -------------------------------------------------------------------------------------------------------------- it repeats

TEST(CrashExplorer, TheSameSeedFindsTheSameByteForByte) {
  for (std::size_t job : {0u, 1u, 2u, 3u}) {  // one thread, several threads, another machine, another level
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

TEST(CrashExplorer, FindingsTravelBetweenProcessesWhole) {
  findings one;
  std::uint64_t next = 1;
  auto numbers = [](findings& f) {
    return std::vector<std::uint64_t*>{&f.programs, &f.threaded, &f.exhausted, &f.schedules, &f.traces, &f.cuts, &f.whole_cuts, &f.images,
                                       &f.unique_images, &f.pruned, &f.recoveries, &f.gone_on, &f.killed, &f.nested, &f.facts_checked, &f.left_out};
  };
  for (std::uint64_t* n : numbers(one)) *n = next++;
  one.most_log10 = 2.5;
  one.commits["a commit"] = {3, 4};
  one.places["a place"] = 5;
  one.violations.push_back({"what", std::string("a story\0with a zero", 19), "replay", 7});
  findings other = findings::unpacked(one.packed());
  for (std::size_t i = 0; i < numbers(one).size(); ++i) EXPECT_EQ(*numbers(other)[i], *numbers(one)[i]) << i;
  EXPECT_EQ(other.most_log10, 2.5);
  EXPECT_EQ(other.commits.at("a commit").lost, 4u);
  EXPECT_EQ(other.places.at("a place"), 5u);
  ASSERT_EQ(other.violations.size(), 1u);
  EXPECT_EQ(other.violations.front().story, one.violations.front().story);
  EXPECT_EQ(other.violations.front().replay, "replay");
  EXPECT_EQ(other.violations.front().calls, 7u);

  findings sum = one;
  sum.add(other);
  for (std::size_t i = 0; i < numbers(one).size(); ++i) EXPECT_EQ(*numbers(sum)[i], 2 * *numbers(one)[i]) << i;
  EXPECT_EQ(sum.commits.at("a commit").kept, 6u);
  EXPECT_EQ(sum.places.at("a place"), 10u);
  EXPECT_EQ(sum.violations.size(), 2u);
  findings cut = findings::unpacked(one.packed().substr(0, 40));  // a child that died while it spoke
  EXPECT_TRUE(cut.violations.empty());
}

// ------------------------------------------------------------------------------------------------- stores that bypass the verbs

/// To a byte that no table reads: the pool's last. It holds garbage that is none of these values.
void plain_store(region& r) {
  static unsigned stores;
  r.base()[r.length() - 1] = std::byte(stores++ % 128);
}

struct stores_plainly : wrapped {
  using wrapped::wrapped;
  void perform(call& c) override {
    wrapped::perform(c);
    if (c.what.what == act::erase) plain_store(where_.memory);
  }
};

TEST(CrashExplorer, AStoreThatBypassesTheVerbsIsFound) {
  findings found = explore_a<stores_plainly>();
  EXPECT_TRUE(first_of(found).starts_with("a store bypassed the verbs: the byte at offset ")) << first_of(found);
}

struct recovers_plainly : wrapped {
  recovers_plainly(std::unique_ptr<subject> inner, made_in where) : wrapped(std::move(inner), where) {
    if (!where.created) plain_store(where.memory);
  }
};

TEST(CrashExplorer, AStoreOfRecoveryThatBypassesTheVerbsIsFound) {
  plan alone = short_plan();
  alone.nested_every = 1000, alone.kill_every = 0;
  findings found = explore_a<recovers_plainly>(alone);
  EXPECT_EQ(first_of(found), "a store of recovery, or of what came after it, bypassed the verbs");
  EXPECT_EQ(found.recoveries, 64u) << "and not only at the end";
}

TEST(CrashExplorer, AStoreOfRecoveryThatBypassesTheVerbsIsFoundInAShortExploration) {
  plan few = short_plan();
  few.nested_every = 1000, few.kill_every = 0;
  findings found = explore_a<recovers_plainly>(few, {{{act::put, {0}, 1}}, 2});
  EXPECT_LT(found.recoveries, 64u);
  EXPECT_EQ(first_of(found), "a store of recovery, or of what came after it, bypassed the verbs");
}

TEST(CrashExplorer, AStoreOfRecoveryThatBypassesTheVerbsIsFoundInTheFirstImageThatIsGoneOnWith) {
  plan every = short_plan();
  every.nested_every = 1;
  findings found = explore_a<recovers_plainly>(every);
  EXPECT_TRUE(first_of(found).starts_with("after recovery: a store bypassed the verbs: the byte at offset ")) << first_of(found);
  EXPECT_EQ(found.recoveries, 1u);
}

/// Only where an image is gone on with: the versions of those programs tell. And in a line that the verbs stored to as well.
struct goes_on_plainly : wrapped {
  using wrapped::wrapped;
  void perform(call& c) override {
    wrapped::perform(c);
    if (c.what.version < 2000 || c.what.version > 7000 || where_.listener.touched().empty()) return;
    where_.memory.base()[std::uint64_t{where_.listener.touched().back()} * line_bytes + line_bytes - 1] ^= std::byte{1};
  }
};

TEST(CrashExplorer, AStoreAfterRecoveryThatBypassesTheVerbsIsFoundInALineThatTheVerbsStoredTo) {
  plan nested = short_plan();
  nested.nested_every = 2;
  nested.nested_operations = 1;
  findings found = explore_a<goes_on_plainly>(nested);
  EXPECT_TRUE(first_of(found).find("a store bypassed the verbs: the byte at offset ") != std::string::npos) << first_of(found);
}

// ------------------------------------------------------------------------------------------------------------- tables that lie

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
  bool holds(key_number key, const present_value& value) override { return key == 7 ? value.has_value() : wrapped::holds(key, value); }
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
  loses_a_key_the_second_time(std::unique_ptr<subject> inner, made_in where) : wrapped(std::move(inner), where) {
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
  EXPECT_TRUE(first_of(found).find(part) != std::string::npos) << "expected \"" << part << "\", found \"" << first_of(found) << "\", line " << line;
}

TEST(CrashExplorer, ATableThatLiesIsFound) {
  expect_found<forgets_a_put>("key 0 must hold #6, and does not (it holds something else)", __LINE__);
  expect_found<erases_nothing>("key 2 must hold nothing, and does not (it holds something else)", __LINE__);
  expect_found<invents_a_key>("key 7, which nobody put, is there", __LINE__);
  expect_found<counts_wrongly>("the count says 1 records, and there are 0 after recovery", __LINE__);
  expect_found<repeats_a_key>("an iteration finds a key twice after recovery", __LINE__);
  expect_found<skips_a_key>("an iteration finds 0 keys, and gets find 1 after recovery", __LINE__);
  expect_found<cannot_scan>("an iteration meets damage after recovery", __LINE__);
  expect_found<leaks>("64 bytes of the pool are neither reachable nor free after recovery", __LINE__);
  expect_found<breaks_an_invariant>("the check after recovery says: planted", __LINE__);
  expect_found<loses_a_key_the_second_time>("key 0 held #1, and does not after a second recovery", __LINE__);
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
  findings found = explore_a<reads_what_is_not_there>(short_plan(), {{{act::put, {0}, 1}, {act::get, {0}, 0}}, 2});
  EXPECT_EQ(first_of(found), "no order of the calls of key 0 explains what they answered");
}

TEST(CrashExplorer, AViolationTellsTheCallsTheCrashAndTheImage) {
  findings found = explore_a<forgets_a_put>();
  ASSERT_FALSE(found.violations.empty());
  const std::string& story = found.violations.front().story;
  for (const char* part : {"calls:  put 0 #1;  insert 1 #2;  put_many 2,3,4 #3;", "the crash: after event", "the image: what is durable, and of "})
    EXPECT_NE(story.find(part), std::string::npos) << part << " is missing in:" << story;
}

// ------------------------------------------------------------------------------------------------------- a forgotten fence

/// The place of that kind that ran most often in the engine itself.
std::string most_frequent(const findings& found, const std::string& kind) {
  std::string most;
  for (const auto& [place, times] : found.places)
    if (place.starts_with(kind + " of src/table/") && (most.empty() || times > found.places.at(most))) most = place;
  return most;
}

/// What stands behind an option of a replay line.
std::string after_option(const std::string& line, const std::string& option) {
  std::size_t at = line.find(" " + option + " ");
  if (at == std::string::npos) return {};
  at += option.size() + 2;
  bool quoted = line[at] == '"';
  return quoted ? line.substr(at + 1, line.find('"', at + 1) - at - 1) : line.substr(at, line.find(' ', at) - at);
}

TEST(CrashExplorer, WhatIsForgottenIsFoundAndItsReplayShowsItAgain) {
  campaign what;
  what.operations = 24;
  what.threads = 1;
  what.seed = 2;
  what.elisions = false;
  what.only_job = 0;
  findings whole = run(what, nothing_to_tell).found;
  EXPECT_EQ(first_of(whole), "");
  for (const char* kind : {"the flush", "the fence", "the order"}) {
    what.without = most_frequent(whole, kind);
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
    for (std::string number; std::getline(kept, number, ',');) again.keep.push_back(std::stoul(number));
    EXPECT_FALSE(again.keep.empty());
    EXPECT_LT(again.keep.size(), what.operations) << "a smaller program was found: " << v.replay;
    findings repeated = run(again, nothing_to_tell).found;
    ASSERT_EQ(repeated.violations.size(), 1u) << v.replay;
    EXPECT_EQ(repeated.violations.front().what, v.what);
    EXPECT_EQ(repeated.violations.front().story, v.story);
    EXPECT_EQ(repeated.violations.front().replay, v.replay);

    again.without.clear();
    EXPECT_EQ(first_of(run(again, nothing_to_tell).found), "") << "it was the elision";
  }
}

// ------------------------------------------------------------------------------------------- what does not come back by itself

std::vector<findings> of_children(std::size_t count, unsigned at_once, unsigned seconds, const std::function<findings(std::size_t)>& work) {
  std::vector<findings> all(count);
  run_crew(count, at_once, seconds, work, [&](std::size_t i, findings f) { return all[i] = std::move(f), true; });
  return all;
}

struct recovers_for_ever : wrapped {
  recovers_for_ever(std::unique_ptr<subject> inner, made_in where) : wrapped(std::move(inner), where) {
    while (where.makes == 5) where.listener.reading(where.memory.base(), 8);
  }
};
struct aborts_in_recovery : wrapped {
  aborts_in_recovery(std::unique_ptr<subject> inner, made_in where) : wrapped(std::move(inner), where) {
    if (where.makes == 5) std::abort();
  }
};
struct faults_in_recovery : wrapped {
  faults_in_recovery(std::unique_ptr<subject> inner, made_in where) : wrapped(std::move(inner), where) {
    if (where.makes == 5) ::raise(SIGSEGV);
  }
};

template <class W>
void expect_last_words(const std::string& what) {
  std::vector<findings> found = of_children(1, 1, 300, [](std::size_t) { return explore_a<W>(); });
  ASSERT_EQ(found.front().violations.size(), 1u) << what;
  EXPECT_EQ(found.front().violations.front().what, what);
  EXPECT_NE(found.front().violations.front().story.find("the crash: after event"), std::string::npos) << "and where";
  EXPECT_GT(found.front().cuts, 0u) << "with what was found before";
}

TEST(CrashExplorer, ARecoveryThatDoesNotEndIsAViolation) {
  expect_last_words<recovers_for_ever>("recovery, or the first operations after it, do not end");
}
TEST(CrashExplorer, ARecoveryThatAbortsIsAViolation) { expect_last_words<aborts_in_recovery>("an invariant broke, and stopped the process"); }
TEST(CrashExplorer, ARecoveryThatFaultsIsAViolation) {
  expect_last_words<faults_in_recovery>("an access outside the pool, or another fault, stopped the process");
}

TEST(CrashCrew, EveryWorkIsDoneOnceAndItsFindingsComeBack) {
  std::vector<findings> all = of_children(7, 3, 60, [](std::size_t i) {
    findings f;
    f.cuts = i + 1;
    f.violations.push_back({"of " + std::to_string(i), std::string(200'000, 'x'), ""});  // more than a pipe holds
    return f;
  });
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].cuts, i + 1);
    ASSERT_EQ(all[i].violations.size(), 1u);
    EXPECT_EQ(all[i].violations.front().what, "of " + std::to_string(i));
    EXPECT_EQ(all[i].violations.front().story.size(), 200'000u);
  }
}

TEST(CrashCrew, NoMoreIsStartedOnceToldSo) {
  std::size_t ended = 0;
  run_crew(10, 1, 60, [](std::size_t) { return findings{}; }, [&](std::size_t i, findings) { return ++ended, i < 2; });
  EXPECT_EQ(ended, 3u);
}

TEST(CrashCrew, AChildThatSaysNothingIsAViolation) {
  std::vector<findings> all = of_children(3, 3, 1, [](std::size_t i) {
    if (i == 0)
      while (true) ::pause();
    if (i == 1) ::_exit(0);
    last_words_context([] { return findings{}.packed(); }, 1);
    if (i == 2) last_words("a planted end");
    return findings{};
  });
  EXPECT_EQ(first_of(all[0]), "nothing was heard of this exploration for too long: a hang");
  EXPECT_EQ(first_of(all[1]), "the exploring process died without a word");
  EXPECT_EQ(first_of(all[2]), "a planted end");
}

TEST(CrashCrew, AnExaminationThatTakesTooLongIsAHang) {
  std::vector<findings> all = of_children(1, 1, 60, [](std::size_t) {
    findings before;
    before.cuts = 12;
    last_words_context([&] { return before.packed(); }, 1);
    while (true) ::pause();
    return findings{};
  });
  EXPECT_EQ(first_of(all[0]), "recovery hangs");
  EXPECT_EQ(all[0].cuts, 12u);
}

}  // namespace
}  // namespace durahash::crash
