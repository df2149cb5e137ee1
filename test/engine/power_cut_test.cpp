// After every operation the power goes, and only what was flushed and fenced is there: each
// operation that returned must be. In phases in which the table grows and phases in which it
// empties. One half of the model (the minimal image); the other images are the explorer's. What is
// there within operations of Level hashing: level_step_cut_test.cpp.
#include <gtest/gtest.h>

#include <random>

#include "test/engine/engine_rig.hpp"

namespace durahash::test {
namespace power_cut {

constexpr std::uint64_t seed = 20261120;

/// An engine, the tables of it that are tried, and what must have happened in them for the test to
/// be one.
struct turbo_cuts {
  using engine = turbo_engine;
  static std::vector<std::map<std::string, std::uint64_t>> settings() { return {{{"shards", 4}}}; }
  static std::vector<std::string> happens() { return {"resizes"}; }
};
struct cceh_cuts {
  using engine = cceh_engine;
  static std::vector<std::map<std::string, std::uint64_t>> settings() {
    return {{{"segment", 3}, {"probe", 2}, {"copy_on_write", 0}},
            {{"segment", 3}, {"probe", 2}, {"copy_on_write", 1}}};
  }
  static std::vector<std::string> happens() {
    return {"splits", "merges", "doublings", "halvings"};
  }
};
struct level_cuts {
  using engine = level_engine;
  static std::vector<std::map<std::string, std::uint64_t>> settings() {
    std::vector<std::map<std::string, std::uint64_t>> all;
    for (std::uint64_t slots : {1, 2, 4, 7})
      for (std::uint64_t in_place : {0, 1})
        all.push_back({{"slots", slots}, {"in_place", in_place}, {"dynamic", in_place}});
    return all;
  }
  static std::vector<std::string> happens() { return {"expansions", "shrinks", "movements"}; }
};

struct gphash_cuts {
  using engine = gphash_engine;
  static std::vector<std::map<std::string, std::uint64_t>> settings() {
    return {{{"levels", 1}, {"hashes", 1}, {"slots", 2}},
            {{"levels", 2}, {"hashes", 2}, {"slots", 4}},
            {{"levels", 4}, {"hashes", 4}, {"slots", 2}},
            {}};
  }
  static std::vector<std::string> happens() { return {"resizes", "rehashed"}; }
};

/// Random operations, with a power cut looked at after each of them. Returns the first
/// disagreement, or nothing.
template <class Kind, class Engine>
std::string power_cuts(const options& how, int operations, int forget_every,
                       std::map<std::string, double>* seen = nullptr) {
  constexpr int phase = 250;
  constexpr std::uint64_t max_keys = 200;
  auto r = make_rig<probing_medium, Kind, Engine>(how);
  r->m->forget_every = forget_every;
  model wanted;
  std::mt19937_64 random(seed);
  auto present = [&] {
    auto next = wanted.lower_bound(random() % (2 * max_keys));
    return next == wanted.end() ? wanted.begin()->first : next->first;
  };
  for (int n = 0; n < operations; ++n) {
    std::uint64_t key = random() % max_keys, value = random() % 1000;
    auto what = random() % 16;
    bool empties = n / phase % 2 == 1;
    if (n % 500 == 499) {
      r->t->compact();
    } else if (empties && what < 14 && wanted.size() > 3) {
      erase(*r, key = present()), wanted.erase(key);
    } else if (what == 15) {
      auto first = item<Kind>(key), second = item<Kind>(key + max_keys),
           text = value_of<Kind>(value);
      typename Kind::key_type keys[] = {first, second};
      typename Kind::value_type values[] = {text, text};
      status answers[2];
      r->t->put_many(keys, values, answers);
      wanted[key] = wanted[key + max_keys] = value;
    } else {
      put(*r, key, value), wanted[key] = value;
    }
    std::string where = " after operation " + std::to_string(n) + ", seed " + std::to_string(seed);
    auto found = after_power_cut<probing_medium, Kind, Engine>(r->m->image());
    if (!found) return "the pool does not open" + where;
    if (std::string d = difference(*found, wanted); !d.empty()) return d + where;
  }
  if (seen != nullptr) *seen = figures(*r);
  return {};
}

template <class Cuts>
class PowerCut : public testing::Test {
 protected:
  template <class Body>
  void with_each_setting(Body body) {
    for (auto& settings : Cuts::settings()) {
      options how;
      how.settings = settings;
      std::string text;
      for (auto& [name, value] : settings) text += name + "=" + std::to_string(value) + " ";
      SCOPED_TRACE(text);
      body(how);
    }
  }
  template <class Kind>
  void keep_what_was_acknowledged() {
    with_each_setting([](const options& how) {
      std::map<std::string, double> seen;
      EXPECT_EQ((power_cuts<Kind, typename Cuts::engine>(how, 1000, 0, &seen)), "");
      for (auto& what : Cuts::happens()) EXPECT_GT(seen[what], 0) << what;
    });
  }
};
struct names {
  template <class Cuts>
  static std::string GetName(int) {
    return std::string(name_of(Cuts::engine::which));
  }
};
using engines = testing::Types<turbo_cuts, cceh_cuts, level_cuts, gphash_cuts>;
TYPED_TEST_SUITE(PowerCut, engines, names);

TYPED_TEST(PowerCut, KeepsEveryWordThatWasAcknowledged) {
  this->template keep_what_was_acknowledged<word_records>();
}
TYPED_TEST(PowerCut, KeepsEveryRecordThatWasAcknowledged) {
  this->template keep_what_was_acknowledged<byte_records>();
}

template <class Kind, class Cuts>
void expect_forgotten_flushes_noticed(const options& how) {
  for (int every : {2, 3, 5, 11})
    EXPECT_NE((power_cuts<Kind, typename Cuts::engine>(how, 400, every)), "")
        << "each " << every << "th flush forgotten, and nobody noticed";
}
TYPED_TEST(PowerCut, IsNoticedWhenFlushesAreForgotten) {
  this->with_each_setting([](const options& how) {
    expect_forgotten_flushes_noticed<word_records, TypeParam>(how);
    expect_forgotten_flushes_noticed<byte_records, TypeParam>(how);
  });
}

/// GPHash has keys in its slots, too: in the states' line, and in lines of their own.
using PowerCutOfKeysInSlots = PowerCut<gphash_cuts>;
TEST_F(PowerCutOfKeysInSlots, KeepsEveryRecordThatWasAcknowledged) {
  keep_what_was_acknowledged<fixed_keys<32>>();
}
TEST_F(PowerCutOfKeysInSlots, IsNoticedWhenFlushesAreForgotten) {
  with_each_setting([](const options& how) {
    expect_forgotten_flushes_noticed<fixed_keys<32>, gphash_cuts>(how);
  });
}

}  // namespace power_cut
}  // namespace durahash::test
