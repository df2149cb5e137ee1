// What map<K, V> adds to the contract: its types.
#include "durahash/map.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "conformance.hpp"
#include "scratch.hpp"

namespace durahash::test {
namespace {

struct point {
  std::int16_t x, y;
  std::uint32_t colour;
  bool operator==(const point&) const = default;
};
struct padded {
  char c;
  std::int32_t i;
};
struct long_one {
  std::uint64_t a, b;
};
enum class fruit : std::uint8_t { apple = 1, pear = 200 };
using four_letters = std::array<char, 4>;

static_assert(word_sized<std::uint64_t> && word_sized<std::int8_t> && word_sized<fruit> &&
              word_sized<point>);
static_assert(word_sized<double> && word_sized<float> && word_sized<four_letters> &&
              word_sized<bool>);
static_assert(!word_sized<padded>, "equal values could differ in their padding");
static_assert(!word_sized<long_one> && !word_sized<std::string> && !word_sized<int*> &&
              !word_sized<const char*>);

options in_memory() {
  options how;
  how.medium = medium_kind::memory;
  return how;
}

/// Opens a map in memory; what K and V it has is all that differs between the tests.
template <class K, class V>
map<K, V> fresh_map() {
  auto opened = map<K, V>::open("", in_memory());
  if (!opened) throw std::runtime_error(opened.failure().message);
  return std::move(*opened);
}

TEST(Map, SmallTypesKeepTheirValues) {
  auto fruits = fresh_map<fruit, std::int8_t>();
  EXPECT_EQ(fruits.put(fruit::apple, -1), status::ok);
  EXPECT_EQ(fruits.put(fruit::pear, 127), status::ok);
  EXPECT_EQ(fruits.get(fruit::apple), std::int8_t{-1});
  EXPECT_EQ(fruits.get(fruit::pear), std::int8_t{127});
  EXPECT_EQ(fruits.get(fruit{2}), std::nullopt);

  auto flags = fresh_map<bool, bool>();
  EXPECT_EQ(flags.insert(false, true), status::ok);
  EXPECT_EQ(flags.insert(false, false), status::exists);
  EXPECT_EQ(flags.get(false), true);
  EXPECT_FALSE(flags.contains(true));
}

TEST(Map, StructuresOfUpToEightBytesAreKeysAndValues) {
  auto points = fresh_map<point, four_letters>();
  EXPECT_EQ(points.put({-1, 1, 7}, {'l', 'e', 'f', 't'}), status::ok);
  EXPECT_EQ(points.put({1, -1, 7}, {'r', 'i', 'g', 't'}), status::ok);
  EXPECT_EQ(points.get({-1, 1, 7}), (four_letters{'l', 'e', 'f', 't'}));
  EXPECT_EQ(points.get({1, -1, 7}), (four_letters{'r', 'i', 'g', 't'}));
  EXPECT_FALSE(points.contains({1, 1, 7}));
  EXPECT_EQ(points.compare_and_set({1, -1, 7}, {'r', 'i', 'g', 't'}, {'d', 'o', 'w', 'n'}),
            status::ok);
  EXPECT_EQ(points.compare_and_set({1, -1, 7}, {'r', 'i', 'g', 't'}, {'d', 'o', 'w', 'n'}),
            status::mismatch);
}

TEST(Map, FloatingPointKeysAreComparedByTheirBits) {
  auto numbers = fresh_map<double, double>();
  double nan = std::numeric_limits<double>::quiet_NaN(),
         infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(numbers.put(0.0, 1), status::ok);
  EXPECT_FALSE(numbers.contains(-0.0)) << "-0.0 has other bits than 0.0";
  EXPECT_EQ(numbers.put(-0.0, 2), status::ok);
  EXPECT_EQ(numbers.put(nan, 3), status::ok);
  EXPECT_EQ(numbers.put(infinity, nan), status::ok);
  EXPECT_EQ(numbers.get(0.0), 1);
  EXPECT_EQ(numbers.get(-0.0), 2);
  EXPECT_EQ(numbers.get(nan), 3) << "NaN is a key like any other";
  EXPECT_TRUE(std::isnan(numbers.get(infinity).value_or(0)));
  EXPECT_EQ(numbers.size(), 4u);
}

TEST(Map, SignedCountersFetchAdd) {
  auto counters = fresh_map<std::int32_t, std::int64_t>();
  std::int64_t previous = 99;
  EXPECT_EQ(counters.fetch_add(-5, -3, previous), status::ok);
  EXPECT_EQ(previous, 0);
  EXPECT_EQ(counters.fetch_add(-5, 1, previous), status::ok);
  EXPECT_EQ(previous, -3);
  EXPECT_EQ(counters.get(-5), -2);
}

TEST(Map, ScanGivesTheTypesBack) {
  auto points = fresh_map<point, float>();
  for (std::int16_t i = 0; i < 300; ++i)
    ASSERT_EQ(points.put({i, static_cast<std::int16_t>(-i), 1}, i / 2.0f), status::ok);
  int visited = 0;
  EXPECT_EQ(points.for_each([&](const point& key, const float& value) {
    ++visited;
    EXPECT_EQ(key.y, -key.x);
    EXPECT_EQ(value, static_cast<float>(key.x) / 2.0f);
  }),
            status::ok);
  EXPECT_EQ(visited, 300);
}

TEST(Map, AnswersOfAnotherLengthThanTheKeysAreAllInvalid) {
  auto words = fresh_map<std::uint64_t, std::uint64_t>();
  std::array<std::uint64_t, 2> two{1, 2};
  std::array<status, 3> three{};
  words.put_many(two, two, three);
  EXPECT_EQ(three, (std::array{status::invalid_argument, status::invalid_argument,
                               status::invalid_argument}));
  three = {};
  words.erase_many(two, three);
  EXPECT_EQ(three, (std::array{status::invalid_argument, status::invalid_argument,
                               status::invalid_argument}));
  EXPECT_EQ(words.size(), 0u);
}

TEST(Map, ReopensWithOtherTypesOfTheSameBytes) {
  // The pool knows words; what they mean is the program's affair.
  scratch_folder folder;
  {
    auto written = map<std::uint32_t, float>::open(folder.file("pool"));
    ASSERT_TRUE(written) << written.failure().message;
    ASSERT_EQ(written->put(7, 1.0f), status::ok);
  }
  auto read = map<std::uint64_t, std::uint32_t>::open(folder.file("pool"));
  ASSERT_TRUE(read) << read.failure().message;
  EXPECT_EQ(read->get(7), 0x3f800000u);
}

TEST(Map, DefaultsAreTurboWordsAndProcessDurability) {
  scratch_folder folder;
  auto opened = map<std::uint64_t, std::uint64_t>::open(folder.file("pool"));
  ASSERT_TRUE(opened) << opened.failure().message;
  pool_info info = opened->info();
  EXPECT_EQ(info.engine, engine_kind::turbo);
  EXPECT_EQ(info.key, data_kind::u64);
  EXPECT_EQ(info.value, data_kind::u64);
  EXPECT_EQ(info.durability, durability_level::process);
  EXPECT_EQ(info.medium, medium_kind::file);
}

TEST(Table, DefaultsAreTurboBytesAndProcessDurability) {
  scratch_folder folder;
  auto opened = table::open(folder.file("pool"));
  ASSERT_TRUE(opened) << opened.failure().message;
  pool_info info = opened->info();
  EXPECT_EQ(info.engine, engine_kind::turbo);
  EXPECT_EQ(info.key, data_kind::bytes);
  EXPECT_EQ(info.value, data_kind::bytes);
  EXPECT_EQ(info.durability, durability_level::process);
  EXPECT_EQ(info.medium, medium_kind::file);
}

TEST(Table, TheEmulatedMediumDefaultsToPowerDurability) {
  scratch_folder folder;
  options emulated;
  emulated.medium = medium_kind::emulated;
  auto opened = table::open(folder.file("pool"), emulated);
#ifdef DURAHASH_SANITIZED  // this program does without it (test/store/setup.cpp)
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.failure().message.find("emulated"), std::string::npos);
#else
  ASSERT_TRUE(opened) << opened.failure().message;
  EXPECT_EQ(opened->info().durability, durability_level::power);
#endif
}

TEST(Table, ReadGivesTheValueWhereItLies) {
  options how = in_memory();
  auto opened = table::open("", how);
  ASSERT_TRUE(opened) << opened.failure().message;
  ASSERT_EQ(opened->put("key", "value"), status::ok);
  std::string seen;
  EXPECT_EQ(opened->read("key", [&](std::string_view value) { seen = value; }), status::ok);
  EXPECT_EQ(seen, "value");
  bool called = false;
  EXPECT_EQ(opened->read("absent", [&](std::string_view) { called = true; }), status::not_found);
  EXPECT_FALSE(called);
}

TEST(Names, EveryKindIsNamedAndFoundByItsName) {
  for (engine_kind kind : all_engines()) EXPECT_EQ(engine_named(name_of(kind)), kind);
  for (data_kind kind : {data_kind::u64, data_kind::bytes})
    EXPECT_EQ(data_kind_named(name_of(kind)), kind);
  for (durability_level level : {durability_level::none, durability_level::process,
                                 durability_level::power, durability_level::power_buffered})
    EXPECT_EQ(durability_named(name_of(level)), level);
  for (medium_kind kind : {medium_kind::memory, medium_kind::file, medium_kind::pmem,
                           medium_kind::emulated, medium_kind::disk})
    EXPECT_EQ(medium_named(name_of(kind)), kind);
  EXPECT_EQ(engine_named("turbos"), std::nullopt);
  EXPECT_EQ(data_kind_named(""), std::nullopt);
  EXPECT_EQ(durability_named("PROCESS"), std::nullopt);
  EXPECT_EQ(medium_named("tape"), std::nullopt);
}

TEST(Names, EveryStatusHasASentenceOfItsOwn) {
  std::map<std::string_view, int> sentences;
  for (int code = 0; code <= static_cast<int>(status::damaged); ++code)
    ++sentences[message(static_cast<status>(code))];
  EXPECT_EQ(sentences.size(), static_cast<std::size_t>(status::damaged) + 1);
  EXPECT_FALSE(sentences.contains(""));
  EXPECT_FALSE(message(static_cast<status>(250)).empty()) << "a code of a later version";
}

TEST(Media, PmemIsCoveredWhereDurahashPmemDirNamesADaxFolder) {
  if (pmem_folder().empty())
    GTEST_SKIP() << "DURAHASH_PMEM_DIR is not set, so no suite runs on persistent memory; set it "
                    "to a folder of a file system mounted with -o dax";
  auto all = setups_where([](const setup& s) { return s.place == place_kind::pmem; });
  EXPECT_GE(all.size(), 5u);
}

}  // namespace
}  // namespace durahash::test
