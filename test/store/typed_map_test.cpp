// Maps of keys and values that are not words, batches and ranges over strings, and operations that
// are made of two.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "durahash/map.hpp"
#include "scratch.hpp"

namespace durahash::test {
namespace {

struct location {
  std::uint64_t file, offset;
  bool operator==(const location&) const = default;
};
struct embedding {
  float x[16];
};
struct with_padding {
  char c;
  std::int64_t i;
};
struct not_trivial {
  std::vector<int> v;
};
using hash128 = std::array<std::uint64_t, 2>;

static_assert(map_value<location> && map_value<embedding> && map_value<with_padding> &&
              map_value<std::string> && map_value<std::array<char, max_plain_bytes>>);
static_assert(!map_value<not_trivial> && !map_value<int*> &&
              !map_value<std::array<char, max_plain_bytes + 1>>);
static_assert(map_key<hash128> && map_key<std::string> && map_key<double> && map_key<location>);
static_assert(!map_key<with_padding> && !map_key<embedding> && !map_key<int*> &&
              !map_key<std::array<char, max_key_bytes + 1>>);

template <class Table>
Table fresh(options how = {}) {
  how.medium = medium_kind::memory;
  auto opened = Table::open("", how);
  if (!opened) throw std::runtime_error(opened.failure().message);
  return std::move(*opened);
}

class TypedMaps : public testing::TestWithParam<engine_kind> {
 protected:
  template <class Table>
  Table made() const {
    options how;
    how.engine = GetParam();
    return fresh<Table>(how);
  }
};
INSTANTIATE_TEST_SUITE_P(Every, TypedMaps, testing::ValuesIn(all_engines()));

TEST_P(TypedMaps, StructsAreValues) {
  auto places = made<map<std::uint64_t, location>>();
  EXPECT_EQ(places.kinds().key, data_kind::u64);
  EXPECT_EQ(places.kinds().value, data_kind::bytes);
  EXPECT_EQ(places.insert(7, {1, 2}), status::ok);
  EXPECT_EQ(places.insert(7, {3, 4}), status::exists);
  EXPECT_EQ(places.get(7), (location{1, 2}));
  EXPECT_EQ(places.compare_and_set(7, {1, 3}, {9, 9}), status::mismatch);
  EXPECT_EQ(places.compare_and_set(7, {1, 2}, {9, 9}), status::ok);
  EXPECT_EQ(places.update(8, {0, 0}), status::not_found);
  EXPECT_EQ(places.put(8, {0, 0}), status::ok);
  location found{5, 5};
  EXPECT_EQ(places.get(9, found), status::not_found);
  EXPECT_EQ(found, (location{5, 5}));
  EXPECT_EQ(places.erase(8), status::ok);
  EXPECT_FALSE(places.contains(8));
  EXPECT_EQ(places.size(), 1u);
  EXPECT_TRUE(places.check().ok);
}

/// No copy: two reads are given one address. Of a key of three bytes the value lies at an odd one.
TEST_P(TypedMaps, AreReadWhereTheValueLies) {
  auto places = made<map<std::uint64_t, location>>();
  EXPECT_EQ(places.put(7, {1, 2}), status::ok);
  const location* where[2] = {};
  for (const location*& each : where)
    EXPECT_EQ(places.read(7,
                          [&](const location& there) {
                            EXPECT_EQ(there, (location{1, 2}));
                            each = &there;
                          }),
              status::ok);
  EXPECT_NE(where[0], nullptr);
  EXPECT_EQ(where[0], where[1]);
  EXPECT_EQ(places.read(8, [](const location&) { ADD_FAILURE(); }), status::not_found);

  const std::vector<std::uint64_t> keys{8, 7};
  std::vector<status> answers(2);
  places.read_many(
      keys,
      [&](std::size_t i, const location& there) {
        EXPECT_EQ(i, 1u);
        EXPECT_EQ(&there, where[0]);
      },
      answers);
  EXPECT_EQ(answers, (std::vector{status::not_found, status::ok}));
  places.read_many(
      keys, [](std::size_t, const location&) { ADD_FAILURE(); }, std::span(answers).first(1));
  EXPECT_EQ(answers[0], status::invalid_argument);

  auto odd = made<map<std::string, location>>();
  EXPECT_EQ(odd.put("abc", {3, 4}), status::ok);
  EXPECT_EQ(odd.read("abc",
                     [](const location& there) {
                       EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&there) % alignof(location), 0u);
                       EXPECT_EQ(there, (location{3, 4}));
                     }),
            status::ok);
  EXPECT_EQ(static_cast<table&>(odd).put("short", "12"), status::ok);
  EXPECT_EQ(odd.read("short", [](const location&) { ADD_FAILURE(); }), status::mismatch);

