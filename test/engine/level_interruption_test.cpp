// A reader of Level hashing is interrupted before each of its loads, in turn, by a writer that runs
// to the end. Deterministic, and complete for one interruption: hole Level 8, and hole X1
// for the answers.
#include <gtest/gtest.h>

#include "test/engine/level_script.hpp"

namespace durahash::test {
namespace level_interruption {

/// Looks for the key once for every place where that can be interrupted by `writer`, on a fresh
/// table made by `prepare` each time. Returns how many places there were.
template <class Kind, class Prepare, class Writer, class Verify>
int interrupt_everywhere(const options& how, Prepare prepare, std::uint64_t key, Writer writer,
                         Verify verify) {
  for (int at = 1;; ++at) {
    auto r = make_level<probing_medium, Kind>(how);
    prepare(*r);
    r->m->interrupt_at(at, [&] { writer(*r); });
    auto found = get(*r, key);
    bool ran = r->m->interrupted();
    r->m->stop_interrupting();
    if (!ran) return at - 1;
    SCOPED_TRACE("interrupted before load " + std::to_string(at));
    verify(found);
  }
}

std::string text(std::uint64_t key) { return std::to_string(key); }
std::string text(std::string_view key) { return std::string(key); }

constexpr std::uint64_t present = 12;

template <class Kind>
class LevelReader : public testing::Test {
 protected:
  using rig_type = level_rig<probing_medium, Kind>;

