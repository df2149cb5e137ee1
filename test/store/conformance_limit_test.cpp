// The contract at its limits: the longest key and value, and a pool that may not grow any more.
#include <algorithm>
#include <numeric>

#include "conformance.hpp"

namespace durahash::test {
namespace {

using Limits = conformance;
INSTANTIATE_TEST_SUITE_P(Every, Limits, testing::ValuesIn(tried_setups()), setup_name());

TEST_P(Limits, TheLongestKeyIsLegalAndOneByteMoreIsRefused) {
  if (keys_have_one_length()) GTEST_SKIP() << "keys have one length here";
  std::string longest(max_key_bytes, 'k'), too_long(max_key_bytes + 1, 'k');
  EXPECT_EQ(pool().put(longest, value(1)), status::ok);
  EXPECT_EQ(pool().get(longest), value(1));
  EXPECT_EQ(pool().put(too_long, value(2)), status::invalid_argument);
  EXPECT_EQ(pool().insert(too_long, value(2)), status::invalid_argument);
  EXPECT_EQ(pool().update(too_long, value(2)), status::invalid_argument);
  std::uint64_t previous = 0;
  EXPECT_EQ(pool().fetch_add(too_long, 1, previous), status::invalid_argument);
  std::string untouched = "untouched";
  EXPECT_NE(pool().get(too_long, untouched), status::ok);
  EXPECT_EQ(untouched, "untouched");
  EXPECT_FALSE(pool().contains(too_long));
  EXPECT_NE(pool().erase(too_long), status::ok);
  EXPECT_NE(pool().compare_and_set(too_long, value(1), value(2)), status::ok);
  expect_contents(pool(), {{longest, value(1)}});
  expect_sound(pool());
}

TEST_P(Limits, ValuesOfSeveralMegabytesComeBackWhole) {
  if (!values_are_bytes()) GTEST_SKIP() << "values are words here";
  model expected;
  for (std::uint64_t n = 0; n < 3; ++n) {
    expected[key(n)] = long_value(with(), n, (6u << 20) + n);
    ASSERT_EQ(pool().put(key(n), expected[key(n)]), status::ok);
  }
  expect_contents(pool(), expected);
  for (auto& [key, value] : expected) ASSERT_EQ(pool().erase(key), status::ok);
  expect_contents(pool(), {});
  expect_sound(pool());
}

TEST_P(Limits, AValueThatIsTooLongIsRefusedByItsLengthAlone) {
  if (!values_are_bytes()) GTEST_SKIP() << "values are words here";
  // A view of more bytes than there are: whoever reads even one past the first page crashes.
  std::string page(4096, 'v');
  std::string_view too_long(page.data(), max_value_bytes + 1);
  EXPECT_EQ(pool().put(key(1), too_long), status::invalid_argument);
  EXPECT_EQ(pool().insert(key(1), too_long), status::invalid_argument);
  EXPECT_EQ(pool().update(key(1), too_long), status::invalid_argument);
  expect_contents(pool(), {});
}

/// A pool that may not grow past a few megabytes.
class FullPools : public conformance {
 protected:
  static constexpr std::uint64_t limit = 2u << 20;

  void SetUp() override {
    drop();
    std::filesystem::remove(path());
    options limited = how();
    limited.max_bytes = limit;
    reopen(limited);
  }