  auto words = made<map<std::string, std::uint32_t>>();
  EXPECT_EQ(words.put("n", 5), status::ok);
  EXPECT_EQ(words.read("n", [](const std::uint32_t& n) { EXPECT_EQ(n, 5u); }), status::ok);
  auto names = made<map<std::uint64_t, std::string>>();
  EXPECT_EQ(names.put(1, "one"), status::ok);
  EXPECT_EQ(names.read(1, [](std::string_view name) { EXPECT_EQ(name, "one"); }), status::ok);
}

TEST_P(TypedMaps, StringsAreKeysAndValues) {
  auto ages = made<map<std::string, int>>();
  EXPECT_EQ(ages.put("alice", -42), status::ok);
  EXPECT_EQ(ages.put(std::string("with\0zero", 9), 1), status::ok);
  EXPECT_EQ(ages.get("alice"), -42);
  EXPECT_EQ(ages.get("with"), std::nullopt);
  EXPECT_EQ(ages.compare_and_set("alice", -42, 43), status::ok);
  EXPECT_EQ(ages.get("alice"), 43);

  auto names = made<map<std::string, std::string>>();
  EXPECT_EQ(names.put("a", ""), status::ok);
  EXPECT_EQ(names.get("a"), "");
  EXPECT_EQ(names.get("b"), std::nullopt);

  auto rows = made<map<hash128, embedding>>();
  embedding row{};
  row.x[15] = 0.5f;
  EXPECT_EQ(rows.put({1, 2}, row), status::ok);
  ASSERT_TRUE(rows.get({1, 2}));
  EXPECT_EQ(rows.get({1, 2})->x[15], 0.5f);
  EXPECT_FALSE(rows.contains({2, 1}));
}

TEST_P(TypedMaps, LargeValuesGoInAndComeBack) {
  using page = std::array<unsigned char, 65536>;
  auto pages = made<map<std::uint32_t, page>>();
  auto one = std::make_unique<page>();
  for (std::uint32_t n = 0; n < 20; ++n) {
    one->fill(static_cast<unsigned char>(n));
    ASSERT_EQ(pages.put(n, *one), status::ok);
  }
  for (std::uint32_t n = 0; n < 20; ++n) {
    ASSERT_EQ(pages.get(n, *one), status::ok);
    EXPECT_EQ(one->front(), n);
    EXPECT_EQ(one->back(), n);
  }
}

TEST_P(TypedMaps, BatchesOfStructs) {
  auto places = made<map<std::uint64_t, location>>();
  std::vector<std::uint64_t> keys(3000);
  std::vector<location> values(3000), found(3000);
  std::vector<status> answers(3000, status::closed);
  for (std::uint64_t n = 0; n < keys.size(); ++n) keys[n] = n * n, values[n] = {n, ~n};
  places.put_many(keys, values, answers);
  for (status s : answers) ASSERT_EQ(s, status::ok);
  places.get_many(keys, found, answers);
  for (status s : answers) ASSERT_EQ(s, status::ok);
  EXPECT_EQ(found, values);
  places.erase_many(std::span(keys).first(1000), std::span(answers).first(1000));
  EXPECT_EQ(places.size(), 2000u);
  places.get_many(keys, found, std::span(answers).first(10));  // of unequal lengths
  EXPECT_EQ(answers[0], status::invalid_argument);
}

