// A table of CCEH in which records come and go, as many as before: it stays as it was. Nothing here
// depends on time. docs/lab/performance.md quotes what this prints.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <random>

#include "test/engine/engine_rig.hpp"

namespace durahash::test {
namespace cceh_churn {

struct state_of_table {
  double load_factor = 0, bytes_of_a_record = 0, miss = 0;
};
template <class Rig>
state_of_table state_of(Rig& r) {
  auto size = static_cast<double>(r.t->size());
  return {size / static_cast<double>(r.t->slots()), static_cast<double>(r.t->live_bytes()) / size,
          figures(r)["negative_probe_mean"]};
}

template <class Rig>
struct keys_that_come_and_go {
  Rig& r;
  std::mt19937_64 random;
  std::vector<std::uint64_t> keys;

  keys_that_come_and_go(Rig& rig, std::uint64_t records) : r(rig), random(records), keys(records) {
    for (std::uint64_t& key : keys) EXPECT_EQ(put_short(r, key = random()), status::ok);
  }
  /// As many are replaced as there are.
  void turn_over() {
    for (std::size_t n = 0; n < keys.size(); ++n) {
      std::uint64_t& key = keys[random() % keys.size()];
      EXPECT_EQ(erase(r, key), status::ok);
      EXPECT_EQ(put_short(r, key = random()), status::ok);
    }
  }
  void verify() {
    check_report report;
    r.t->check(report);
    EXPECT_TRUE(report.ok) << report.violations.front();
    EXPECT_EQ(r.t->size(), keys.size());
    for (std::uint64_t key : keys) EXPECT_EQ(get(r, key), 1) << key;
  }
};

/// At a size that is not that of the load's end in step with the doublings: at several.
TEST(CcehChurn, WordsStayAsTheyWere) {
  const bool all = std::getenv("DURAHASH_LONG") != nullptr;
  const unsigned turnovers = all ? 256 : 32;
  for (std::uint64_t records : {8'000, 9'500, 11'000, 13'000, 15'000}) {
    auto r = make_rig<plain_medium, word_records, cceh_engine>(options());
    keys_that_come_and_go churn(*r, records);
    const state_of_table first = state_of(*r);
    state_of_table last;
    double miss = 0;
    for (unsigned turn = 0; turn < turnovers; ++turn) {
      churn.turn_over();
      last = state_of(*r);
      miss += last.miss / turnovers;
    }
    auto f = figures(*r);
    std::printf(
        "%5.0f records, %u turnovers: load factor %.3f, then %.3f; bytes of a record %.1f, %.1f; "
        "lines of a miss %.3f, on the average %.3f; %.0f splits, %.0f rewrites\n",
        static_cast<double>(records), turnovers, first.load_factor, last.load_factor,
        first.bytes_of_a_record, last.bytes_of_a_record, first.miss, miss, f["splits"],
        f["rewrites"]);
    EXPECT_GT(last.load_factor, 0.9 * first.load_factor);
    EXPECT_LT(last.bytes_of_a_record, 1.1 * first.bytes_of_a_record);
    EXPECT_LT(miss, 1.1 * first.miss);
    churn.verify();
  }
}

TEST(CcehChurn, RecordsOfBothKindsAndBothSchemesAreThereAfterRewrites) {
  with_both_kinds([](auto kind) {
    for (bool copy_on_write : {false, true}) {
      options how;
      how.settings = {{"segment", 4}, {"copy_on_write", copy_on_write}};
      auto r = make_rig<hooked_medium, decltype(kind), cceh_engine>(how);
      keys_that_come_and_go churn(*r, 1'000);
      for (int turn = 0; turn < 20; ++turn) churn.turn_over();
      EXPECT_GT(figures(*r)["rewrites"], 100);
      churn.verify();
    }
  });
}

/// Who removes half of all records, and puts none, does not pay for rewrites.
TEST(CcehChurn, RemovalsAloneRewriteNothingBeforeAQuarterOfASegmentIsGone) {
  auto r = make_rig<plain_medium, word_records, cceh_engine>(options());
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> keys(15'000);
  for (std::uint64_t& key : keys) ASSERT_EQ(put_short(*r, key = random()), status::ok);
  for (std::size_t n = 0; n < keys.size() / 2; ++n) ASSERT_EQ(erase(*r, keys[n]), status::ok);
  EXPECT_EQ(figures(*r)["rewrites"], 0);
}

/// C6: a reader is in a segment that is rewritten, and rewritten again to where it was. Nothing is
/// removed meanwhile: that would change the version as well.
TEST(CcehChurn, AReaderIsNotFooledByRewrites) {
  with_both_kinds([](auto kind) {
    using kind_type = decltype(kind);
    options how;
    how.settings = {{"segment", 2}, {"probe", 2}};
    int twice = 0;
    for (std::uint64_t first = 1000; first < 60'000; first += 1000)
      for (std::uint64_t sought = first; sought < first + 8; ++sought)
        for (int at = 1;; ++at) {
          auto r = make_rig<probing_medium, kind_type, cceh_engine>(how);
          for (std::uint64_t key = first; key < first + 12; ++key) put(*r, key, key);
          for (std::uint64_t key = first + 8; key < first + 12; ++key) erase(*r, key);
          auto before = figures(*r);
          if (before["splits"] != 0) break;
          r->m->interrupt_at(at, [&] {
            for (std::uint64_t key = first + 100; key < first + 105; ++key) {
              put(*r, key, key);
              auto now = figures(*r);
              if (now["splits"] != 0) break;
              twice += now["rewrites"] == before["rewrites"] + 2;
              if (now["rewrites"] == before["rewrites"] + 2) break;
            }
          });
          auto found = get(*r, sought);
          if (!r->m->interrupted()) break;
          ASSERT_EQ(found, sought) << "interrupted before step " << at;
        }
    EXPECT_GT(twice, 0) << "no segment was rewritten twice: this test shows nothing";
  });
}

}  // namespace cceh_churn
}  // namespace durahash::test
