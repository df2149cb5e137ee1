// A removal of GPHash is interrupted before each of its steps by an insertion that gets its slot,
// and the power goes before each step of that (G3).
#include <gtest/gtest.h>

#include <cstring>
#include <optional>

#include "test/engine/engine_rig.hpp"

namespace durahash::test {
namespace gphash_interruption {

template <class Kind>
using table_of = rig<probing_medium, Kind, gphash_engine>;
constexpr std::uint64_t removed = 1, old_value = 0x1111111111111111, new_value = 0x2222222222222222;

/// Four buckets of 16 slots, filled so far that it is not always the first place that is less
/// loaded.
template <class Kind>
std::unique_ptr<table_of<Kind>> table_with_the_key(std::uint64_t others) {
  options how;
  how.settings = {{"levels", 1}, {"hashes", 2}, {"slots", 16}};
  auto r = make_rig<probing_medium, Kind, gphash_engine>(how);
  for (std::uint64_t key = 2; key < 2 + others; ++key)
    EXPECT_EQ(put_short(*r, key, key), status::ok);
  EXPECT_EQ(put_short(*r, removed, old_value), status::ok);
  return r;
}

/// Where the record's slot is: of words by its value, which lies there, else by its key.
template <class Kind>
std::uint64_t slot_of(const table_of<Kind>& r, std::uint64_t key, std::uint64_t value) {
  auto there = item<Kind>(Kind::in_slot ? value : key);
  std::string_view bytes;
  if constexpr (Kind::in_slot) bytes = {reinterpret_cast<const char*>(&there), sizeof there};
  else bytes = there;
  for (std::uint64_t at = 0; at + bytes.size() <= r.p->end(); at += 8)
    if (std::memcmp(r.p->at(at), bytes.data(), bytes.size()) == 0) return at;
  return 0;
}

struct inheritance {
  std::uint64_t others, heir;
};
/// A table, and a key of another stripe that gets the slot in it when `removed` is gone.
template <class Kind>
std::optional<inheritance> find_inheritance() {
  for (std::uint64_t others = 20; others < 50; ++others) {
    std::uint64_t slot = slot_of<Kind>(*table_with_the_key<Kind>(others), removed, old_value);
    for (std::uint64_t heir = 1000; heir < 1020; ++heir) {
      auto r = table_with_the_key<Kind>(others);
      gphash::mixer mixer(seeds_of(r->p->block()));
      auto stripe = [&](std::uint64_t key) {
        return (Kind::in_slot ? mixer.mix(key) : hash_of<Kind>(*r, key)) >> 62;
      };
      if (stripe(heir) == stripe(removed)) continue;
      EXPECT_EQ(erase(*r, removed), status::ok);
      EXPECT_EQ(put_short(*r, heir, new_value), status::ok);
      if (slot_of<Kind>(*r, heir, new_value) == slot) return inheritance{others, heir};
    }
  }
  return std::nullopt;
}

template <class Kind>
void inherit_a_slot() {
  auto found_one = find_inheritance<Kind>();
  ASSERT_TRUE(found_one.has_value());
  auto [others, heir] = *found_one;
  int cuts = 0;
  for (int at = 1, more = 1; more != 0; ++at) {
    more = 0;
    for (int then = 1;; ++then) {
      auto r = table_with_the_key<Kind>(others);
      std::vector<std::byte> image;
      r->m->interrupt_at(at, [&] {
        more = 1;
        r->m->interrupt_at(then, [&] { image = r->m->image(); });
        EXPECT_EQ(put_short(*r, heir, new_value), status::ok);
        r->m->stop_interrupting();
      });
      ASSERT_EQ(erase(*r, removed), status::ok);
      r->m->stop_interrupting();
      if (image.empty()) break;
      ++cuts;
      SCOPED_TRACE("interrupted before step " + std::to_string(at) + ", power cut before step " +
                   std::to_string(then) + " of the insertion");
      auto found = after_power_cut<probing_medium, Kind, gphash_engine>(image);
      ASSERT_NE(found, nullptr);
      auto present = get(*found, removed);
      EXPECT_TRUE(!present || *present == old_value) << *present;
      check_report report;
      found->t->check(report);
      EXPECT_TRUE(report.ok) << report.violations.front();
    }
  }
  EXPECT_GE(cuts, 20);
}

TEST(GphashWriter, AValueEntersASlotOnlyWhenTheRemovalThatEmptiedItIsDurable) {
  inherit_a_slot<word_records>();
}
TEST(GphashWriter, AKeyEntersASlotOnlyWhenTheRemovalThatEmptiedItIsDurable) {
  inherit_a_slot<fixed_keys<32>>();
}

/// Found by the explorer: an insertion of a word without a fingerprint dies with its slot claimed.
/// Recovery empties it; then a sync, and the power goes.
TEST(GphashRecovery, WhatItEmptiesIsEmptyInAPoolThatIsCleanLater) {
  auto r = make_rig<probing_medium, word_records, gphash_engine>(options{});
  ASSERT_EQ(r->put(1, 1), status::ok);
  std::vector<std::byte> claimed = r->m->image();
  constexpr std::uint64_t without_fingerprint = 3, state = gphash::claimed_state;
  std::uint64_t at = r->p->block().engine_offset + offsetof(gphash::root, escapes) +
                     without_fingerprint * sizeof(gphash::slot);
  std::memcpy(claimed.data() + at, &state, sizeof state);

  auto recovered = after_power_cut<probing_medium, word_records, gphash_engine>(claimed);
  ASSERT_NE(recovered, nullptr);
  ASSERT_EQ(recovered->t->sync(), status::ok);
  auto later = after_power_cut<probing_medium, word_records, gphash_engine>(recovered->m->image());
  ASSERT_NE(later, nullptr);
  check_report report;
  later->t->check(report);
  EXPECT_TRUE(report.ok) << report.violations.front();
  std::uint64_t key = gphash::mixer(seeds_of(later->p->block())).key_of(without_fingerprint);
  EXPECT_EQ(later->put(key, 7), status::ok);
  EXPECT_EQ(later->get(key), 7u);
}

}  // namespace gphash_interruption
}  // namespace durahash::test