TEST_P(TypedMaps, RecordsAreARange) {
  auto ages = made<map<std::string, int>>();
  std::map<std::string, int> expected;
  for (int n = 0; n < 2000; ++n) expected["key " + std::to_string(n)] = n;
  for (const auto& [key, value] : expected) ASSERT_EQ(ages.put(key, value), status::ok);
  std::map<std::string, int> seen;
  auto all = ages.records();
  for (auto& [key, value] : all) EXPECT_TRUE(seen.emplace(key, value).second) << key;
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(all.answer(), status::ok);
  static_assert(std::ranges::input_range<decltype(all)>);

  auto words = made<map<std::uint64_t, std::uint64_t>>();
  EXPECT_EQ(std::ranges::distance(words.records()), 0);
  for (std::uint64_t n = 0; n < 1000; ++n) ASSERT_EQ(words.put(n, n), status::ok);
  std::uint64_t sum = 0;
  for (const auto& [key, value] : words.records()) sum += key + value;
  EXPECT_EQ(sum, 999'000u);
}

TEST_P(TypedMaps, StringsGoInAsVectors) {
  auto users = made<table>();
  std::vector<std::string> keys, values;
  for (int n = 0; n < 500; ++n)
    keys.push_back("k" + std::to_string(n)), values.push_back("v" + std::to_string(n));
  for (status s : users.put_many(keys, values)) ASSERT_EQ(s, status::ok);
  auto found = users.get_many(keys);
  for (std::size_t n = 0; n < keys.size(); ++n) ASSERT_EQ(found[n], values[n]);
  const std::set<std::string> some{"k1", "k499", "none"};
  auto three = users.get_many(some);
  ASSERT_EQ(three.size(), 3u);
  EXPECT_EQ(three[0], "v1");
  EXPECT_EQ(three[2], std::nullopt);
  auto erased = users.erase_many(some);
  EXPECT_EQ(erased[1], status::ok);
  EXPECT_EQ(erased[2], status::not_found);
  std::size_t left = 0;
  for (const auto& [key, value] : users.records()) left += value == "v" + key.substr(1);
  EXPECT_EQ(left, 498u);
  values.pop_back();
  for (status s : users.put_many(keys, values)) EXPECT_EQ(s, status::invalid_argument);
  EXPECT_EQ(users.size(), 498u);
}

/// Four threads add to one struct: nothing is lost.
TEST_P(TypedMaps, UpdatesOfOneKeyFollowOneAnother) {
  auto places = made<map<std::uint64_t, location>>();
  auto words = made<map<std::uint64_t, double>>();
  auto texts = made<table>();
  EXPECT_EQ(places.update_with(1, [](location l) { return l; }), status::not_found);
  ASSERT_EQ(places.put(1, {0, 100}), status::ok);
  ASSERT_EQ(words.put(1, 0.5), status::ok);
  ASSERT_EQ(texts.put("1", ""), status::ok);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int n = 0; n < 500; ++n) {
        ASSERT_EQ(places.update_with(1,
                                     [](location l) {
                                       return location{l.file + 1, l.offset - 1};
                                     }),
                  status::ok);
        ASSERT_EQ(words.update_with(1, [](double d) { return d + 1; }), status::ok);
        ASSERT_EQ(texts.update_with("1", [](std::string_view s) { return std::string(s) + '.'; }),
                  status::ok);
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(places.get(1), (location{2000, 100 - 2000ull}));
  EXPECT_EQ(words.get(1), 2000.5);
  EXPECT_EQ(texts.get("1")->size(), 2000u);
  location before{};
  EXPECT_EQ(places.update_with(
                1, [](location) { return location{}; }, &before),
            status::ok);
  EXPECT_EQ(before.file, 2000u);
  double taken = 0;
  EXPECT_EQ(words.take(1, taken), status::ok);
  EXPECT_EQ(taken, 2000.5);
  EXPECT_EQ(words.take(1, taken), status::not_found);
  EXPECT_EQ(places.take(1, before), status::ok);
  EXPECT_EQ(before.file, 0u);
  EXPECT_FALSE(places.contains(1));
}

/// What refuses a value has not taken it.
TEST_P(TypedMaps, ATakeThatIsRefusedLeavesTheRecord) {
  struct thrown {};
  auto texts = made<table>();
  ASSERT_EQ(texts.put("1", "one"), status::ok);
  EXPECT_EQ(texts.take_with("1", [](std::string_view) { return status::mismatch; }),
            status::mismatch);
  EXPECT_THROW(
      static_cast<void>(texts.take_with("1", [](std::string_view) -> status { throw thrown(); })),
      thrown);
  EXPECT_EQ(texts.get("1"), "one");
  EXPECT_EQ(texts.take_with("1",
                            [](std::string_view s) {
                              EXPECT_EQ(s, "one");
                              return status::ok;
                            }),
            status::ok);
  EXPECT_FALSE(texts.contains("1"));
  auto words = made<map<std::uint64_t, double>>();
  auto places = made<map<std::uint64_t, location>>();
  ASSERT_EQ(words.put(1, 0.5), status::ok);
  ASSERT_EQ(places.put(1, {2, 3}), status::ok);
  auto if_half = [](double d) { return d == 0.5 ? status::ok : status::mismatch; };
  auto if_of_file_3 = [](location l) { return l.file == 3 ? status::ok : status::mismatch; };
  EXPECT_EQ(words.take_with(1, if_half), status::ok);
  EXPECT_EQ(words.take_with(1, if_half), status::not_found);
  EXPECT_EQ(places.take_with(1, if_of_file_3), status::mismatch);
  EXPECT_EQ(places.get(1), (location{2, 3}));
}

TEST_P(TypedMaps, OneThreadInsertsAndAllGetItsValue) {
  auto ages = made<map<std::string, std::uint64_t>>();
  auto words = made<map<std::uint64_t, std::uint64_t>>();
  std::atomic<int> inserted = 0, inserted_words = 0;
  std::array<std::uint64_t, 4> got{}, got_words{};
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      inserted += ages.find_or_insert("one", t + 1, got[t]) == status::ok;
      inserted_words += words.find_or_insert(9, t + 1, got_words[t]) == status::ok;
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(inserted, 1);
  EXPECT_EQ(inserted_words, 1);
  for (int t = 1; t < 4; ++t) EXPECT_EQ(got[t], got[0]);
  for (int t = 1; t < 4; ++t) EXPECT_EQ(got_words[t], got_words[0]);
  auto users = made<table>();
  std::string value;
  EXPECT_EQ(users.find_or_insert("a", "new", value), status::ok);
  EXPECT_EQ(value, "new");
  EXPECT_EQ(users.find_or_insert("a", "other", value), status::exists);
  EXPECT_EQ(value, "new");
}

TEST(TypedMap, AValueOfAnotherLengthIsAMismatch) {
  scratch_folder folder;
  const std::string path = folder.file("a.dh");
  {
    auto rows = map<std::string, location>::open(path);
    ASSERT_TRUE(rows) << rows.failure().message;
    ASSERT_EQ(rows->put("a", {1, 2}), status::ok);
  }
  auto rows = map<std::string, embedding>::open(path);
  ASSERT_TRUE(rows) << rows.failure().message;
  embedding row{};
  EXPECT_EQ(rows->get("a", row), status::mismatch);
  EXPECT_EQ(rows->get("a"), std::nullopt);
  std::size_t visited = 0;
  EXPECT_EQ(rows->for_each([&](const std::string&, const embedding&) { ++visited; }),
            status::mismatch);
  EXPECT_EQ(visited, 0u);
  auto all = rows->records();
  EXPECT_EQ(std::ranges::distance(all), 0);
  EXPECT_EQ(all.answer(), status::mismatch);
  EXPECT_EQ(rows->close(), status::ok);
  EXPECT_EQ(rows->put("b", row), status::closed);

  auto other = map<std::uint64_t, location>::open(path);
  ASSERT_FALSE(other);
  EXPECT_NE(other.failure().message.find("its key kind is bytes, not u64"), std::string::npos)
      << other.failure().message;
}

}  // namespace
}  // namespace durahash::test