  static void fill(rig_type& r) {
    for (std::uint64_t key = 1; key <= present; ++key)
      ASSERT_EQ(put(r, key, key * 100), status::ok);
  }
  /// With every way of updating and searching.
  template <class Writer, class Verify>
  void everywhere(Writer writer, Verify verify) {
    for (std::uint64_t in_place : {0, 1})
      for (std::uint64_t dynamic : {0, 1})
        for (std::uint64_t key = 1; key <= present; key += 3) {
          SCOPED_TRACE("key " + std::to_string(key) + ", in_place=" + std::to_string(in_place) +
                       ", dynamic=" + std::to_string(dynamic));
          options how = level_of(2, {{"in_place", in_place}, {"dynamic", dynamic}});
          int places = interrupt_everywhere<Kind>(
              how, fill, key, [&](rig_type& r) { writer(r, key); },
              [&](auto found) { verify(key, found); });
          EXPECT_GE(places, 5);
        }
  }
};
using kinds = testing::Types<word_records, byte_records>;
TYPED_TEST_SUITE(LevelReader, kinds);

TYPED_TEST(LevelReader, SeesAnUpdateOrWhatWasBefore) {
  this->everywhere([](auto& r, std::uint64_t key) { ASSERT_EQ(put(r, key, 1), status::ok); },
                   [](std::uint64_t key, auto found) {
                     EXPECT_TRUE(found == key * 100 || found == 1u) << found.value_or(0);
                   });
}

/// The slot goes to other keys, and comes back to the key.
TYPED_TEST(LevelReader, IsNotFooledByASlotThatWasLentMeanwhile) {
  this->everywhere(
      [](auto& r, std::uint64_t key) {
        erase(r, key);
        for (std::uint64_t other = 1000; other < 1016; ++other) put(r, other, 777);
        for (std::uint64_t other = 1000; other < 1016; ++other) erase(r, other);
        put(r, key, 1);
      },
      [](std::uint64_t key, auto found) {
        EXPECT_TRUE(!found || *found == key * 100 || *found == 1) << *found;
      });
}

TYPED_TEST(LevelReader, FindsAKeyWhileTheTableGrowsAndShrinks) {
  this->everywhere(
      [](auto& r, std::uint64_t key) {
        for (std::uint64_t other = 1000; other < 1200; ++other) put(r, other, 777);
        put(r, key, 1);
        for (std::uint64_t other = 1000; other < 1200; ++other) erase(r, other);
        ASSERT_EQ(r.t->compact(), status::ok);
      },
      [](std::uint64_t key, auto found) {
        ASSERT_TRUE(found.has_value()) << "a key that was there throughout was reported absent";
        EXPECT_TRUE(*found == key * 100 || *found == 1) << *found;
      });
}

TYPED_TEST(LevelReader, DoesNotInventAKeyThatIsAbsent) {
  for (std::uint64_t dynamic : {0, 1})
    interrupt_everywhere<TypeParam>(
        level_of(2, {{"dynamic", dynamic}}), TestFixture::fill, 5000,
        [](auto& r) {
          for (std::uint64_t other = 1000; other < 1040; ++other) put(r, other, 777);
        },
        [](auto found) { EXPECT_FALSE(found.has_value()); });
}

/// Every kind of movement that a script shows: within a level, from the bottom to the top, out of a
/// level that is drained, upwards and downwards, and each between the key's places in either
/// direction: to a place that the reader has looked at, and to one that it has not.
TYPED_TEST(LevelReader, L8NeverMissesARecordThatMovesMeanwhile) {
  std::set<std::string> seen;
  for (std::uint64_t slots : {1, 2, 3})
    for (std::uint64_t dynamic : {0, 1}) {
      options how = level_of(slots, {{"dynamic", dynamic}});
      auto script = there_and_back();
      for (const level_move& move : some_of_each_kind(moves_of<TypeParam>(how, script), 2)) {
        SCOPED_TRACE(move.kind + ", slots=" + std::to_string(slots) +
                     ", dynamic=" + std::to_string(dynamic));
        auto prepare = [&](auto& r) {
          for (std::size_t n = 0; n < move.operation; ++n) perform(r, script[n]);
        };
        auto moved = [&](auto& r) { perform(r, script[move.operation]); };
        auto verify = [&](auto found) { EXPECT_EQ(found, value_for(move.key)); };
        EXPECT_GE(interrupt_everywhere<TypeParam>(how, prepare, move.key, moved, verify), 4);
        seen.insert(move.kind);
      }
    }
  for (const char* kind : {"2 levels: 0.0 -> 0.1", "2 levels: 0.1 -> 0.0", "2 levels: 1.0 -> 0.1",
                           "3 levels: 2.0 -> 0.0", "3 levels: 2.1 -> 0.1", "3 levels: 2.1 -> 0.0",
                           "3 levels, shrinking: 0.0 -> 1.0", "3 levels, shrinking: 0.1 -> 1.1"})
    EXPECT_TRUE(seen.contains(kind)) << "the script no longer shows " << kind;
  EXPECT_TRUE(seen.contains("2 levels: 1.0 -> 1.1") || seen.contains("2 levels: 1.1 -> 1.0"));
}

/// Iteration is interrupted here and there: a record that is there throughout is told once.
TYPED_TEST(LevelReader, L8IterationTellsARecordOnceThatMovesMeanwhile) {
  options how = level_of(2);
  auto script = there_and_back();
  for (const level_move& move : some_of_each_kind(moves_of<TypeParam>(how, script), 1)) {
    SCOPED_TRACE(move.kind);
    bool ran = true;
    for (int at = 1; ran; at += 1 + at / 8) {
      auto r = make_level<probing_medium, TypeParam>(how);
      for (std::size_t n = 0; n < move.operation; ++n) perform(*r, script[n]);
      r->m->interrupt_at(at, [&] { perform(*r, script[move.operation]); });
      std::vector<std::string> told;
      for (cursor c; !c.done;)
        ASSERT_EQ(r->t->scan(c, 8, [&](auto key, auto) { told.push_back(text(key)); }), status::ok);
      ran = r->m->interrupted();
      r->m->stop_interrupting();
      auto throughout = records_after(script, move.operation);
      throughout.erase(script[move.operation].key);
      for (auto [key, value] : throughout)
        ASSERT_EQ(std::count(told.begin(), told.end(), text(item<TypeParam>(key))), 1)
            << "key " << key << ", interrupted before load " << at;
    }
  }
}

/// The other way round: a writer is interrupted before each of its steps by a reader, and right
/// after the read the power goes. What the reader was given must be on the medium (hole X1).
template <class Kind, class Prepare, class Writer>
int read_then_lose_power(const options& how, Prepare prepare, std::uint64_t key, Writer writer) {
  for (int at = 1;; ++at) {
    auto r = make_level<probing_medium, Kind>(how);
    prepare(*r);
    std::optional<std::uint64_t> given;
    std::vector<std::byte> image;
    r->m->interrupt_at(at, [&] {
      given = get(*r, key);
      image = r->m->image();
    });
    writer(*r);
    bool ran = r->m->interrupted();
    r->m->stop_interrupting();
    if (!ran) return at - 1;
    auto found = after_power_cut<probing_medium, Kind, level_engine>(image);
    EXPECT_NE(found, nullptr);
    if (!found) continue;
    EXPECT_EQ(get(*found, key), given)
        << "what a reader was given before step " << at << " was undone";
  }
}

TYPED_TEST(LevelReader, X1IsNotGivenWhatAPowerCutUndoes) {
  for (std::uint64_t in_place : {0, 1})
    for (std::uint64_t slots : {1, 2, 7}) {
      SCOPED_TRACE("in_place=" + std::to_string(in_place) + ", slots=" + std::to_string(slots));
      auto of = [&](std::uint64_t key, auto writer) {
        return read_then_lose_power<TypeParam>(level_of(slots, {{"in_place", in_place}}),
                                               TestFixture::fill, key, writer);
      };
      EXPECT_GE(of(7, [](auto& r) { put(r, 7, 1); }), 3);
      EXPECT_GE(of(7, [](auto& r) { erase(r, 7); }), 3);
      EXPECT_GE(of(500, [](auto& r) { put(r, 500, 1); }), 3);
      if (slots != 2) continue;
      EXPECT_GE(of(7,
                   [](auto& r) {
                     for (std::uint64_t other = 1000; other < 1016; ++other) put(r, other, 777);
                     put(r, 7, 1);
                   }),
                100);
    }
}

TYPED_TEST(LevelReader, X1IsNotGivenWhatAPowerCutInAMovementUndoes) {
  options how = level_of(2);
  auto script = there_and_back();
  for (const level_move& move : some_of_each_kind(moves_of<TypeParam>(how, script), 1)) {
    SCOPED_TRACE(move.kind);
    auto prepare = [&](auto& r) {
      for (std::size_t n = 0; n < move.operation; ++n) perform(r, script[n]);
    };
    auto writer = [&](auto& r) { perform(r, script[move.operation]); };
    for (std::uint64_t key : {move.key, script[move.operation].key})
      EXPECT_GE(read_then_lose_power<TypeParam>(how, prepare, key, writer), 10);
  }
}

/// The writer's process is killed before each of its steps: what it stored stays in the caches. The
/// next process reads the record, or changes it in place, and then the power goes.
TYPED_TEST(LevelReader, X1NothingIsBuiltOnWhatADeadProcessLeftInTheCaches) {
  options how = level_of(2);
  auto script = there_and_back();
  for (const level_move& move : some_of_each_kind(moves_of<TypeParam>(how, script), 1)) {
    SCOPED_TRACE(move.kind);
    auto r = make_level<probing_medium, TypeParam>(how);
    for (std::size_t n = 0; n < move.operation; ++n) perform(*r, script[n]);
    int deaths = 0;
    auto next_process = [&](std::uint64_t key, bool writes) {
      std::vector<std::byte> memory(r->p->at(0), r->p->at(0) + r->p->end());
      auto next = found_after_power_cut<probing_medium, TypeParam, level_engine>(memory);
      ASSERT_NE(next, nullptr);
      next->m->starts_with(r->m->image());
      ASSERT_EQ(next->t->open("left in the caches").code, status::ok);
      std::optional<std::uint64_t> given = 5;
      if (writes) ASSERT_EQ(put(*next, key, 5), status::ok);
      else given = get(*next, key);
      auto found = after_power_cut<probing_medium, TypeParam, level_engine>(next->m->image());
      ASSERT_NE(found, nullptr);
      EXPECT_EQ(get(*found, key), given) << "key " << key << ", killed before step " << deaths;
    };
    std::function<void()> dies = [&] {
      ++deaths;
      for (std::uint64_t key : {move.key, script[move.operation].key})
        for (bool writes : {false, true}) next_process(key, writes);
      r->m->interrupt_at(1, dies);
    };
    r->m->interrupt_at(1, dies);
    perform(*r, script[move.operation]);
    r->m->stop_interrupting();
    EXPECT_GE(deaths, 10);
  }
}

}  // namespace level_interruption
}  // namespace durahash::test
