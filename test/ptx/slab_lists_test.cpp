// Slab lists, which GPHash's kernels are compared with: right against a model, in strong and in
// weak order, and whole when they are killed.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "test/ptx/slab_rig.hpp"

namespace durahash::ptx {
namespace {

using baselines::slab_lists;
using baselines::slab_operation;
using model = std::map<std::uint32_t, std::uint32_t>;

constexpr std::uint32_t buckets = 6, capacity = 200, key_range = 300;
constexpr std::size_t most = 150;

std::vector<std::uint32_t> different_keys(std::mt19937_64& random) {
  std::set<std::uint32_t> chosen;
  for (std::size_t n = 1 + random() % most; n > 0; --n)
    chosen.insert(static_cast<std::uint32_t>(random() % key_range));
  std::vector<std::uint32_t> keys(chosen.begin(), chosen.end());
  std::shuffle(keys.begin(), keys.end(), random);
  return keys;
}
slab_operation one_of(std::mt19937_64& random) {
  return std::array{slab_operation::find, slab_operation::insert, slab_operation::insert,
                    slab_operation::update, slab_operation::erase}[random() % 5];
}

/// What a batch of different keys makes of the model.
model behind(model before, slab_operation what, const std::vector<std::uint32_t>& keys,
             std::uint32_t value) {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::uint32_t given = value + static_cast<std::uint32_t>(i);
    if (what == slab_operation::insert) before.emplace(keys[i], given);
    if (what == slab_operation::update && before.contains(keys[i])) before[keys[i]] = given;
    if (what == slab_operation::erase) before.erase(keys[i]);
  }
  return before;
}

void expect_answers(const slab_rig& rig, slab_operation what, std::size_t n, const model& before) {
  for (std::size_t i = 0; i < n; ++i) {
    auto known = before.find(rig.keys[i]);
    const bool there = known != before.end(), inserts = what == slab_operation::insert;
    ASSERT_EQ(rig.answers[i], !there    ? (inserts ? status::ok : status::not_found)
                              : inserts ? status::exists
                                        : status::ok);
    if (there && what == slab_operation::find) {
      ASSERT_EQ(rig.values[i], known->second);
    }
  }
}
void expect_content(const slab_lists& lists, const model& expected) {
  std::uint32_t value = 0;
  for (std::uint32_t key = 0; key < key_range; ++key) {
    auto known = expected.find(key);
    ASSERT_EQ(find_in_slab_lists(lists, key, value), known != expected.end()) << key;
    if (known != expected.end()) {
      ASSERT_EQ(value, known->second) << key;
    }
  }
}

/// What the host might find there of stores that are under way.
void see_as_the_host(const slab_lists& lists, std::vector<std::uint64_t>& slabs,
                     std::vector<std::uint64_t>& log) {
  auto range = [](const std::uint64_t* from, std::size_t words) {
    const auto first = reinterpret_cast<std::uint64_t>(from);
    return std::pair{first, first + 8 * words};
  };
  const auto in_slabs = range(lists.slabs, slabs.size()), in_log = range(lists.log, log.size());
  for (const auto& w : device::the_one().weak().as_the_host_may_find({in_slabs, in_log})) {
    const bool of_log = w.address >= in_log.first && w.address < in_log.second;
    ASSERT_EQ(w.bytes, 8u);
    (of_log ? log : slabs)[(w.address - (of_log ? in_log : in_slabs).first) / 8] = w.value;
  }
}

class PtxSlabLists : public ::testing::TestWithParam<bool> {};

TEST_P(PtxSlabLists, AnswerAsTheModel) {
  for (bool logs : {false, true})
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      std::mt19937_64 random(seed);
      slab_rig rig({.seed = seed, .weak = GetParam()}, buckets, capacity, logs, most);
      model expected;
      for (std::uint32_t round = 0; round < 20; ++round) {
        const std::vector<std::uint32_t> keys = different_keys(random);
        const slab_operation what = one_of(random);
        rig.run(what, keys, 1000 * round);
        ASSERT_NO_FATAL_FAILURE(expect_answers(rig, what, keys.size(), expected));
        expected = behind(expected, what, keys, 1000 * round);
        ASSERT_NO_FATAL_FAILURE(expect_content(rig.lists, expected));
      }
      EXPECT_GT(rig.slabs_in_use(), buckets);
    }
}

