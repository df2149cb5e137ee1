// A reader is interrupted before each of its loads, in turn, by a writer that runs to the end.
// Deterministic, and complete for one interruption: holes TurboHash 1 and TurboHash 2,
// and hole X1 for the answers.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "test/engine/probing_medium.hpp"

namespace durahash::test {
namespace turbo_interruption {

using words = rig<probing_medium, word_records>;
using strings = rig<probing_medium, byte_records>;

options one_home() {  // two shards, small: keys meet in a bucket
  options how;
  how.settings = {{"shards", 2}};
  return how;
}

/// Runs get(key) once for every place where it can be interrupted by `writer`, on a fresh table
/// made by `prepare` each time. Returns how many places there were.
template <class Rig, class Prepare, class Writer, class Verify>
int interrupt_everywhere(Prepare prepare, typename Rig::key_type key, Writer writer, Verify verify,
                         const options& how = one_home()) {
  for (int at = 1;; ++at) {
    auto r =
        make_rig<probing_medium,
                 std::conditional_t<std::is_same_v<Rig, words>, word_records, byte_records>>(how);
    prepare(*r);
    r->m->interrupt_at(at, [&] { writer(*r); });
    auto found = r->get(key);
    bool ran = r->m->interrupted();
    r->m->stop_interrupting();
    if (!ran) return at - 1;
    SCOPED_TRACE("interrupted before load " + std::to_string(at));
    verify(*r, found);
  }
}

void fill(words& r) {
  for (std::uint64_t key = 1; key <= 60; ++key) ASSERT_EQ(r.put(key, key * 100), status::ok);
}
void fill(strings& r) {
  for (int key = 1; key <= 60; ++key)
    ASSERT_EQ(r.put("key" + std::to_string(key), "value" + std::to_string(key)), status::ok);
}

/// Hole TurboHash 1: the update takes another slot, and other keys take the old one, with
/// other tags. A reader that has the meta word of before and the tags of after finds the key in
/// neither.
TEST(TurboReader, T1NeverMissesAKeyThatIsUpdatedMeanwhile) {
  for (std::uint64_t in_place : {0, 1}) {
    options how = one_home();
    how.settings["in_place"] = in_place;
    auto update_and_fill_up = [](words& r) {
      r.put(7, 1);
      for (std::uint64_t other = 1000; other < 1010; ++other) r.put(other, other);
    };
    int places = interrupt_everywhere<words>(
        [](words& r) { fill(r); }, 7, update_and_fill_up,
        [](words&, auto found) {
          ASSERT_TRUE(found.has_value()) << "a key that was there throughout was reported absent";
          EXPECT_TRUE(*found == 700 || *found == 1) << *found;
        },
        how);
    EXPECT_GE(places, 5);
  }
}

TEST(TurboReader, T1NeverMissesARecordThatIsReplacedMeanwhile) {
  auto replace_and_fill_up = [](strings& r) {
    r.put("key7", "new");
    for (int other = 1000; other < 1010; ++other) r.put("key" + std::to_string(other), "other");
  };
  int places = interrupt_everywhere<strings>(
      [](strings& r) { fill(r); }, "key7", replace_and_fill_up,
      [](strings&, auto found) {
        ASSERT_TRUE(found.has_value()) << "a key that was there throughout was reported absent";
        EXPECT_TRUE(*found == "value7" || *found == "new") << *found;
      });
  EXPECT_GE(places, 5);
}

/// Hole TurboHash 2.
TEST(TurboReader, T2NeverReturnsTheValueOfAKeyThatTookTheSlotMeanwhile) {
  interrupt_everywhere<words>(
      [](words& r) { fill(r); }, 7,
      [](words& r) {
        r.erase(7);
        // one of them takes the slot
        for (std::uint64_t other = 1000; other < 1040; ++other) r.put(other, other);
      },
      [](words&, auto found) { EXPECT_TRUE(!found.has_value() || *found == 700) << *found; });
}

/// The arrays move, and other shards' arrays take their places.
TEST(TurboReader, FindsAKeyWhileItsShardIsRebuilt) {
  options how;
  how.settings = {{"shards", 16}};
  auto move_around = [](auto& r) {
    ASSERT_EQ(r.t->reserve(10'000), status::ok);
    ASSERT_EQ(r.t->compact(), status::ok);
  };
  for (std::uint64_t key = 1; key <= 60; ++key)
    interrupt_everywhere<words>([](words& r) { fill(r); }, key, [&](words& r) { move_around(r); },
                                [&](words&, auto found) { EXPECT_EQ(found, key * 100); }, how);
  interrupt_everywhere<strings>([](strings& r) { fill(r); }, "key7",
                                [](strings& r) { ASSERT_EQ(r.t->reserve(10'000), status::ok); },
                                [](strings&, auto found) { EXPECT_EQ(found, "value7"); }, how);
}

TEST(TurboReader, DoesNotInventAKeyThatIsAbsent) {
  interrupt_everywhere<words>([](words& r) { fill(r); }, 5000,
                              [](words& r) {
                                r.put(7, 5000);
                                r.put(5001, 1);
                              },
                              [](words&, auto found) { EXPECT_FALSE(found.has_value()); });
}

/// The other way round: a writer is interrupted before each of its steps by a reader, and right
/// after the read the power goes. What the reader was given must be on the medium (hole X1).
template <class Rig, class Kind, class Key, class Writer>
int read_then_lose_power(Key key, Writer writer, const options& how) {
  for (int at = 1;; ++at) {
    auto r = make_rig<probing_medium, Kind>(how);
    fill(*r);
    decltype(r->get(key)) given;
    std::vector<std::byte> image;
    r->m->interrupt_at(at, [&] {
      given = r->get(key);
      image = r->m->image();
    });
    writer(*r);
    bool ran = r->m->interrupted();
    r->m->stop_interrupting();
    if (!ran) return at - 1;
    auto found = after_power_cut<probing_medium, Kind>(image);
    EXPECT_NE(found, nullptr);
    if (!found) continue;
    EXPECT_EQ(found->get(key), given)
        << "a value that a reader was given before step " << at << " was undone";
  }
}

TEST(TurboWriter, X1NoReaderIsGivenWhatAPowerCutUndoes) {
  for (std::uint64_t in_place : {0, 1}) {
    options how = one_home();
    how.settings["in_place"] = in_place;
    auto of_word = [&](auto writer) {
      return read_then_lose_power<words, word_records>(std::uint64_t{7}, writer, how);
    };
    EXPECT_GE(of_word([](words& r) { r.put(7, 1); }), 3);
    EXPECT_GE(of_word([](words& r) { r.erase(7); }), 3);
    EXPECT_GE(of_word([](words& r) {
                std::uint64_t key = 7, value = 2;
                status answer;
                r.t->put_many({&key, 1}, &value, &answer);
              }),
              3);
  }
  auto of_bytes = [&](auto writer) {
    return read_then_lose_power<strings, byte_records>(std::string_view("key7"), writer,
                                                       one_home());
  };
  EXPECT_GE(of_bytes([](strings& r) { r.put("key7", "new"); }), 3);
  EXPECT_GE(of_bytes([](strings& r) { r.erase("key7"); }), 3);
}

}  // namespace turbo_interruption
}  // namespace durahash::test