  /// Puts records until the pool is full; returns them.
  model fill_up(std::size_t value_bytes = 1000) {
    model expected;
    for (std::uint64_t n = 0;; ++n) {
      if (n == 2'000'000) {
        ADD_FAILURE() << "a pool of " << limit << " bytes took " << n << " records";
        return expected;
      }
      status answer = pool().put(key(n), long_value(with(), n, value_bytes));
      if (answer != status::ok) {
        EXPECT_EQ(answer, status::no_space);
        return expected;
      }
      expected[key(n)] = long_value(with(), n, value_bytes);
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Every, FullPools, testing::ValuesIn(setups_for_long_tests()),
                         setup_name());

TEST_P(FullPools, AnswerNoSpaceAndKeepEveryRecord) {
  model expected = fill_up();
  EXPECT_GE(expected.size(), 1000u) << "a pool of " << limit << " bytes holds only so many records";
  EXPECT_LE(pool().pool().info().file_bytes, limit);
  expect_contents(pool(), expected);
  expect_sound(pool());
}

TEST_P(FullPools, RefuseEveryKindOfWriteThatNeedsRoomAndChangeNothing) {
  model expected = fill_up();
  // One operation may still find room where the last put did not; each must then be whole.
  std::uint64_t n = 5'000'000;
  auto attempt = [&](status answer, const std::string& key, const std::string& value) {
    if (answer == status::ok) expected[key] = value;
    else EXPECT_EQ(answer, status::no_space);
  };
  std::string big = long_value(with(), n, 100'000);
  attempt(pool().put(key(n), big), key(n), big);
  attempt(pool().insert(key(n + 1), big), key(n + 1), big);
  attempt(pool().update(key(0), big), key(0), big);
  attempt(pool().compare_and_set(key(1), expected[key(1)], big), key(1), big);
  for (status answer : pool().put_many(keys(n + 2, n + 3), {big})) attempt(answer, key(n + 2), big);
  // where buckets have the keys, a pool is full as soon as the next level finds no room, which is
  // larger
  if (values_are_bytes() && with().key_bytes == 0) {
    EXPECT_FALSE(pool().contains(key(n))) << "a value of 100 kB found room in a full pool";
  }
  expect_contents(pool(), expected);
  expect_sound(pool());
}

TEST_P(FullPools, ABatchThatFillsThePoolTellsWhichRecordsAreIn) {
  model expected;
  for (std::uint64_t n = 0; n < 3'000'000; n += 500) {
    strings batch = keys(n, n + 500), written;
    for (std::uint64_t i = n; i < n + 500; ++i) written.push_back(long_value(with(), i, 300));
    answers given = pool().put_many(batch, written);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (given[i] == status::ok) expected[batch[i]] = written[i];
      else ASSERT_EQ(given[i], status::no_space);
    }
    if (std::count(given.begin(), given.end(), status::no_space) > 0) break;
  }
  ASSERT_LT(expected.size(), 3'000'000u);
  expect_contents(pool(), expected);
  expect_sound(pool());
}

/// What one record gives back another one needs. full_batch_test.cpp has the case that hung.
TEST_P(FullPools, BatchesOfOldAndNewRecordsComeBack) {
  model expected = fill_up(100);
  const std::uint64_t count = expected.size();
  for (std::uint64_t n = 0; n < count; n += 2) {
    ASSERT_EQ(pool().erase(key(n)), status::ok);
    expected.erase(key(n));
  }
  for (std::uint64_t from = 0; from + 64 < count && from < 64 * 200; from += 64) {
    strings batch, written;
    for (std::uint64_t n = from; n < from + 64; ++n) {
      batch.push_back(key(n % 2 == 1 ? n : count + n));  // there, or new
      written.push_back(long_value(with(), count + n, 100));
    }
    answers given = pool().put_many(batch, written);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (given[i] == status::ok) expected[batch[i]] = written[i];
      else ASSERT_EQ(given[i], status::no_space);
    }
  }
  expect_contents(pool(), expected);
  expect_sound(pool());
}

TEST_P(FullPools, EraseInAFullPoolWorks) {
  model expected = fill_up();
  std::uint64_t erased = 0;
  for (std::uint64_t n = 0; n < expected.size() + erased; n += 2, ++erased) {
    std::string taken;
    ASSERT_EQ(n % 4 == 0 ? pool().erase(key(n)) : pool().take(key(n), taken), status::ok) << n;
    if (n % 4 != 0) {
      ASSERT_EQ(taken, expected[key(n)]);
    }
    expected.erase(key(n));
  }
  expect_contents(pool(), expected);
  expect_sound(pool());
}

TEST_P(FullPools, TakeRecordsAgainAfterErases) {
#ifdef DURAHASH_SANITIZED
  constexpr int rounds = 1;
#else
  constexpr int rounds = 3;
#endif
  std::vector<std::uint64_t> there(fill_up().size());
  std::iota(there.begin(), there.end(), 0);
  for (int round = 0; round < rounds; ++round) {
    for (std::uint64_t n : there) ASSERT_EQ(pool().erase(key(n)), status::ok);
    EXPECT_EQ(pool().pool().size(), 0u);
    std::size_t most = there.size() * 8 / 10;
    for (std::size_t i = 0; i < there.size(); ++i) {
      status answer = pool().put(key(there[i]), long_value(with(), there[i], 1000));
      if (i >= most) continue;
      ASSERT_EQ(answer, status::ok)
          << "record " << i << " of " << there.size() << ", round " << round;
    }
    model refilled = contents_of(pool());
    expect_contents(pool(), refilled);
    // which of them find room is the engine's matter
    for (std::uint64_t n : there) pool().put(key(n), long_value(with(), n, 1000));
    std::erase_if(there, [&](std::uint64_t n) { return !pool().contains(key(n)); });
    EXPECT_EQ(there.size(), pool().pool().size());
  }
  expect_sound(pool());
}

TEST_P(FullPools, UpdatesInPlaceGoOnAsLongAsTheyCan) {
  // u64 to u64: an update needs no new room. Else the record is in the heap, and a few erases make
  // the room that updates pass on to one another: keys and values of one length each, so that every
  // record fits where another one was.
  bool in_the_table = !keys_are_bytes() && !values_are_bytes();
  auto fixed_key = [&](std::uint64_t n) {
    return keys_have_one_length() ? key(n) : "k" + std::to_string(10'000'000 + n);
  };
  std::uint64_t count = 0;
  while (count < 2'000'000 &&
         pool().put(fixed_key(count), long_value(with(), count, 1000)) == status::ok)
    ++count;
  ASSERT_GE(count, 1000u);
  ASSERT_LT(count, 2'000'000u);
  std::uint64_t first = in_the_table ? 0 : count / 10;
  for (std::uint64_t n = 0; n < first; ++n) ASSERT_EQ(pool().erase(fixed_key(n)), status::ok);
  for (std::uint64_t round = 1; round < 5; ++round)
    for (std::uint64_t n = first; n < count; ++n)
      ASSERT_EQ(pool().update(fixed_key(n), long_value(with(), n + round, 1000)), status::ok)
          << "record " << n << ", round " << round;
  for (std::uint64_t n = first; n < count; ++n)
    ASSERT_EQ(pool().get(fixed_key(n)), long_value(with(), n + 4, 1000));
  expect_sound(pool());
}

TEST_P(FullPools, ReserveBeyondTheLimitAnswersNoSpace) {
  model expected = fill(0, 100);
  EXPECT_EQ(pool().pool().reserve(100'000'000), status::no_space);
  EXPECT_EQ(pool().pool().reserve(~std::uint64_t{0}), status::no_space);
  EXPECT_EQ(pool().pool().reserve(std::uint64_t{1} << 61), status::no_space);
  expect_contents(pool(), expected);
  EXPECT_EQ(pool().put(key(500), value(500)), status::ok)
      << "a reserve that failed took the room away";
  expect_sound(pool());
}

TEST_P(FullPools, ReopenFullAndStayErasable) {
  if (!with().outlives_handle()) GTEST_SKIP() << "this medium does not outlive its handle";
  model expected = fill_up();
  options limited;
  limited.medium = with().medium();
  limited.max_bytes = limit;
  reopen(limited);
  expect_contents(pool(), expected);
  for (std::uint64_t n = 0; n < 100; ++n) {
    ASSERT_EQ(pool().erase(key(n)), status::ok);
    expected.erase(key(n));
  }
  reopen();
  expect_contents(pool(), expected);
  // the limit is the handle's, not the pool's
  for (auto& [key, value] : fill(1'000'000, 1'010'000)) expected[key] = value;
  expect_contents(pool(), expected);
  expect_sound(pool());
}

TEST_P(FullPools, CompactInAFullPoolEitherWorksOrAnswersNoSpace) {
  model expected = fill_up();
  status answer = pool().pool().compact();
  EXPECT_TRUE(answer == status::ok || answer == status::no_space) << message(answer);
  expect_contents(pool(), expected);
  expect_sound(pool());
}

}  // namespace
}  // namespace durahash::test
