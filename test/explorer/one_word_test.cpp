// Tables of one word, whose images and crash points can be counted by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "explorer/exploring.hpp"
#include "persist/order.hpp"

namespace durahash::crash {
namespace {

/// A table of one key, in one word. Each put first leaves a note in another line, which is never
/// flushed.
template <bool ReadsNotes>
class one_word : public subject {
 public:
  one_word(region& r, tracer& t, bool create)
      : mapping_(r.map([&t](std::uint64_t length) { t.length(length); })), medium_(t) {
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
    (void)publish(medium_, *key_, c.parts.front().argument + 1,
                  after_nothing("a note is of no importance"));
    c.parts.front().ok = true;
  }
  bool holds(key_number key, const present_value& value) override {
    return key == 0 ? load(medium_, *key_) == (value ? *value + 1 : 0) : !value;
  }
  bool identify(key_number key, const std::vector<present_value>& candidates,
                present_value& found) override {
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
  pm<std::uint64_t>*key_, *note_;
};

template <class Table>
findings explore_small(const plan& how, const program& what) {
  subject_kind kind = usual_kind();
  maker make = [](const subject_kind&, region& r, tracer& t, bool create, std::string&) {
    return std::make_unique<Table>(r, t, create);
  };
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

// crash points, each with its images; those that were there before with the same promise in
// brackets:
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
  EXPECT_NEAR(found.max_log10, std::log10(4), 1e-9);
  ASSERT_EQ(found.commits.size(), 1u);
  EXPECT_EQ(found.commits.begin()->second.kept, 2u);
  EXPECT_EQ(found.commits.begin()->second.lost, 2u);
}

TEST(CrashExplorer, ImagesThatDifferOnlyWhereNobodyReadsAreOne) {
  findings found = explore_one_word<false>(machine::adr);
  EXPECT_EQ(first_of(found), "");
  EXPECT_EQ(found.unique_images, 7u);
  EXPECT_EQ(found.recoveries, 4u)
      << "with the word and without it, and again where the promise is another one";
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
  EXPECT_EQ(found.unique_images, 7u + 4u)
      << "but the note of the first is not durable: with it, and with the old value";
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
      if (text.starts_with(elision{kind, "test/explorer/"}.text()) && times == 1) named = text;
    std::string before = elision{kind, ""}.text();
    ASSERT_TRUE(named.starts_with(before));
    elision without{kind, named.substr(before.size())};
    EXPECT_EQ(first_of(explore_one_word<true>(machine::adr, &without)),
              "key 0 must hold #1, and does not (it is absent)")
        << named;
    EXPECT_EQ(first_of(explore_one_word<true>(machine::eadr, &without)), "")
        << "nothing is lost there";
  }
}

/// The note holds what a put is about to write. After a kill a get leaves it there, answers with
/// the old value, and marks the note: the next process that opens the table writes it.
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
      if (after_a_kill_ && !part.ok && note != 0)
        (void)publish(medium_, *mark_, 1, after_nothing("planted"));
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
  EXPECT_NE(found.violations.front().report.find("that was after a kill here"), std::string::npos);
}

}  // namespace
}  // namespace durahash::crash
