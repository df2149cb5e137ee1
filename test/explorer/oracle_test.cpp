// The promise, on histories small enough to know what may be left: every value that some order of
// the calls explains, and no other.
#include "explorer/oracle.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <set>
#include <string>
#include <tuple>

#include "explorer/recording.hpp"

namespace durahash::crash {
namespace {

constexpr present_value absent = std::nullopt;
using allowed = std::set<present_value>;

/// Calls of key 0, unless another one is named, begun and ended by hand.
class history {
 public:
  explicit history(std::vector<present_value> before = {absent}) : promise_(std::move(before)) {}

  call& begin(act what, value_id argument = 0, key_number key = 0) {
    return begin_parts({part(what, argument, key)});
  }
  call& begin_exchange(value_id expected, value_id argument) {
    key_call made = part(act::exchange, argument, 0);
    made.expected = expected;
    return begin_parts({made});
  }
  call& begin_parts(std::vector<key_call> parts) {
    call& c = calls_.emplace_back();
    c.parts = std::move(parts);
    promise_.begin(c);
    return c;
  }
  void end(call& c, bool ok = true, present_value read = absent) {
    for (key_call& p : c.parts) p.ok = ok, p.read = read;
    promise_.end(c);
  }
  void do_it(act what, value_id argument = 0, bool ok = true, present_value read = absent) {
    end(begin(what, argument), ok, read);
  }
  void kill() { promise_.kill(); }

  static key_call part(act what, value_id argument, key_number key) {
    key_call made;
    made.what = what, made.argument = argument, made.key = key;
    return made;
  }
  allowed of(key_number key = 0) const {
    const std::vector<present_value>& all = promise_.allowed(key);
    EXPECT_EQ(allowed(all.begin(), all.end()).size(), all.size()) << "each value once";
    return {all.begin(), all.end()};
  }
  const oracle& promise() const { return promise_; }