TEST_P(PtxSlabLists, HaveAKeyOnceThatIsInsertedManyTimesAtOnce) {
  slab_rig rig({.seed = 7, .weak = GetParam()}, 2, capacity, true, most);
  std::vector<std::uint32_t> keys;
  for (std::uint32_t i = 0; i < most; ++i) keys.push_back(i % 50);
  rig.run(slab_operation::insert, keys, 1);
  EXPECT_EQ(std::count(rig.answers, rig.answers + most, status::ok), 50);
  EXPECT_EQ(std::count(rig.answers, rig.answers + most, status::exists),
            static_cast<long>(most) - 50);
  rig.run(slab_operation::erase, {keys.begin(), keys.begin() + 50}, 0);
  expect_content(rig.lists, {});
}

TEST_P(PtxSlabLists, SayWhereTheyAreFull) {
  slab_rig rig({.seed = 3, .weak = GetParam()}, 2, 4, false, most);
  std::vector<std::uint32_t> keys;
  for (std::uint32_t i = 0; i < most; ++i) keys.push_back(i);
  rig.run(slab_operation::insert, keys, 1);
  EXPECT_EQ(std::count(rig.answers, rig.answers + most, status::no_space),
            static_cast<long>(most - 4 * slab_lists::pairs));
}

/// The bytes as they are at some instruction: what was there before the batch is there, and each
/// operation of it whole or not at all.
TEST_P(PtxSlabLists, KilledAtAnyInstructionAreWhole) {
  std::mt19937_64 random(11);
  unsigned images = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    slab_rig rig({.seed = seed, .weak = GetParam()}, buckets, capacity, true, most);
    model before, after;
    std::vector<std::uint64_t> slabs(std::size_t{capacity} * slab_lists::words_per_slab),
        log(2 * slab_rig::warps);
    device& d = device::the_one();
    auto look = [&] {
      std::copy_n(rig.lists.slabs, slabs.size(), slabs.begin());
      std::copy_n(rig.lists.log, log.size(), log.begin());
      if (GetParam()) see_as_the_host(rig.lists, slabs, log);
      slab_lists left = rig.lists;
      left.slabs = slabs.data(), left.log = log.data();
      recover_slab_lists(left, slab_rig::warps);
      ++images;
      for (std::uint32_t key = 0; key < key_range; ++key) {
        std::uint32_t value = 0;
        const bool there = find_in_slab_lists(left, key, value);
        auto is = [&](const model& m) {
          auto known = m.find(key);
          return known == m.end() ? !there : there && value == known->second;
        };
        EXPECT_TRUE(is(before) || is(after)) << "key " << key << ", seed " << seed;
      }
      return d.instructions() + 1 + random() % 1500;
    };
    d.at_instruction(d.instructions() + 1, look);
    for (std::uint32_t round = 0; round < 10 && !HasFailure(); ++round) {
      const std::vector<std::uint32_t> keys = different_keys(random);
      const slab_operation what = one_of(random);
      before = after, after = behind(before, what, keys, 1000 * round);
      rig.run(what, keys, 1000 * round);
    }
    d.at_instruction(~std::uint64_t{0}, [] { return ~std::uint64_t{0}; });
  }
  std::printf("%u images\n", images);
  EXPECT_GT(images, 50u);
}

/// Of longer keys: keys that differ in their last word alone, too.
TEST_P(PtxSlabLists, FindRecordsByTheirWholeKeys) {
  constexpr std::uint32_t records = 100, value_words = 16;
  for (std::uint32_t key_words : {1u, 3u, 16u}) {
    SCOPED_TRACE(key_words);
    slab_record_rig rig({.seed = 5, .weak = GetParam()}, 3, 20, key_words, value_words,
                        2 * records);
    auto set_key = [&](std::uint64_t* key, std::uint32_t number) {
      std::fill_n(key, key_words, 9), key[key_words - 1] = number;
    };
    for (std::uint32_t i = 0; i < records; ++i) {
      set_key(rig.all.record(i), i);
      for (std::uint32_t w = 0; w < value_words; ++w)
        rig.all.record(i)[key_words + w] = 100 * i + w;
      rig.add(i);
    }
    for (std::uint32_t i = 0; i < 2 * records; ++i) set_key(rig.keys + i * key_words, i);
    std::fill_n(rig.values, 2 * records * value_words, 77);
    rig.find(2 * records);
    for (std::uint32_t i = 0; i < 2 * records; ++i) {
      ASSERT_EQ(rig.answers[i], i < records ? status::ok : status::not_found) << i;
      for (std::uint32_t w = 0; w < value_words; ++w)
        ASSERT_EQ(rig.values[i * value_words + w], i < records ? 100 * i + w : 77) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Order, PtxSlabLists, ::testing::Bool(),
                         [](const auto& weak) { return weak.param ? "weak" : "strong"; });

}  // namespace
}  // namespace durahash::ptx
