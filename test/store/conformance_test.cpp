// The contract of the operations on one key, the same on every engine, medium, kind and durability.
#include "conformance.hpp"

namespace durahash::test {
namespace {

using Operations = conformance;
INSTANTIATE_TEST_SUITE_P(Every, Operations, testing::ValuesIn(tried_setups()), setup_name());

// Several resizes past the smallest table of any engine.
constexpr std::uint64_t records_that_grow = many(20'000);

TEST_P(Operations, PutWritesARecordWhetherOrNotTheKeyIsPresent) {
  EXPECT_EQ(pool().put(key(1), value(10)), status::ok);
  EXPECT_EQ(pool().get(key(1)), value(10));
  EXPECT_EQ(pool().put(key(1), value(11)), status::ok);
  EXPECT_EQ(pool().get(key(1)), value(11));
  EXPECT_EQ(pool().pool().size(), 1u);
}

TEST_P(Operations, InsertWritesOnlyWhereTheKeyIsAbsent) {
  EXPECT_EQ(pool().insert(key(1), value(10)), status::ok);
  EXPECT_EQ(pool().insert(key(1), value(11)), status::exists);
  EXPECT_EQ(pool().get(key(1)), value(10)) << "the refused insert changed the record";
  EXPECT_EQ(pool().pool().size(), 1u);
}

TEST_P(Operations, UpdateWritesOnlyWhereTheKeyIsPresent) {
  EXPECT_EQ(pool().update(key(1), value(10)), status::not_found);
  EXPECT_FALSE(pool().contains(key(1))) << "the refused update wrote a record";
  EXPECT_EQ(pool().put(key(1), value(10)), status::ok);
  EXPECT_EQ(pool().update(key(1), value(11)), status::ok);
  EXPECT_EQ(pool().get(key(1)), value(11));
  EXPECT_EQ(pool().pool().size(), 1u);
}

TEST_P(Operations, GetOfAnAbsentKeyAnswersNotFoundAndLeavesTheValueAlone) {
  std::string untouched = "untouched";
  EXPECT_EQ(pool().get(key(1), untouched), status::not_found);
  EXPECT_EQ(untouched, "untouched");
  EXPECT_FALSE(pool().contains(key(1)));
  EXPECT_EQ(pool().put(key(2), value(2)), status::ok);
  EXPECT_EQ(pool().get(key(1), untouched), status::not_found);
  EXPECT_EQ(untouched, "untouched");
}

TEST_P(Operations, ContainsFollowsTheRecord) {
  EXPECT_FALSE(pool().contains(key(1)));
  EXPECT_EQ(pool().put(key(1), value(1)), status::ok);
  EXPECT_TRUE(pool().contains(key(1)));
  EXPECT_EQ(pool().erase(key(1)), status::ok);
  EXPECT_FALSE(pool().contains(key(1)));
}

TEST_P(Operations, EraseRemovesTheRecordOnce) {
  EXPECT_EQ(pool().erase(key(1)), status::not_found);
  EXPECT_EQ(pool().put(key(1), value(1)), status::ok);
  EXPECT_EQ(pool().erase(key(1)), status::ok);
  EXPECT_EQ(pool().erase(key(1)), status::not_found);
  EXPECT_EQ(pool().get(key(1)), std::nullopt);
  EXPECT_EQ(pool().pool().size(), 0u);
}

TEST_P(Operations, TakeRemovesTheRecordAndGivesItsValue) {
  std::string taken = "untouched";
  EXPECT_EQ(pool().take(key(1), taken), status::not_found);
  EXPECT_EQ(taken, "untouched");
  model expected = fill(0, 300);
  for (std::uint64_t n = 0; n < 300; n += 3) {
    ASSERT_EQ(pool().take(key(n), taken), status::ok);
    ASSERT_EQ(taken, value(n));
    ASSERT_EQ(pool().take(key(n), taken), status::not_found);
    expected.erase(key(n));
  }
  expect_contents(pool(), expected);
  expect_sound(pool());
}

TEST_P(Operations, AnErasedKeyCanBeInsertedAgain) {
  for (std::uint64_t round = 0; round < 100; ++round) {
    ASSERT_EQ(pool().insert(key(1), value(round)), status::ok);
    ASSERT_EQ(pool().get(key(1)), value(round));
    ASSERT_EQ(pool().erase(key(1)), status::ok);
    ASSERT_FALSE(pool().contains(key(1)));
  }
  expect_sound(pool());
}

TEST_P(Operations, CompareAndSetWritesOnlyOverTheExpectedValue) {
  EXPECT_EQ(pool().compare_and_set(key(1), value(10), value(11)), status::not_found);
  EXPECT_FALSE(pool().contains(key(1)));
  EXPECT_EQ(pool().put(key(1), value(10)), status::ok);
  EXPECT_EQ(pool().compare_and_set(key(1), value(11), value(12)), status::mismatch);
  EXPECT_EQ(pool().get(key(1)), value(10));
  EXPECT_EQ(pool().compare_and_set(key(1), value(10), value(12)), status::ok);
  EXPECT_EQ(pool().get(key(1)), value(12));
  EXPECT_EQ(pool().compare_and_set(key(1), value(12), value(12)), status::ok)
      << "expected and desired may be equal";
  EXPECT_EQ(pool().get(key(1)), value(12));
}

TEST_P(Operations, UpdateWithPutsWhatTheFunctionMakesOfTheValue) {
  int calls = 0;
  std::string seen;
  auto to_twelve = [&](std::string_view present) { return ++calls, seen = present, value(12); };
  EXPECT_EQ(pool().update_with(key(1), to_twelve), status::not_found);
  EXPECT_EQ(calls, 0);
  EXPECT_FALSE(pool().contains(key(1)));
  EXPECT_EQ(pool().put(key(1), value(10)), status::ok);
  EXPECT_EQ(pool().update_with(key(1), to_twelve), status::ok);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(seen, value(10));
  EXPECT_EQ(pool().get(key(1)), value(12));
  EXPECT_EQ(pool().pool().size(), 1u);
}

/// What is thrown under the lock passes no lock: the next one gets it.
TEST_P(Operations, WhatUpdateWithsFunctionThrowsLeavesTheRecord) {
  struct thrown {};
  fill(0, 300);
  for (std::uint64_t n = 0; n < 300; ++n)
    EXPECT_THROW(static_cast<void>(pool().update_with(
                     key(n), [](std::string_view) -> std::string { throw thrown(); })),
                 thrown);
  for (std::uint64_t n = 0; n < 300; ++n) {
    ASSERT_EQ(pool().get(key(n)), value(n)) << n;
    ASSERT_EQ(pool().update_with(key(n), [&](std::string_view) { return value(n + 1); }),
              status::ok);
    ASSERT_EQ(pool().get(key(n)), value(n + 1)) << n;
  }
  expect_sound(pool());
}

TEST_P(Operations, FetchAddCountsFromZeroAndGivesTheValueBefore) {
  std::uint64_t previous = 99;
  EXPECT_EQ(pool().fetch_add(key(1), 5, previous), status::ok);
  EXPECT_EQ(previous, 0u);
  EXPECT_EQ(pool().get(key(1)), word_bytes(5));
  EXPECT_EQ(pool().fetch_add(key(1), 37, previous), status::ok);
  EXPECT_EQ(previous, 5u);
  EXPECT_EQ(pool().get(key(1)), word_bytes(42));
  EXPECT_EQ(pool().pool().size(), 1u);
}

TEST_P(Operations, FetchAddIsModulo2To64) {
  std::uint64_t previous = 0;
  EXPECT_EQ(pool().put(key(1), word_bytes(~std::uint64_t{0})), status::ok);
  EXPECT_EQ(pool().fetch_add(key(1), 3, previous), status::ok);
  EXPECT_EQ(previous, ~std::uint64_t{0});
  EXPECT_EQ(pool().get(key(1)), word_bytes(2));
  EXPECT_EQ(pool().fetch_add(key(1), ~std::uint64_t{0}, previous), status::ok)
      << "adding 2^64-1 subtracts one";
  EXPECT_EQ(pool().get(key(1)), word_bytes(1));
}

TEST_P(Operations, FetchAddRefusesAValueThatIsNotEightBytes) {
  if (!values_are_bytes()) GTEST_SKIP() << "every value of this pool has 8 bytes";
  for (std::string_view present : {"", "1234567", "123456789"}) {
    std::uint64_t previous = 0;
    ASSERT_EQ(pool().put(key(1), present), status::ok);
    EXPECT_EQ(pool().fetch_add(key(1), 1, previous), status::invalid_argument);
    EXPECT_EQ(pool().get(key(1)), present);
  }
}

TEST_P(Operations, EveryWordIsALegalKeyAndALegalValue) {
  if (keys_are_bytes()) GTEST_SKIP() << "keys are bytes here";
  std::vector<std::uint64_t> words = {
      0, 1, 2, ~std::uint64_t{0}, ~std::uint64_t{0} - 1, std::uint64_t{1} << 63};
  for (unsigned bit = 1; bit < 64; ++bit)
    words.push_back(std::uint64_t{1} << bit), words.push_back(~(std::uint64_t{1} << bit));
  model expected;
  for (std::uint64_t word : words) {
    EXPECT_FALSE(pool().contains(word_bytes(word)) && !expected.contains(word_bytes(word))) << word;
    EXPECT_EQ(pool().put(word_bytes(word), word_bytes(~word)), status::ok) << word;
    expected[word_bytes(word)] = word_bytes(~word);
  }
  expect_contents(pool(), expected);
  for (std::uint64_t word : {std::uint64_t{0}, ~std::uint64_t{0}}) {
    EXPECT_EQ(pool().put(word_bytes(word), word_bytes(0)), status::ok);
    EXPECT_EQ(pool().get(word_bytes(word)), word_bytes(0));
    EXPECT_EQ(pool().insert(word_bytes(word), word_bytes(1)), status::exists);
    EXPECT_EQ(pool().erase(word_bytes(word)), status::ok);
    EXPECT_FALSE(pool().contains(word_bytes(word)));
    EXPECT_EQ(pool().erase(word_bytes(word)), status::not_found);
  }
  expect_sound(pool());
}

TEST_P(Operations, KeysMayBeEmptyAndContainAnyByte) {
  if (keys_have_one_length()) GTEST_SKIP() << "keys have one length here";
  using namespace std::string_literals;
  strings odd = {""s,
                 "\0"s,
                 "\0\0"s,
                 "a"s,
                 "a\0"s,
                 "a\0b"s,
                 "a\0c"s,
                 "\xff\xff"s,
                 "\n\r\t"s,
                 std::string(8, '\0'),
                 std::string(16, '\xff')};
  for (int byte = 0; byte < 256; ++byte)
    odd.push_back("one byte differs: " + std::string(1, static_cast<char>(byte)));
  model expected;
  for (std::size_t n = 0; n < odd.size(); ++n) {
    EXPECT_FALSE(pool().contains(odd[n])) << "key " << n << " is taken for an earlier one";
    EXPECT_EQ(pool().insert(odd[n], value(n)), status::ok);
    expected[odd[n]] = value(n);
  }
  expect_contents(pool(), expected);
  EXPECT_EQ(pool().erase(""), status::ok);
  EXPECT_FALSE(pool().contains(""));
  EXPECT_TRUE(pool().contains("\0"s));
}

TEST_P(Operations, KeysOfOneLengthThatDifferInAnyByteAreTwoKeys) {
  if (with().key_bytes == 0) GTEST_SKIP() << "keys are words here, or have any length";
  std::string plain(with().key_bytes, '\0');
  model expected{{plain, value(0)}};
  ASSERT_EQ(pool().put(plain, value(0)), status::ok);
  for (std::size_t at = 0; at < plain.size(); ++at)
    for (char byte : {'\1', '\xff'}) {
      std::string other = plain;
      other[at] = byte;
      EXPECT_FALSE(pool().contains(other)) << "byte " << at;
      ASSERT_EQ(pool().insert(other, value(at)), status::ok);
      expected[other] = value(at);
    }
  expect_contents(pool(), expected);
  expect_sound(pool());
}

TEST_P(Operations, LongKeysThatDifferInTheLastByteAreTwoKeys) {
  if (keys_have_one_length()) GTEST_SKIP() << "keys have one length here";
  for (std::size_t length : {2u, 9u, 17u, 33u, 65u, 129u, 257u, 4096u, 65536u}) {
    std::string one(length, 'k'), other = one;
    other.back() = 'l';
    ASSERT_EQ(pool().put(one, value(length)), status::ok);
    EXPECT_FALSE(pool().contains(other)) << length;
    ASSERT_EQ(pool().put(other, value(length + 1)), status::ok);
    EXPECT_EQ(pool().get(one), value(length)) << length;
    EXPECT_EQ(pool().get(other), value(length + 1)) << length;
    EXPECT_EQ(pool().erase(one), status::ok);
    EXPECT_FALSE(pool().contains(one)) << length;
    EXPECT_EQ(pool().get(other), value(length + 1)) << length;
  }
  expect_sound(pool());
}

TEST_P(Operations, ValuesOfEveryLengthComeBackWhole) {
  if (!values_are_bytes()) GTEST_SKIP() << "values are words here";
  std::vector<std::size_t> lengths;
  for (std::size_t length = 0; length < 300; ++length) lengths.push_back(length);
  for (std::size_t length :
       {511u, 512u, 1023u, 1025u, 4095u, 4096u, 4097u, 65536u, 262143u, 1048577u, 5u << 20})
    lengths.push_back(length);
  model expected;
  for (std::size_t length : lengths) {
    ASSERT_EQ(pool().put(key(length), long_value(with(), length, length)), status::ok) << length;
    expected[key(length)] = long_value(with(), length, length);
  }
  expect_contents(pool(), expected);
  expect_sound(pool());
}

TEST_P(Operations, AValueMayShrinkAndGrowInPlace) {
  if (!values_are_bytes()) GTEST_SKIP() << "values are words here";
  for (std::size_t length : {100u, 0u, 3u, 70'000u, 8u, 1u << 20, 16u, 0u, 200u}) {
    ASSERT_EQ(pool().put(key(1), long_value(with(), length, length)), status::ok) << length;
    ASSERT_EQ(pool().get(key(1)), long_value(with(), length, length)) << length;
  }
  expect_sound(pool());
}

TEST_P(Operations, AKeyOrAWordOfAnotherLengthIsAnInvalidArgument) {
  if (!through_table()) GTEST_SKIP() << "the types of map rule this out";
  ASSERT_EQ(pool().put(key(1), value(1)), status::ok);
  const std::string too_long(with().key_bytes + 8, 'k');
  for (std::string_view wrong : {std::string_view(), std::string_view("1234567"),
                                 std::string_view("123456789"), std::string_view(too_long)}) {
    if (wrong.size() == 8) continue;  // a word
    std::string untouched = "untouched";
    if (keys_have_one_length()) {
      EXPECT_EQ(pool().put(wrong, value(2)), status::invalid_argument);
      EXPECT_EQ(pool().insert(wrong, value(2)), status::invalid_argument);
      EXPECT_EQ(pool().update(wrong, value(2)), status::invalid_argument);
      EXPECT_EQ(pool().get(wrong, untouched), status::invalid_argument);
      EXPECT_EQ(pool().erase(wrong), status::invalid_argument);
      EXPECT_EQ(pool().take(wrong, untouched), status::invalid_argument);
      EXPECT_EQ(pool().compare_and_set(wrong, value(1), value(2)), status::invalid_argument);
      std::uint64_t previous = 0;
      EXPECT_EQ(pool().fetch_add(wrong, 1, previous), status::invalid_argument);
      EXPECT_EQ(pool().update_with(wrong, [&](std::string_view) { return value(2); }),
                status::invalid_argument);
      EXPECT_FALSE(pool().contains(wrong));
    }
    if (!values_are_bytes()) {
      EXPECT_EQ(pool().put(key(1), wrong), status::invalid_argument);
      EXPECT_EQ(pool().insert(key(2), wrong), status::invalid_argument);
      EXPECT_EQ(pool().update(key(1), wrong), status::invalid_argument);
      EXPECT_EQ(pool().compare_and_set(key(1), wrong, value(2)), status::invalid_argument);
      EXPECT_EQ(pool().compare_and_set(key(1), value(1), wrong), status::invalid_argument);
      const std::string another(wrong);
      EXPECT_EQ(pool().update_with(key(1), [&](std::string_view) { return another; }),
                status::invalid_argument);
    }
    EXPECT_EQ(untouched, "untouched");
  }
  expect_contents(pool(), {{key(1), value(1)}});
}

TEST_P(Operations, TheTableGrowsAndShrinksByItself) {
  model expected = fill(0, records_that_grow);
  expect_contents(pool(), expected);
  for (std::uint64_t n = 0; n < records_that_grow; n += 2) {
    ASSERT_EQ(pool().erase(key(n)), status::ok);
    expected.erase(key(n));
  }
  expect_contents(pool(), expected);
  expect_sound(pool());
  for (auto& [key, value] : fill(0, records_that_grow, 1)) expected[key] = value;
  expect_contents(pool(), expected);
  for (std::uint64_t n = 0; n < records_that_grow; ++n)
    ASSERT_EQ(pool().erase(key(n)), status::ok) << n;
  expect_contents(pool(), {});
  expect_sound(pool());
}

TEST_P(Operations, KeysThatLookAlikeDoNotCollide) {
  if (keys_are_bytes()) GTEST_SKIP() << "keys are bytes here";
  // Progressions, single high bits and byte-swapped counters: what a weak hash maps to few buckets.
  model expected;
  auto put = [&](std::uint64_t word) {
    ASSERT_EQ(pool().put(word_bytes(word), word_bytes(word ^ 7)), status::ok) << word;
    expected[word_bytes(word)] = word_bytes(word ^ 7);
  };
  for (std::uint64_t i = 0; i < 1000; ++i) {
    put(i);
    put(i << 54);
    put(i << 32);
    put(i * 4096);
    put(i * 0x0101010101010101);
    put(__builtin_bswap64(i));
    put(~i);
  }
  expect_contents(pool(), expected);
  expect_sound(pool());
}

}  // namespace
}  // namespace durahash::test