 private:
  std::deque<call> calls_;  // addresses stay
  oracle promise_;
};

// ----------------------------------------------------------------------------------- one at a time

TEST(CrashOracle, ToBeginWithAKeyHoldsWhatItHeld) {
  history h({absent, 7});
  EXPECT_EQ(h.of(0), (allowed{absent}));
  EXPECT_EQ(h.of(1), (allowed{7}));
}

TEST(CrashOracle, WhatReturnedIsThere) {
  history h;
  h.do_it(act::put, 1);
  EXPECT_EQ(h.of(), (allowed{1}));
  h.do_it(act::update, 2);
  EXPECT_EQ(h.of(), (allowed{2}));
  h.do_it(act::add, 5, true, 2);
  EXPECT_EQ(h.of(), (allowed{7}));
  h.do_it(act::erase);
  EXPECT_EQ(h.of(), (allowed{absent}));
  h.do_it(act::insert, 4);
  EXPECT_EQ(h.of(), (allowed{4}));
}

TEST(CrashOracle, WhatWasRefusedChangedNothing) {
  history h({7});
  h.do_it(act::insert, 1, false);
  EXPECT_EQ(h.of(), (allowed{7}));
  h.end(h.begin_exchange(6, 1), false);
  EXPECT_EQ(h.of(), (allowed{7}));
  h.end(h.begin_exchange(7, 8), true);
  EXPECT_EQ(h.of(), (allowed{8}));
  h.do_it(act::erase);
  h.do_it(act::update, 9, false);
  h.do_it(act::erase, 0, false);
  EXPECT_EQ(h.of(), (allowed{absent}));
}

TEST(CrashOracle, AnEraseThatTellsAValueTookThatOne) {
  history h({7});
  h.do_it(act::erase, 0, true, 7);
  EXPECT_EQ(h.of(), (allowed{absent}));
  history wrong({7});
  wrong.do_it(act::erase, 0, true, 8);
  EXPECT_TRUE(wrong.of().empty()) << "no order explains it";
}

TEST(CrashOracle, WhatHasNotReturnedIsThereOrNot) {
  for (auto [what, before, after] :
       std::vector<std::tuple<act, present_value, present_value>>{{act::put, absent, 5},
                                                                  {act::put, 3, 5},
                                                                  {act::insert, absent, 5},
                                                                  {act::update, 3, 5},
                                                                  {act::erase, 3, absent},
                                                                  {act::add, absent, 5},
                                                                  {act::add, 3, 8},
                                                                  {act::put_many, 3, 5},
                                                                  {act::erase_many, 3, absent}}) {
    history h({before});
    h.begin(what, 5);
    EXPECT_EQ(h.of(), (allowed{before, after})) << name_of(what);
  }
}

TEST(CrashOracle, WhatCannotHappenIsNotAllowed) {
  history h({3});
  h.begin(act::insert, 5);  // it is there already
  EXPECT_EQ(h.of(), (allowed{3}));
  h.begin_exchange(4, 6);
  EXPECT_EQ(h.of(), (allowed{3}));
  h.begin(act::get);
  EXPECT_EQ(h.of(), (allowed{3}));
}

TEST(CrashOracle, AResultThatNothingExplainsLeavesNothingAllowed) {
  history h({3});
  h.do_it(act::get, 0, true, 4);
  EXPECT_TRUE(h.of().empty());
  history g({3});
  g.do_it(act::insert, 5);
  EXPECT_TRUE(g.of().empty());
  history f({3});
  f.do_it(act::add, 5, true, 4);
  EXPECT_TRUE(f.of().empty());
}

// --------------------------------------------------------------------------------- several at once

TEST(CrashOracle, OverlappingPutsMayHaveComeInEitherOrder) {
  history h;
  call &a = h.begin(act::put, 1), &b = h.begin(act::put, 2);
  EXPECT_EQ(h.of(), (allowed{absent, 1, 2}));
  h.end(a);
  EXPECT_EQ(h.of(), (allowed{1, 2}));
  h.end(b);
  EXPECT_EQ(h.of(), (allowed{1, 2}));
  h.do_it(act::get, 0, true, 1);  // a reader decides it
  EXPECT_EQ(h.of(), (allowed{1}));
}

TEST(CrashOracle, RealTimeOrdersCallsThatDoNotOverlap) {
  history h;
  call& long_one = h.begin(act::put, 9);
  h.do_it(act::put, 1);
  h.do_it(act::put, 2);
  EXPECT_EQ(h.of(), (allowed{2, 9})) << "1 came before 2";
  h.end(long_one);
  EXPECT_EQ(h.of(), (allowed{2, 9}));
}

TEST(CrashOracle, AReadThatReturnedForcesTheWriteIn) {
  history h;
  h.begin(act::put, 1);
  h.do_it(act::get, 0, true, 1);
  EXPECT_EQ(h.of(), (allowed{1})) << "a value that a reader was given is never undone";
}

TEST(CrashOracle, AReadThatReturnedTheOldValueLeavesTheWriteOpen) {
  history h({3});
  call& write = h.begin(act::put, 1);
  h.do_it(act::get, 0, true, 3);
  EXPECT_EQ(h.of(), (allowed{3, 1}));
  h.do_it(act::get, 0, true, 1);
  EXPECT_EQ(h.of(), (allowed{1}));
  h.end(write);
  EXPECT_EQ(h.of(), (allowed{1}));
}

TEST(CrashOracle, ReadsDoNotGoBack) {
  history h({3});
  h.begin(act::put, 1);
  h.do_it(act::get, 0, true, 1);
  h.do_it(act::get, 0, true, 3);
  EXPECT_TRUE(h.of().empty());
}

TEST(CrashOracle, AMissForcesAnEraseIn) {
  history h({3});
  h.begin(act::erase);
  h.do_it(act::get, 0, false);
  EXPECT_EQ(h.of(), (allowed{absent}));
}

TEST(CrashOracle, ARefusedInsertForcesTheOtherInsertIn) {
  history h;
  h.begin(act::insert, 1);
  h.do_it(act::insert, 2, false);
  EXPECT_EQ(h.of(), (allowed{1}));
}

TEST(CrashOracle, TwoInsertsThatBothSucceedNeedAnEraseBetweenThem) {
  history h;
  call& erase = h.begin(act::erase);
  h.do_it(act::insert, 1);
  h.do_it(act::insert, 2);
  EXPECT_EQ(h.of(), (allowed{2})) << "the erase is used up";
  h.end(erase);
  EXPECT_EQ(h.of(), (allowed{2}));
}

TEST(CrashOracle, AnExchangeThatSucceededCameRightAfterTheValueItExpected) {
  history h({3});
  h.begin(act::put, 5);
  h.end(h.begin_exchange(5, 6), true);
  EXPECT_EQ(h.of(), (allowed{6})) << "the put came before it, and is over";
}

TEST(CrashOracle, AnExchangeThatFailedCameWhenSomethingElseWasThere) {
  history h({3});
  h.begin(act::put, 5);
  h.end(h.begin_exchange(3, 6), false);
  EXPECT_EQ(h.of(), (allowed{5}));
}

TEST(CrashOracle, SumsTellTheirOrder) {
  history h({10});
  call &one = h.begin(act::add, 1), &two = h.begin(act::add, 2);
  EXPECT_EQ(h.of(), (allowed{10, 11, 12, 13}));
  h.end(two, true, 11);
  EXPECT_EQ(h.of(), (allowed{13})) << "it saw the other one's sum";
  h.end(one, true, 10);
  EXPECT_EQ(h.of(), (allowed{13}));
}

TEST(CrashOracle, PartsOfABatchAreIndependent) {
  history h({absent, 4, absent});
  call& batch = h.begin_parts({h.part(act::put_many, 1, 0), h.part(act::put_many, 2, 1)});
  EXPECT_EQ(h.of(0), (allowed{absent, 1}));
  EXPECT_EQ(h.of(1), (allowed{4, 2}));
  EXPECT_EQ(h.of(2), (allowed{absent}));
  h.do_it(act::get, 0, true, 1);
  EXPECT_EQ(h.of(0), (allowed{1}));
  EXPECT_EQ(h.of(1), (allowed{4, 2})) << "one part is there, the other may not be";
  h.end(batch);
  EXPECT_EQ(h.of(1), (allowed{2}));
}

// ------------------------------------------------------------------------------------------ a kill

TEST(CrashOracle, AKilledCallHasTakenEffectOrNeverWill) {
  history h({3});
  h.begin(act::put, 1);
  h.kill();
  EXPECT_EQ(h.of(), (allowed{3, 1}));
  h.do_it(act::get, 0, true, 3);
  EXPECT_EQ(h.of(), (allowed{3})) << "without the kill it might still come";
}

TEST(CrashOracle, AKilledCallMayHaveTakenEffectBeforeWhatCameLater) {
  history h({3});
  h.begin(act::put, 1);
  h.kill();
  h.do_it(act::put, 2);
  EXPECT_EQ(h.of(), (allowed{2}));
  history g({3});
  g.begin(act::put, 1);
  g.kill();
  g.do_it(act::get, 0, true, 1);
  EXPECT_EQ(g.of(), (allowed{1}));
  g.do_it(act::get, 0, true, 3);
  EXPECT_TRUE(g.of().empty());
}

TEST(CrashOracle, WithoutAKillACallThatIsUnderWayMayComeAfterLaterOnes) {
  history h({3});
  h.begin(act::put, 1);
  h.do_it(act::put, 2);
  EXPECT_EQ(h.of(), (allowed{1, 2}));
}

TEST(CrashOracle, OfTwoKilledCallsOneMayHaveComeAfterTheOther) {
  history h({3});
  h.begin(act::put, 1);
  h.begin(act::put, 2);
  h.kill();
  EXPECT_EQ(h.of(), (allowed{3, 1, 2}));
  h.do_it(act::add, 10, true, 2);
  EXPECT_EQ(h.of(), (allowed{12}));
}

TEST(CrashOracle, AKilledCallIsStillExplainedByResultsFromBeforeTheKill) {
  history h({3});
  h.begin(act::put, 1);
  h.do_it(act::get, 0, true, 1);
  h.kill();
  EXPECT_EQ(h.of(), (allowed{1}));
  h.begin(act::erase);
  EXPECT_EQ(h.of(), (allowed{1, absent}));
}

// -------------------------------------------------------------------- against all orders, by force

struct drawn_call {
  key_call part;
  int began, ended;  // ended: past the last moment, when it has not returned
};

/// Every subset and order, tried as they come: those that contain all that returned, break no
/// real-time order, and give the answers that were given.
allowed by_force(present_value before, const std::vector<drawn_call>& calls, int last) {
  allowed found;
  std::vector<std::size_t> order(calls.size());
  for (std::size_t set = 0; set < std::size_t{1} << calls.size(); ++set) {
    order.clear();
    bool whole = true;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if ((set >> i & 1) != 0) order.push_back(i);
      else whole &= calls[i].ended > last;
    }
    if (!whole) continue;
    do {
      present_value now = before;
      bool fits = true;
      for (std::size_t n = 0; n < order.size() && fits; ++n) {
        for (std::size_t later = n + 1; later < order.size(); ++later)
          fits &= calls[order[later]].ended > calls[order[n]].began;
        const key_call& c = calls[order[n]].part;
        bool returned = calls[order[n]].ended <= last, ok = true;
        present_value read = now;
        if (c.what == act::put) now = c.argument;
        if (c.what == act::insert) ok = !now, now = now ? now : c.argument;
        if (c.what == act::erase) ok = now.has_value(), now = absent;
        if (c.what == act::get) ok = now.has_value();
        const bool tells = c.what == act::get || (c.what == act::erase && c.read);
        if (returned) fits &= ok == c.ok && (!tells || read == c.read);
      }
      if (fits) found.insert(now);
    } while (std::next_permutation(order.begin(), order.end()));
  }
  return found;
}

TEST(CrashOracle, RandomHistoriesAllowWhatSomeOrderExplains) {
  constexpr std::uint64_t seed = 4711;
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  std::size_t explained = 0, open = 0;
  for (int n = 0; n < 3000; ++n) {
    std::vector<drawn_call> calls(1 + random() % 5);
    int moments = 8;
    for (drawn_call& c : calls) {
      constexpr act acts[] = {act::put, act::insert, act::erase, act::get};
      c.part.what = acts[random() % 4];
      c.part.argument = 1 + random() % 3;
      c.part.ok = random() % 3 != 0 || c.part.what == act::put;
      if (c.part.ok && (c.part.what != act::erase || random() % 2 == 0))
        c.part.read = 1 + random() % 3;
      c.began = static_cast<int>(random() % static_cast<std::uint64_t>(moments));
      c.ended = c.began + 1 + static_cast<int>(random() % 6);
    }
    present_value before = random() % 2 == 0 ? absent : present_value(2);
    oracle promise({before});
    std::deque<call> told;
    for (const drawn_call& c : calls) told.push_back({{}, 0, {c.part}});
    // Ends before begins: calls that touch at a moment do not overlap.
    for (int now = 0; now <= moments; ++now) {
      for (std::size_t i = 0; i < calls.size(); ++i)
        if (calls[i].ended == now) promise.end(told[i]);
      for (std::size_t i = 0; i < calls.size(); ++i)
        if (calls[i].began == now) promise.begin(told[i]);
    }
    for (drawn_call& c : calls) c.began = 2 * c.began + 1, c.ended = 2 * c.ended;
    allowed expected = by_force(before, calls, 2 * moments);
    ASSERT_EQ(allowed(promise.allowed(0).begin(), promise.allowed(0).end()), expected)
        << "history " << n;
    explained += !expected.empty();
    open += expected.size() > 1;
  }
  EXPECT_GT(explained, 500u);
  EXPECT_GT(open, 100u);
}

TEST(CrashOracle, AnExchangeOfAnAbsentKeyExpectsWhatNobodyWrote) {
  // Every eleventh version is the empty value, whatever the key: the table compares bytes.
  for (bool words : {false, true})
    for (std::uint32_t version = 1; version < 5000; ++version) {
      const call c = prepare({act::exchange, {43}, version}, words, std::vector<present_value>(44));
      const value_id expected = c.parts.front().expected;
      ASSERT_NE(expected, value_of(43, version, words));
      ASSERT_NE(text_of_value(expected), text_of_value(value_of(43, version, false)));
    }
}

TEST(CrashOracle, EqualHashesMeanEqualPromises) {
  history h({absent, absent});
  std::uint64_t empty = h.promise().hash();
  call& c = h.begin(act::put, 1);
  std::uint64_t open = h.promise().hash();
  EXPECT_NE(open, empty);
  h.end(c);
  EXPECT_NE(h.promise().hash(), open);
  h.do_it(act::erase);
  EXPECT_EQ(h.promise().hash(), empty);
  history one({5, absent}), other({absent, 5});
  EXPECT_NE(one.promise().hash(), other.promise().hash()) << "which key holds what matters";
  history zero({0}), none({absent}), largest({~std::uint64_t{0}});
  EXPECT_NE(zero.promise().hash(), none.promise().hash());
  EXPECT_NE(largest.promise().hash(), none.promise().hash());
  // Two values each, with equal sums.
  history near({1}), far({0});
  near.begin(act::put, 2), far.begin(act::put, 3);
  EXPECT_NE(near.promise().hash(), far.promise().hash());
}

}  // namespace
}  // namespace durahash::crash
