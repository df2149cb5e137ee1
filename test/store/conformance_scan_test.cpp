// The contract of scan and for_each: each record exactly once, and a cursor that is a plain value.
#include <algorithm>
#include <set>

#include "conformance.hpp"

namespace durahash::test {
namespace {

using Scans = conformance;
INSTANTIATE_TEST_SUITE_P(Every, Scans, testing::ValuesIn(tried_setups()), setup_name());

using ReopenedScans = conformance;
INSTANTIATE_TEST_SUITE_P(Every, ReopenedScans, testing::ValuesIn(setups_that_reopen()),
                         setup_name());

constexpr std::uint64_t records = many(5'000);
using visit_counts = std::unordered_map<std::string, int>;  // by key

/// Visits from `at` on until `limit` records or the end, and counts each key in `visits`.
void scan_on(subject& pool, cursor& at, std::size_t limit, visit_counts& visits) {
  ASSERT_EQ(pool.scan(at, limit,
                      [&](std::string_view key, std::string_view) { ++visits[std::string(key)]; }),
            status::ok);
}

/// The rest of a scan; fails where it does not come to an end.
void scan_to_end(subject& pool, cursor& at, std::size_t limit, visit_counts& visits) {
  for (int steps = 0; !at.done; ++steps) {
    ASSERT_LT(steps, 10'000'000) << "the scan does not end";
    scan_on(pool, at, limit, visits);
  }
}

void expect_each_once(const visit_counts& visits, const model& expected) {
  for (const auto& [key, count] : visits)
    ASSERT_EQ(count, 1) << "a key was visited " << count << " times";
  std::size_t missed = 0;
  for (const auto& [key, value] : expected) missed += !visits.contains(key);
  EXPECT_EQ(missed, 0u) << "of " << expected.size() << " records that were there throughout";
}

TEST_P(Scans, AnEmptyTableIsDoneAtOnce) {
  cursor at;
  visit_counts visits;
  scan_to_end(pool(), at, 100, visits);
  EXPECT_TRUE(visits.empty());
}

TEST_P(Scans, EachRecordIsVisitedOnceWithItsValue) {
  model expected = fill(0, records);
  EXPECT_TRUE(contents_of(pool()) == expected);
}

TEST_P(Scans, EveryLimitVisitsEachRecordOnce) {
  model expected = fill(0, records);
  for (std::size_t limit :
       {std::size_t{1}, std::size_t{2}, std::size_t{7}, std::size_t{100}, std::size_t{records - 1},
        std::size_t{records}, std::size_t{1} << 40, ~std::size_t{0}}) {
    cursor at;
    visit_counts visits;
    scan_to_end(pool(), at, limit, visits);
    expect_each_once(visits, expected);
    EXPECT_EQ(visits.size(), expected.size());
  }
}

TEST_P(Scans, ALimitOfZeroStillReturns) {
  fill(0, 100);
  cursor at;
  std::size_t visited = 0;
  EXPECT_EQ(pool().scan(at, 0, [&](std::string_view, std::string_view) { ++visited; }), status::ok);
  EXPECT_LE(visited, 100u);
}

TEST_P(Scans, TheLimitIsAboutTheNumberVisited) {
  fill(0, records);
  cursor at;
  std::size_t visited = 0;
  ASSERT_EQ(pool().scan(at, 10, [&](std::string_view, std::string_view) { ++visited; }),
            status::ok);
  EXPECT_FALSE(at.done);
  EXPECT_GE(visited, 10u);
  EXPECT_LT(visited, records / 4) << "a limit of 10 visits a large part of " << records
                                  << " records";
}

TEST_P(Scans, ACursorIsAValueThatCanBeStoredAndUsedAgain) {
  model expected = fill(0, records);
  cursor at;
  visit_counts visits;
  scan_on(pool(), at, 1000, visits);
  cursor stored{at.position, at.done};
  visit_counts first_rest, second_rest;
  scan_to_end(pool(), at, 300, first_rest);
  scan_to_end(pool(), stored, 77, second_rest);
  EXPECT_EQ(first_rest, second_rest) << "the same cursor leads to other records";
  visits.merge(first_rest);
  expect_each_once(visits, expected);
}

TEST_P(Scans, ACursorOfAnyPositionIsLegal) {
  fill(0, 1000);
  random_stream random(stream_seed("cursors"));
  for (std::uint64_t i = 0; i < many(200); ++i) {
    cursor at{i == 0 ? ~std::uint64_t{0} : random.next() >> random.below(64), false};
    visit_counts visits;
    scan_to_end(pool(), at, 100, visits);
    for (const auto& [key, count] : visits) ASSERT_EQ(count, 1);
  }
}

TEST_P(Scans, AScanThatTheTableGrowsUnderVisitsEveryRecordOnce) {
  model expected = fill(0, records);
  cursor at;
  visit_counts visits;
  for (std::uint64_t n = records; !at.done; n += 1000) {
    ASSERT_LT(n, 100 * records) << "the scan does not end";
    scan_on(pool(), at, 700, visits);
    if (n < 10 * records) fill(n, n + 1000);
  }
  expect_each_once(visits, expected);
}

TEST_P(Scans, AScanBesideErasesVisitsEveryRecordThatStayed) {
  model expected = fill(0, records);
  cursor at;
  visit_counts visits;
  for (std::uint64_t n = 1; !at.done; ++n) {
    scan_on(pool(), at, 100, visits);
    for (std::uint64_t gone = n * 3; gone < records && gone < n * 3 + 300; gone += 3) {
      pool().erase(key(gone));
      expected.erase(key(gone));
    }
  }
  expect_each_once(visits, expected);
}

TEST_P(Scans, AScanBesideUpdatesVisitsEveryRecordOnce) {
  model expected = fill(0, records);
  cursor at;
  visit_counts visits;
  for (std::uint64_t round = 1; !at.done; ++round) {
    scan_on(pool(), at, 500, visits);
    fill(0, records, round);
  }
  expect_each_once(visits, expected);
  EXPECT_EQ(visits.size(), expected.size());
}

TEST_P(Scans, AScanFindsWhatCameBeforeItBeganWhateverOthersHaveLeft) {
  // calls with small limits leave what they have read for later ones
  model expected = fill(0, records);
  cursor old;
  visit_counts visits;
  for (int round = 0; round < 20; ++round) scan_on(pool(), old, 1, visits);
  for (std::uint64_t n = records; n < records + 2000; n += 100) {
    const cursor stopped = old;
    expected.merge(fill(n, n + 100));
    cursor fresh;
    visits.clear();
    while (!fresh.done && (old.done || fresh.position < old.position))
      scan_on(pool(), fresh, n / 100 % 3 + 1, visits);
    scan_to_end(pool(), fresh, 1000, visits);
    expect_each_once(visits, expected);
    EXPECT_EQ(visits.size(), expected.size());
    if (!old.done) scan_on(pool(), old, 3, visits);
    EXPECT_TRUE(old.done || old.position >= stopped.position);
  }
}

TEST_P(Scans, ScansWithSmallLimitsInTurnsVisitWhatIsThereThen) {
  model expected = fill(0, records);
  struct scan {
    cursor at;
    model found;
  };
  scan scans[6];  // more than are kept
  std::uint64_t round = 0;
  for (bool all_done = false; !all_done; ++round) {
    ASSERT_LT(round, 10 * records) << "the scans do not end";
    all_done = true;
    for (std::size_t i = 0; i < std::size(scans); ++i) {
      scan& s = scans[i];
      if (s.at.done) continue;
      all_done = false;
      ASSERT_EQ(pool().scan(s.at, i + 1,
                            [&](std::string_view key, std::string_view value) {
                              ASSERT_EQ(value, expected[std::string(key)]) << "an old value";
                              ASSERT_TRUE(s.found.emplace(key, value).second);
                            }),
                status::ok);
    }
    const std::string updated = key(round % records);
    const std::string now = long_value(with(), records + round, 8);
    ASSERT_EQ(pool().put(updated, now), status::ok);
    expected[updated] = now;
  }
  for (const scan& s : scans) EXPECT_EQ(s.found.size(), expected.size());
}

TEST_P(Scans, WhatIsErasedBetweenTwoCallsIsNotVisited) {
  model expected = fill(0, records);
  cursor at;
  visit_counts visits;
  std::uint64_t gone = 0;
  while (!at.done) {
    const auto before = visits.size();
    scan_on(pool(), at, 1, visits);
    ASSERT_LE(visits.size(), before + 2);
    for (int n = 0; n < 2 && gone < records; ++n, ++gone)
      if (!visits.contains(key(gone))) pool().erase(key(gone)), expected.erase(key(gone));
  }
  for (const auto& [key, count] : visits) {
    ASSERT_EQ(count, 1);
    ASSERT_TRUE(expected.contains(key)) << "it was erased before it was visited";
  }
  EXPECT_EQ(visits.size(), expected.size());
}

TEST_P(Scans, AScanThatCompactRunsBesideVisitsEveryRecordOnce) {
  model expected = fill(0, records);
  cursor at;
  visit_counts visits;
  while (!at.done) {
    scan_on(pool(), at, 1500, visits);
    ASSERT_EQ(pool().pool().compact(), status::ok);
  }
  expect_each_once(visits, expected);
  EXPECT_EQ(visits.size(), expected.size());
}

TEST_P(ReopenedScans, ACursorGoesOnInTheReopenedPool) {
  model expected = fill(0, records);
  cursor at;
  visit_counts visits;
  while (!at.done) {
    scan_on(pool(), at, 900, visits);
    reopen();
  }
  expect_each_once(visits, expected);
  EXPECT_EQ(visits.size(), expected.size());
}

TEST_P(ReopenedScans, ACursorSurvivesReopenAndGrowthTogether) {
  model expected = fill(0, records);
  cursor at;
  visit_counts visits;
  for (std::uint64_t n = records; !at.done; n += 5000) {
    scan_on(pool(), at, 2000, visits);
    if (n < 10 * records) fill(n, n + 5000);
    reopen();
  }
  expect_each_once(visits, expected);
}

TEST_P(Scans, AVisitorMayWriteToAnotherPool) {
  // The visitor runs inside a read of this pool, and what it retires in the other one waits for
  // readers: it must not wait for itself.
  model expected = fill(0, 20);
  scratch_folder folder(with().folder());
  options limited = how();
  limited.max_bytes = 8u << 20;
  auto opened = open_subject(with(), folder.file("other"), limited);
  ASSERT_TRUE(opened) << opened.failure().message;
  subject& other = **opened;
  cursor at;
  while (!at.done) {
    status answer = pool().scan(at, 100, [&](std::string_view key, std::string_view value) {
      for (std::uint64_t n = 0; n < 2000; ++n) {
        status put = other.put(key, long_value(with(), n, 2000));
        if (put == status::no_space) break;  // all that is retired waits for this very read
        ASSERT_EQ(put, status::ok);
      }
      status put = other.put(key, value);
      ASSERT_TRUE(put == status::ok || put == status::no_space);
    });
    ASSERT_EQ(answer, status::ok);
  }
  for (const auto& [key, value] : expected) ASSERT_EQ(other.put(key, value), status::ok);
  expect_contents(other, expected);
  expect_sound(other);
}

TEST_P(Scans, ForEachVisitsEveryRecordOnce) {
  model expected = fill(0, 3000), found;
  if (through_table())
    EXPECT_EQ(static_cast<table&>(pool().pool())
                  .for_each([&](std::string_view key, std::string_view value) {
                    EXPECT_TRUE(found.emplace(key, value).second);
                  }),
              status::ok);
  else
    EXPECT_EQ((static_cast<map<std::uint64_t, std::uint64_t>&>(pool().pool())
                   .for_each([&](std::uint64_t key, std::uint64_t value) {
                     EXPECT_TRUE(found.emplace(word_bytes(key), word_bytes(value)).second);
                   })),
              status::ok);
  EXPECT_TRUE(found == expected);
}

}  // namespace
}  // namespace durahash::test
