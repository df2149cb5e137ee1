// After every operation the power goes, and only what was flushed and fenced is there: each operation that returned must be. In phases in which the table
// grows, level by level, and phases in which it empties. What is there within operations: level_step_cut_test.cpp.
#include <gtest/gtest.h>

#include <random>

#include "test/table/level_rig.hpp"

namespace durahash::test {
namespace {

constexpr std::uint64_t seed = 20261120;

/// Random operations, phases in which the table grows and phases in which it empties, with a power cut looked at after each of them. Returns the first
/// disagreement, or nothing.
template <class Kind>
std::string power_cuts(const options& how, int operations, int forget_every, std::map<std::string, double>* seen = nullptr) {
  constexpr int phase = 250;
  constexpr std::uint64_t most_keys = 200;
  auto r = make_level<probing_medium, Kind>(how);
  r->m->forget_every = forget_every;
  model wanted;
  std::mt19937_64 random(seed);
  auto present = [&] {
    auto next = wanted.lower_bound(random() % (2 * most_keys));
    return next == wanted.end() ? wanted.begin()->first : next->first;
  };
  for (int n = 0; n < operations; ++n) {
    std::uint64_t key = random() % most_keys, value = random() % 1000;
    auto what = random() % 16;
    bool empties = n / phase % 2 == 1;
    if (n % 500 == 499) {
      r->t->compact();
    } else if (empties && what < 14 && wanted.size() > 3) {
      erase(*r, key = present()), wanted.erase(key);
    } else if (what == 15) {
      auto first = item<Kind>(key), second = item<Kind>(key + most_keys), text = value_of<Kind>(value);
      typename Kind::key_type keys[] = {first, second};
      typename Kind::value_type values[] = {text, text};
      status answers[2];
      r->t->put_many(keys, values, answers);
      wanted[key] = wanted[key + most_keys] = value;
    } else {
      put(*r, key, value), wanted[key] = value;
    }
    std::string where = " after operation " + std::to_string(n) + ", seed " + std::to_string(seed);
    auto found = after_power_cut<probing_medium, Kind, level_engine>(r->m->image());
    if (!found) return "the pool does not open" + where;
    if (std::string d = difference(*found, wanted); !d.empty()) return d + where;
  }
  if (seen != nullptr) *seen = figures(*r);
  return {};
}

template <class Kind>
void keep_what_was_acknowledged() {
  for (std::uint64_t slots : {1, 2, 4, 7})
    for (std::uint64_t in_place : {0, 1}) {
      SCOPED_TRACE("slots=" + std::to_string(slots) + ", in_place=" + std::to_string(in_place));
      std::map<std::string, double> seen;
      EXPECT_EQ(power_cuts<Kind>(level_of(slots, {{"in_place", in_place}, {"dynamic", in_place}}), 1000, 0, &seen), "");
      EXPECT_GE(seen["expansions"], 4);
      EXPECT_GT(seen["shrinks"], 0);
      EXPECT_GT(seen["movements"], 0);
    }
}
TEST(LevelPowerCut, KeepsEveryWordThatWasAcknowledged) { keep_what_was_acknowledged<word_records>(); }
TEST(LevelPowerCut, KeepsEveryRecordThatWasAcknowledged) { keep_what_was_acknowledged<byte_records>(); }

TEST(LevelPowerCut, IsNoticedWhenFlushesAreForgotten) {
  for (std::uint64_t in_place : {0, 1})
    for (int every : {2, 3, 5, 11}) {
      options how = level_of(4, {{"in_place", in_place}});
      EXPECT_NE(power_cuts<word_records>(how, 400, every), "") << "each " << every << "th flush forgotten, and nobody noticed";
      EXPECT_NE(power_cuts<byte_records>(how, 400, every), "") << "each " << every << "th flush forgotten, and nobody noticed";
    }
}

}  // namespace
}  // namespace durahash::test
