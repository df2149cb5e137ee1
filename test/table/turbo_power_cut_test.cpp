// After every operation the power goes, and only what was flushed and fenced is there: each operation that returned must be. One half of the model (the
// minimal image); the other images are the explorer's.
#include <gtest/gtest.h>

#include <random>
#include <unordered_map>

#include "test/table/probing_medium.hpp"

namespace durahash::test {
namespace {

constexpr std::uint64_t seed = 20261120;

options small_shards() {
  options how;
  how.settings = {{"shards", 4}};
  return how;
}

template <class Kind>
auto key_of(std::uint64_t n) {
  if constexpr (Kind::in_slot)
    return n;
  else
    return "key " + std::to_string(n);
}
template <class Kind>
auto value_of(std::uint64_t n) {
  if constexpr (Kind::in_slot)
    return n;
  else
    return std::string(n % 200, static_cast<char>('a' + n % 26));
}

/// Random operations, with a power cut looked at after each of them. Returns the first disagreement, or nothing.
template <class Kind>
std::string power_cuts(int operations, int forget_every) {
  auto r = make_rig<probing_medium, Kind>(small_shards());
  r->m->forget_every = forget_every;
  std::unordered_map<std::uint64_t, std::uint64_t> model;
  std::mt19937_64 random(seed);
  for (int n = 0; n < operations; ++n) {
    std::uint64_t key = random() % 150, value = random() % 1000;
    auto key_text = key_of<Kind>(key);
    auto value_text = value_of<Kind>(value);
    switch (random() % 8) {
      case 0: r->erase(key_text); model.erase(key); break;
      case 1: if (n % 16 == 1) r->t->compact(); break;
      case 2: {
        using key_type = typename Kind::key_type;
        using value_type = typename Kind::value_type;
        auto second_key = key_of<Kind>(key + 1000);
        key_type keys[] = {key_text, second_key};
        value_type values[] = {value_text, value_text};
        status answers[2];
        r->t->put_many(keys, values, answers);
        model[key] = model[key + 1000] = value;
        break;
      }
      default: r->put(key_text, value_text); model[key] = value;
    }
    auto found = after_power_cut<probing_medium, Kind>(r->m->image());
    std::string where = " after operation " + std::to_string(n) + ", seed " + std::to_string(seed);
    if (!found) return "the pool does not open" + where;
    if (found->t->size() != model.size()) return "it has " + std::to_string(found->t->size()) + " records, not " + std::to_string(model.size()) + where;
    for (auto [k, v] : model)
      if (found->get(key_of<Kind>(k)) != value_of<Kind>(v)) return "key " + std::to_string(k) + " is lost or stale" + where;
    check_report report;
    found->t->check(report);
    if (!report.ok) return report.violations.front() + where;
  }
  return {};
}

TEST(TurboPowerCut, KeepsEveryWordThatWasAcknowledged) { EXPECT_EQ(power_cuts<word_records>(1500, 0), ""); }
TEST(TurboPowerCut, KeepsEveryRecordThatWasAcknowledged) { EXPECT_EQ(power_cuts<byte_records>(1500, 0), ""); }

TEST(TurboPowerCut, IsNoticedWhenFlushesAreForgotten) {
  for (int every : {2, 3, 5, 11}) {
    EXPECT_NE(power_cuts<word_records>(400, every), "") << "each " << every << "th flush forgotten, and nobody noticed";
    EXPECT_NE(power_cuts<byte_records>(400, every), "") << "each " << every << "th flush forgotten, and nobody noticed";
  }
}

}  // namespace
}  // namespace durahash::test
