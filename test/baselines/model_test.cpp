// Every baseline answers as std::unordered_map does.
#include <gtest/gtest.h>

#include <random>
#include <unordered_map>

#include "bench/baselines/registry.hpp"

namespace durahash::baselines {
namespace {

using model = std::unordered_map<std::uint64_t, std::uint64_t>;

std::string text_of(std::string_view name) {
  std::string text(name);
  for (char& c : text)
    if (c == '-') c = '_';
  return text;
}

class Baseline : public ::testing::TestWithParam<std::string_view> {
 protected:
  static std::unique_ptr<table> make(std::uint64_t capacity, std::uint64_t seed,
                                     medium_kind medium = medium_kind::emulated) {
    request wanted;
    wanted.capacity = capacity;
    wanted.seed = seed;
    wanted.medium = medium;
    result<std::unique_ptr<table>> made = baseline_of(GetParam())->make(wanted);
    EXPECT_TRUE(made) << made.failure().message;
    return std::move(*made);
  }
  static void expect_equal(table& t, const model& expected) {
    EXPECT_EQ(t.size(), expected.size());
    model scanned;
    t.scan([&](std::uint64_t key, std::uint64_t value) {
      EXPECT_TRUE(scanned.emplace(key, value).second) << "a scan meets key " << key << " twice";
    });
    EXPECT_EQ(scanned, expected);
    check_report report = t.check();
    EXPECT_TRUE(report.ok) << report.violations.front();
    EXPECT_EQ(report.records, expected.size());
  }
};

TEST_P(Baseline, AnswersAsTheModel) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::unique_ptr<table> t = make(16, seed);
  model expected;
  auto step = [&](std::uint64_t keys) {
    std::uint64_t key = random() % keys, value = random(), found = 0;
    if (key % 7 == 0) key = ~key;  // keys of both ends
    auto present = expected.find(key);
    bool takes = t->takes(key), is_there = present != expected.end();
    switch (random() % 8) {
      case 0:
      case 1:
        if (!takes) EXPECT_EQ(t->insert(key, value), status::invalid_argument);
        else EXPECT_EQ(t->insert(key, value), is_there ? status::exists : status::ok);
        if (takes) expected.emplace(key, value);
        break;
      case 2:
      case 3:
        EXPECT_EQ(t->put(key, value), takes ? status::ok : status::invalid_argument);
        if (takes) expected[key] = value;
        break;
      case 4:
        EXPECT_EQ(t->update(key, value), is_there ? status::ok : status::not_found);
        if (is_there) present->second = value;
        break;
      case 5:
        EXPECT_EQ(t->erase(key), is_there ? status::ok : status::not_found);
        expected.erase(key);
        break;
      default:
        EXPECT_EQ(t->get(key, found), is_there ? status::ok : status::not_found);
        if (is_there) {
          EXPECT_EQ(found, present->second);
        }
    }
  };
  for (int round = 0; round < 4 && !HasFailure(); ++round) {
    for (int i = 0; i < 6000 && !HasFailure(); ++i) step(round % 2 == 0 ? 3000 : 400);
    expect_equal(*t, expected);
    if (!baseline_of(GetParam())->durable) continue;
    EXPECT_EQ(t->recover().code, status::ok);
    expect_equal(*t, expected);
  }
}

TEST_P(Baseline, GrowsKeepsEveryRecordAndTakesTheErasedPlacesAgain) {
  std::unique_ptr<table> t = make(16, 5);
  constexpr std::uint64_t many = 5000;
  model expected;
  for (std::uint64_t k = 1; k <= many; ++k) {
    ASSERT_EQ(t->insert(k, k * 3), status::ok) << k;
    expected[k] = k * 3;
    ASSERT_LE(t->size(), t->slots());
  }
  expect_equal(*t, expected);
  std::uint64_t slots = t->slots();
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t k = 1; k <= many; ++k) ASSERT_EQ(t->erase(k), status::ok) << k;
    expect_equal(*t, {});
    for (std::uint64_t k = 1; k <= many; ++k) ASSERT_EQ(t->insert(k, k * 3), status::ok) << k;
  }
  expect_equal(*t, expected);
  EXPECT_LE(t->slots(), slots * 2) << "what is erased and put again makes no table grow for ever";
}

