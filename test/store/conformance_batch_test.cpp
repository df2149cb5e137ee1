// The contract of get_many, put_many and erase_many.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "conformance.hpp"

namespace durahash::test {
namespace {

using Batches = conformance;
INSTANTIATE_TEST_SUITE_P(Every, Batches, testing::ValuesIn(tried_setups()), setup_name());

bool all_are(const answers& given, status wanted) {
  return std::all_of(given.begin(), given.end(), [&](status one) { return one == wanted; });
}

std::size_t count_of(const answers& given, status wanted) {
  return static_cast<std::size_t>(std::count(given.begin(), given.end(), wanted));
}

TEST_P(Batches, AnEmptyBatchDoesNothing) {
  strings no_values;
  EXPECT_TRUE(pool().put_many({}, {}).empty());
  EXPECT_TRUE(pool().get_many({}, no_values).empty());
  EXPECT_TRUE(pool().erase_many({}).empty());
  EXPECT_EQ(pool().pool().size(), 0u);
}

TEST_P(Batches, ABatchOfEverySmallSizeIsWhole) {
  // Sizes around whatever group an engine works in.
  std::uint64_t next = 0;
  for (std::uint64_t size = 1; size <= 70; ++size, next += size) {
    strings batch = keys(next, next + size), wanted = values(next, next + size), found(size);
    ASSERT_TRUE(all_are(pool().put_many(batch, wanted), status::ok)) << size;
    ASSERT_TRUE(all_are(pool().get_many(batch, found), status::ok)) << size;
    ASSERT_EQ(found, wanted) << size;
    ASSERT_TRUE(all_are(pool().erase_many(batch), status::ok)) << size;
    ASSERT_EQ(pool().pool().size(), 0u) << size;
  }
  expect_sound(pool());
}

TEST_P(Batches, AHugeBatchGrowsTheTable) {
  constexpr std::uint64_t size = 15'000;
  strings batch = keys(0, size), wanted = values(0, size), found(size);
  EXPECT_TRUE(all_are(pool().put_many(batch, wanted), status::ok));
  EXPECT_EQ(pool().pool().size(), size);
  EXPECT_TRUE(all_are(pool().get_many(batch, found), status::ok));
  EXPECT_TRUE(found == wanted);
  expect_sound(pool());
  EXPECT_TRUE(all_are(pool().erase_many(batch), status::ok));
  EXPECT_EQ(pool().pool().size(), 0u);
  expect_sound(pool());
}

TEST_P(Batches, GetManyTellsPresentKeysFromAbsentOnes) {
  model expected = fill(0, 100);
  strings mixed_keys, found(300, "untouched");
  for (std::uint64_t n = 0; n < 300; ++n) mixed_keys.push_back(key(n % 3 == 0 ? n / 3 : 1000 + n));
  answers given = pool().get_many(mixed_keys, found);
  for (std::uint64_t n = 0; n < 300; ++n) {
    ASSERT_EQ(given[n], n % 3 == 0 ? status::ok : status::not_found) << n;
    ASSERT_EQ(found[n], n % 3 == 0 ? expected[mixed_keys[n]] : found[n]) << n;
  }
}

TEST_P(Batches, GetManyAnswersTheSameKeyEveryTimeItIsAsked) {
  fill(0, 2);
  strings found(4);
  EXPECT_EQ(pool().get_many({key(1), key(0), key(1), key(1)}, found), answers(4, status::ok));
  EXPECT_EQ(found, (strings{value(1), value(0), value(1), value(1)}));
}

TEST_P(Batches, PutManyOverwritesWhatIsPresent) {
  fill(0, 100);
  EXPECT_TRUE(all_are(pool().put_many(keys(50, 150), values(1050, 1150)), status::ok));
  model expected;
  for (std::uint64_t n = 0; n < 150; ++n) expected[key(n)] = value(n < 50 ? n : n + 1000);
  expect_contents(pool(), expected);
}

TEST_P(Batches, LaterWritesToOneKeyOfABatchWin) {
  for (bool present : {false, true}) {
    strings batch, written;
    model expected;
    // 7 keys, each many times, neighbours in the batch and far apart
    for (std::uint64_t n = 0; n < 200; ++n) {
      std::uint64_t chosen = n < 100 ? n % 7 : n / 15 % 7;
      batch.push_back(key(chosen));
      written.push_back(value(n + (present ? 1000 : 0)));
      expected[batch.back()] = written.back();
    }
    EXPECT_TRUE(all_are(pool().put_many(batch, written), status::ok));
    expect_contents(pool(), expected);
  }
  expect_sound(pool());
}

/// Of a key that finds no room both writes are put off: they must stay in their order.
TEST_P(Batches, LaterWritesToOneKeyWinWhileTheTableGrows) {
  constexpr std::uint64_t pairs = 2000, apart = 10;
  strings batch, written;
  model expected;
  for (std::uint64_t first = 0; first < pairs; first += apart)
    for (std::uint64_t n = 0; n < 2 * apart; ++n) {
      batch.push_back(key(first + n % apart));
      written.push_back(value(2 * first + n));
      expected[batch.back()] = written.back();
    }
  EXPECT_TRUE(all_are(pool().put_many(batch, written), status::ok));
  expect_contents(pool(), expected);
  expect_sound(pool());
}

TEST_P(Batches, EraseManyTellsPresentKeysFromAbsentOnes) {
  fill(0, 100);
  answers given = pool().erase_many(keys(50, 150));
  EXPECT_TRUE(all_are(answers(given.begin(), given.begin() + 50), status::ok));
  EXPECT_TRUE(all_are(answers(given.begin() + 50, given.end()), status::not_found));
  model expected;
  for (std::uint64_t n = 0; n < 50; ++n) expected[key(n)] = value(n);
  expect_contents(pool(), expected);
}

TEST_P(Batches, AKeyErasedTwiceInOneBatchIsFoundOnce) {
  fill(0, 3);
  answers given = pool().erase_many({key(0), key(1), key(0), key(7), key(0)});
  EXPECT_EQ(count_of(given, status::ok), 2u);
  EXPECT_EQ(count_of(given, status::not_found), 3u);
  EXPECT_EQ(given[1], status::ok);
  EXPECT_EQ(given[3], status::not_found);
  expect_contents(pool(), {{key(2), value(2)}});
  expect_sound(pool());
}

TEST_P(Batches, SpansOfUnequalLengthsDoNothing) {
  fill(0, 2);
  strings three_values(3, "untouched");
  EXPECT_EQ(pool().get_many(keys(0, 2), three_values), answers(2, status::invalid_argument));
  EXPECT_EQ(three_values, strings(3, "untouched"));
  EXPECT_EQ(pool().put_many(keys(0, 4), values(10, 13)), answers(4, status::invalid_argument));
  EXPECT_EQ(pool().put_many(keys(0, 2), values(10, 13)), answers(2, status::invalid_argument));
  expect_contents(pool(), {{key(0), value(0)}, {key(1), value(1)}});
}

TEST_P(Batches, AnswersOfAnotherLengthThanTheKeysAreAllInvalid) {
  if (!through_table())
    GTEST_SKIP() << "Map.AnswersOfAnotherLengthThanTheKeysAreAllInvalid is its counterpart";
  fill(0, 2);
  table& pool_as_table = static_cast<table&>(pool().pool());
  strings two = keys(0, 2), found(2);
  std::vector<std::string_view> views(two.begin(), two.end());
  answers three(3, status::ok), none;
  pool_as_table.erase_many(views, three);
  EXPECT_EQ(three, answers(3, status::invalid_argument));
  pool_as_table.get_many(views, found, none);
  pool_as_table.put_many(views, views, none);
  expect_contents(pool(), {{key(0), value(0)}, {key(1), value(1)}});
}

TEST_P(Batches, ReadManyShowsEachValueWhereItLies) {
  if (!through_table()) GTEST_SKIP() << "map copies words";
  fill(0, 200);
  const table& pool_as_table = static_cast<table&>(pool().pool());
  strings batch = keys(100, 300), seen(200);
  std::vector<std::string_view> views(batch.begin(), batch.end());
  answers given(200, status::mismatch);
  pool_as_table.read_many(
      views, [&](std::size_t i, std::string_view v) { seen[i] = v; }, given);
  for (std::uint64_t n = 0; n < 200; ++n) {
    EXPECT_EQ(given[n], n < 100 ? status::ok : status::not_found) << n;
    EXPECT_EQ(seen[n], n < 100 ? value(100 + n) : std::string()) << n;
  }
  answers three(3, status::ok);
  pool_as_table.read_many(
      views, [](std::size_t, std::string_view) { FAIL(); }, three);
  EXPECT_EQ(three, answers(3, status::invalid_argument));
}

TEST_P(Batches, OneRefusedKeyDoesNotStopTheOthers) {
  if (!through_table()) GTEST_SKIP() << "the types of map rule this out";
  std::string refused = keys_have_one_length() ? "seven b" : std::string(max_key_bytes + 1, 'k');
  strings batch = keys(0, 9);
  batch[4] = refused;
  answers expected(9, status::ok);
  expected[4] = status::invalid_argument;
  EXPECT_EQ(pool().put_many(batch, values(0, 9)), expected);
  EXPECT_EQ(pool().pool().size(), 8u);
  strings found(9);
  answers given = pool().get_many(batch, found);
  EXPECT_EQ(count_of(given, status::ok), 8u);
  EXPECT_NE(given[4], status::ok);
  given = pool().erase_many(batch);
  EXPECT_EQ(count_of(given, status::ok), 8u);
  EXPECT_NE(given[4], status::ok);
  expect_contents(pool(), {});
}

TEST_P(Batches, ABatchMixesValuesOfAllLengths) {
  if (!values_are_bytes()) GTEST_SKIP() << "values are words here";
  strings batch = keys(0, 40), written;
  model expected;
  for (std::uint64_t n = 0; n < 40; ++n) {
    written.push_back(long_value(with(), n, n % 5 == 4 ? n * 10'000 : n));
    expected[batch[n]] = written.back();
  }
  EXPECT_TRUE(all_are(pool().put_many(batch, written), status::ok));
  strings found(40);
  EXPECT_TRUE(all_are(pool().get_many(batch, found), status::ok));
  EXPECT_TRUE(found == written);
  expect_contents(pool(), expected);
  expect_sound(pool());
}

/// What a batch finds no space for is tried once more, when readers have left. Not over what the
/// same key was given behind it.
TEST(BatchBesideAReader, LaterWritesToOneKeyWinWhenSpaceComesBack) {
  using namespace std::chrono_literals;
  const std::string large(100'000, 'L'), small(10, 's');
  for (engine_kind engine : all_engines()) {
    SCOPED_TRACE(std::string(name_of(engine)));
    options how;
    how.engine = engine, how.medium = medium_kind::memory, how.max_bytes = 8 << 20;
    auto opened = table::open("", how);
    ASSERT_TRUE(opened) << opened.failure().message;
    table& t = *opened;
    strings names = {"key", "a", "b", "c", "d", "e", "key"};
    for (const std::string& name : names) ASSERT_EQ(t.put(name, small), status::ok);
    std::uint64_t filled = 0;
    while (t.put("large " + std::to_string(filled), large) == status::ok) ++filled;
    ASSERT_GT(filled, 2u);

    std::atomic<bool> reads = false, leaves = false;
    std::thread reader([&] {
      static_cast<void>(t.read("large 0", [&](std::string_view) {
        reads = true;
        while (!leaves) std::this_thread::sleep_for(1ms);
        std::this_thread::sleep_for(50ms);  // while the batch waits
      }));
    });
    while (!reads) std::this_thread::sleep_for(1ms);
    ASSERT_EQ(t.erase("large 1"), status::ok);
    const std::vector<std::string_view> keys(names.begin(), names.end());
    std::vector<std::string_view> written(keys.size(), small);
    written.front() = large;
    answers given(keys.size());
    leaves = true;
    t.put_many(keys, written, given);
    reader.join();
    EXPECT_EQ(given, answers(keys.size(), status::ok)) << "the first was put, and then the last";
    EXPECT_EQ(t.get("key"), small);
  }
}

}  // namespace
}  // namespace durahash::test
