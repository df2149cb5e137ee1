// A removal of GPHash is interrupted before each of its steps by an insertion that gets its slot, and the power goes before each step of that (G3).
#include <gtest/gtest.h>

#include <cstring>
#include <optional>

#include "test/table/engine_rig.hpp"

namespace durahash::test {
namespace {

using words = rig<probing_medium, word_records, gphash_engine>;
constexpr std::uint64_t removed = 1, old_value = 0x1111111111111111, new_value = 0x2222222222222222;

/// Four buckets of 16 slots, filled so far that it is not always the first place that is less loaded.
std::unique_ptr<words> table_with_the_key(std::uint64_t others) {
  options how;
  how.settings = {{"levels", 1}, {"hashes", 2}, {"slots", 16}};
  auto r = make_rig<probing_medium, word_records, gphash_engine>(how);
  for (std::uint64_t key = 2; key < 2 + others; ++key) EXPECT_EQ(r->put(key, key), status::ok);
  EXPECT_EQ(r->put(removed, old_value), status::ok);
  return r;
}

std::uint64_t offset_of(const words& r, std::uint64_t value) {
  for (std::uint64_t at = 0; at + 8 <= r.p->end(); at += 8)
    if (std::memcmp(r.p->at(at), &value, sizeof value) == 0) return at;
  return 0;
}

struct inheritance {
  std::uint64_t others, heir;
};
/// A table, and a key of another stripe that gets the slot in it when `removed` is gone.
std::optional<inheritance> find_inheritance() {
  for (std::uint64_t others = 20; others < 50; ++others) {
    std::uint64_t slot = offset_of(*table_with_the_key(others), old_value);
    for (std::uint64_t heir = 1000; heir < 1020; ++heir) {
      auto r = table_with_the_key(others);
      gphash::mixer mixer({r->p->block().seed_flip, r->p->block().seed_multiply});
      if (mixer.mix(heir) >> 62 == mixer.mix(removed) >> 62) continue;
      EXPECT_EQ(r->erase(removed), status::ok);
      EXPECT_EQ(r->put(heir, new_value), status::ok);
      if (offset_of(*r, new_value) == slot) return inheritance{others, heir};
    }
  }
  return std::nullopt;
}

TEST(GphashWriter, AValueEntersASlotOnlyWhenTheRemovalThatEmptiedItIsDurable) {
  auto found_one = find_inheritance();
  ASSERT_TRUE(found_one.has_value());
  auto [others, heir] = *found_one;
  int cuts = 0;
  for (int at = 1, more = 1; more != 0; ++at) {
    more = 0;
    for (int then = 1;; ++then) {
      auto r = table_with_the_key(others);
      std::vector<std::byte> image;
      r->m->interrupt_at(at, [&] {
        more = 1;
        r->m->interrupt_at(then, [&] { image = r->m->image(); });
        EXPECT_EQ(r->put(heir, new_value), status::ok);
        r->m->stop_interrupting();
      });
      ASSERT_EQ(r->erase(removed), status::ok);
      r->m->stop_interrupting();
      if (image.empty()) break;
      ++cuts;
      SCOPED_TRACE("interrupted before step " + std::to_string(at) + ", power cut before step " + std::to_string(then) + " of the insertion");
      auto found = after_power_cut<probing_medium, word_records, gphash_engine>(image);
      ASSERT_NE(found, nullptr);
      auto present = found->get(removed);
      EXPECT_TRUE(!present || *present == old_value) << *present;
    }
  }
  EXPECT_GE(cuts, 20);
}

/// Found by the explorer: an insertion of a word without a fingerprint dies with its slot claimed. Recovery empties it; then a sync, and the power goes.
TEST(GphashRecovery, WhatItEmptiesIsEmptyInAPoolThatIsCleanLater) {
  auto r = make_rig<probing_medium, word_records, gphash_engine>(options{});
  ASSERT_EQ(r->put(1, 1), status::ok);
  std::vector<std::byte> claimed = r->m->image();
  constexpr std::uint64_t without_fingerprint = 3, state = gphash::claimed_state;
  std::uint64_t at = r->p->block().engine_offset + offsetof(gphash::root, escapes) + without_fingerprint * sizeof(gphash::slot);
  std::memcpy(claimed.data() + at, &state, sizeof state);

  auto recovered = after_power_cut<probing_medium, word_records, gphash_engine>(claimed);
  ASSERT_NE(recovered, nullptr);
  ASSERT_EQ(recovered->t->sync(), status::ok);
  auto later = after_power_cut<probing_medium, word_records, gphash_engine>(recovered->m->image());
  ASSERT_NE(later, nullptr);
  check_report report;
  later->t->check(report);
  EXPECT_TRUE(report.ok) << report.violations.front();
  std::uint64_t key = gphash::mixer({later->p->block().seed_flip, later->p->block().seed_multiply}).key_of(without_fingerprint);
  EXPECT_EQ(later->put(key, 7), status::ok);
  EXPECT_EQ(later->get(key), 7u);
}

}  // namespace
}  // namespace durahash::test