TEST_P(Baseline, WorksOnEachMediumAndCountsOnOne) {
  for (medium_kind medium : {medium_kind::memory, medium_kind::pmem, medium_kind::emulated}) {
    std::unique_ptr<table> t = make(64, 9, medium);
    for (std::uint64_t k = 1; k <= 500; ++k) ASSERT_EQ(t->put(k, ~k), status::ok);
    std::uint64_t found = 0;
    for (std::uint64_t k = 1; k <= 500; ++k) {
      ASSERT_EQ(t->get(k, found), status::ok);
      ASSERT_EQ(found, ~k);
    }
    EXPECT_EQ(t->get(501, found), status::not_found);
    bool counts = medium == medium_kind::emulated && baseline_of(GetParam())->durable;
    EXPECT_EQ(t->counts().flushes != 0, counts);
    EXPECT_EQ(t->counts().fences != 0, counts);
  }
}

TEST_P(Baseline, RefusesWhatItCannotDoWithASentence) {
  request wanted;
  wanted.medium = medium_kind::file;
  result<std::unique_ptr<table>> made = baseline_of(GetParam())->make(wanted);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.failure().message, "a baseline lies on the medium memory, pmem or emulated");
  wanted.medium = medium_kind::memory;
  wanted.capacity = 0;
  EXPECT_FALSE(baseline_of(GetParam())->make(wanted));
}

TEST_P(Baseline, IsFullWhereItsMemoryEndsAndLosesNothing) {
  if (!baseline_of(GetParam())->durable) return;  // its memory is the process's
  request wanted;
  wanted.capacity = 16;
  wanted.max_bytes = 64 << 10;
  std::unique_ptr<table> t = std::move(*baseline_of(GetParam())->make(wanted));
  std::uint64_t k = 1;
  status s = status::ok;
  for (; k < 10'000 && (s = t->insert(k, k)) == status::ok; ++k) {}
  EXPECT_EQ(s, status::no_space);
  EXPECT_EQ(t->size(), k - 1);
  std::uint64_t found = 0;
  for (std::uint64_t i = 1; i < k; ++i) ASSERT_EQ(t->get(i, found), status::ok) << i;
  EXPECT_EQ(t->get(k, found), status::not_found);
  EXPECT_EQ(t->erase(1), status::ok);
}

INSTANTIATE_TEST_SUITE_P(All, Baseline, ::testing::ValuesIn([] {
                           std::vector<std::string_view> names;
                           for (const baseline& b : all_baselines()) names.push_back(b.name);
                           return names;
                         }()),
                         [](const ::testing::TestParamInfo<std::string_view>& made) {
                           return text_of(made.param);
                         });

TEST(BaselineRegistry, TellsOfEachWhatItIs) {
  for (const baseline& b : all_baselines()) {
    EXPECT_EQ(baseline_of(b.name), &b);
    for (std::string_view said : {b.title, b.paper, b.compared_in, b.growth, b.limits})
      EXPECT_FALSE(said.empty()) << b.name;
    EXPECT_EQ(b.holes.empty(), !b.durable) << b.name;
    for (const hole& h : b.holes) {
      EXPECT_TRUE(h.name.starts_with(std::string(b.name) + ".")) << h.name;
      for (std::string_view said : {h.source, h.what, h.mended_with})
        EXPECT_FALSE(said.empty()) << h.name;
    }
  }
  EXPECT_EQ(baseline_of("turbo"), nullptr);
}

}  // namespace
}  // namespace durahash::baselines
