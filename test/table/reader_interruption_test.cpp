// A reader of CCEH is interrupted before each of its loads, in turn, by a writer that runs to the end. Deterministic, and complete for one interruption:
// that a validated read does what the paper's reader lock does (docs/engines/cceh.md, "Reads"), in both schemes; and CRASH.md X1. And a split that another
// one interrupts (CRASH.md CCEH 7).
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "test/table/engine_rig.hpp"

namespace durahash::test {
namespace {

using words = rig<probing_medium, word_records, cceh_engine>;
using strings = rig<probing_medium, byte_records, cceh_engine>;
template <class Rig>
using kind_of = std::conditional_t<std::is_same_v<Rig, words>, word_records, byte_records>;

/// Small segments: keys meet in a bucket, and splits come soon.
options small(bool copy_on_write) {
  options how;
  how.settings = {{"segment", 3}, {"probe", 2}, {"copy_on_write", copy_on_write}};
  return how;
}

constexpr std::uint64_t present = 12;
template <class Rig>
void fill(Rig& r) {
  for (std::uint64_t key = 1; key <= present; ++key) put(r, key, key * 100);
}

/// Looks for the key once for every place where that can be interrupted by `writer`, on a fresh table each time. Returns how many places there were.
template <class Rig, class Writer, class Verify>
int interrupt_everywhere(std::uint64_t key, bool copy_on_write, Writer writer, Verify verify) {
  for (int at = 1;; ++at) {
    auto r = make_rig<probing_medium, kind_of<Rig>, cceh_engine>(small(copy_on_write));
    fill(*r);
    r->m->interrupt_at(at, [&] { writer(*r); });
    auto found = get(*r, key);
    bool ran = r->m->interrupted();
    r->m->stop_interrupting();
    if (!ran) return at - 1;
    SCOPED_TRACE("interrupted before load " + std::to_string(at));
    verify(found);
  }
}

template <class Rig>
class CcehReader : public testing::Test {
 protected:
  template <class Writer, class Verify>
  void everywhere(Writer writer, Verify verify) {
    for (bool copy_on_write : {false, true})
      for (std::uint64_t key = 1; key <= present; key += 3) {
        SCOPED_TRACE("key " + std::to_string(key) + (copy_on_write ? ", copy-on-write" : ", in place"));
        int places = interrupt_everywhere<Rig>(key, copy_on_write, [&](Rig& r) { writer(r, key); }, [&](auto found) { verify(key, found); });
        EXPECT_GE(places, 5);
      }
  }
};
using rigs = testing::Types<words, strings>;
TYPED_TEST_SUITE(CcehReader, rigs);

TYPED_TEST(CcehReader, SeesAnUpdateOrWhatWasBefore) {
  this->everywhere([](TypeParam& r, std::uint64_t key) { put(r, key, 1); },
                   [](std::uint64_t key, auto found) { EXPECT_TRUE(found == key * 100 || found == 1u) << found.value_or(0); });
}

/// The slot goes to other keys, and comes back to the key.
TYPED_TEST(CcehReader, IsNotFooledByASlotThatWasLentMeanwhile) {
  this->everywhere(
      [](TypeParam& r, std::uint64_t key) {
        erase(r, key);
        for (std::uint64_t other = 1000; other < 1016; ++other) put(r, other, 777);
        for (std::uint64_t other = 1000; other < 1016; ++other) erase(r, other);
        put(r, key, 1);
      },
      [](std::uint64_t key, auto found) { EXPECT_TRUE(!found || *found == key * 100 || *found == 1) << *found; });
}

/// CRASH.md, CCEH 14, and what the paper's reader lock is for: the segment is split, the key changed where it now lives, its old slot filled by others.
TYPED_TEST(CcehReader, FindsAKeyWhileItsSegmentIsSplit) {
  this->everywhere(
      [](TypeParam& r, std::uint64_t key) {
        for (std::uint64_t other = 1000; other < 1100; ++other) put(r, other, 777);
        put(r, key, 1);
        for (std::uint64_t other = 1100; other < 1200; ++other) put(r, other, 777);
      },
      [](std::uint64_t key, auto found) {
        ASSERT_TRUE(found.has_value()) << "a key that was there throughout was reported absent";
        EXPECT_TRUE(*found == key * 100 || *found == 1) << *found;
      });
}

TYPED_TEST(CcehReader, FindsAKeyWhileSegmentsAreMergedAndMoved) {
  this->everywhere(
      [](TypeParam& r, std::uint64_t key) {
        for (std::uint64_t other = 1000; other < 1100; ++other) put(r, other, 777);
        for (std::uint64_t other = 1000; other < 1100; ++other) erase(r, other);
        ASSERT_EQ(r.t->compact(), status::ok);
        for (std::uint64_t other = 1; other <= present; ++other) put(r, other, other);
        static_cast<void>(key);
      },
      [](std::uint64_t key, auto found) {
        ASSERT_TRUE(found.has_value()) << "a key that was there throughout was reported absent";
        EXPECT_TRUE(*found == key * 100 || *found == key) << *found;
      });
}

TYPED_TEST(CcehReader, DoesNotInventAKeyThatIsAbsent) {
  for (bool copy_on_write : {false, true})
    interrupt_everywhere<TypeParam>(
        5000, copy_on_write,
        [](TypeParam& r) {
          for (std::uint64_t other = 1000; other < 1040; ++other) put(r, other, 777);
        },
        [](auto found) { EXPECT_FALSE(found.has_value()); });
}

/// The other way round: a writer is interrupted before each of its steps by a reader, and right after the read the power goes. What the reader was given
/// must be on the medium (CRASH.md X1).
template <class Rig, class Writer>
int read_then_lose_power(std::uint64_t key, bool copy_on_write, Writer writer) {
  for (int at = 1;; ++at) {
    auto r = make_rig<probing_medium, kind_of<Rig>, cceh_engine>(small(copy_on_write));
    fill(*r);
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
    auto found = after_power_cut<probing_medium, kind_of<Rig>, cceh_engine>(image);
    EXPECT_NE(found, nullptr);
    if (!found) continue;
    EXPECT_EQ(get(*found, key), given) << "a value that a reader was given before step " << at << " was undone";
  }
}

TYPED_TEST(CcehReader, X1IsNotGivenWhatAPowerCutUndoes) {
  for (bool copy_on_write : {false, true}) {
    auto of = [&](std::uint64_t key, auto writer) { return read_then_lose_power<TypeParam>(key, copy_on_write, writer); };
    EXPECT_GE(of(7, [](TypeParam& r) { put(r, 7, 1); }), 3);
    EXPECT_GE(of(7, [](TypeParam& r) { erase(r, 7); }), 3);
    EXPECT_GE(of(500, [](TypeParam& r) { put(r, 500, 1); }), 3);
    EXPECT_GE(of(7, [](TypeParam& r) {
                for (std::uint64_t other = 1000; other < 1040; ++other) put(r, other, 777);
                put(r, 7, 1);
              }),
              100);
  }
}

/// Keys that were not there, each of which makes this table, as `fill` made it, double its directory. One of the left half of the hashes, one of the right.
struct doubling_keys {
  std::uint64_t filled, left, right;
};
template <class Kind>
std::optional<doubling_keys> doubling_keys_of(bool copy_on_write) {
  auto filled_with = [&](std::uint64_t count) {
    auto r = make_rig<probing_medium, Kind, cceh_engine>(small(copy_on_write));
    for (std::uint64_t key = 1; key <= count; ++key) put(*r, key, key);
    return r;
  };
  for (std::uint64_t count = 8; count < 100; ++count) {
    auto r = filled_with(count);
    double depth = figures(*r)["global_depth"];
    if (depth == 0) continue;
    std::optional<std::uint64_t> found[2];
    for (std::uint64_t key = 1000; key < 1040; ++key) {
      auto& side = found[hash_of(*r, key) >> 63];
      if (side) continue;
      auto tried = filled_with(count);
      put(*tried, key, key);
      if (figures(*tried)["global_depth"] == depth + 1) side = key;
    }
    if (found[0] && found[1]) return doubling_keys{count, *found[0], *found[1]};
  }
  return std::nullopt;
}

/// One split has found that its segment is as deep as the directory, and has not taken the directory's lock: another one doubles the directory.
template <class Kind>
void double_once() {
  for (bool copy_on_write : {false, true}) {
    auto keys = doubling_keys_of<Kind>(copy_on_write);
    ASSERT_TRUE(keys.has_value()) << "no table in which two segments are about to double the directory";
    for (int at = 1, tried = 0;; ++at, ++tried) {
      auto r = make_rig<probing_medium, Kind, cceh_engine>(small(copy_on_write));
      for (std::uint64_t key = 1; key <= keys->filled; ++key) put(*r, key, key);
      double doublings = figures(*r)["doublings"];
      int fences = r->m->fences();
      bool in_time = false;
      r->m->interrupt_at(at, [&] {
        in_time = r->m->fences() == fences;  // the directory's lock is taken behind the split's first fence
        if (in_time) std::thread([&] { put(*r, keys->right, 7); }).join();
      });
      put(*r, keys->left, 7);
      r->m->stop_interrupting();
      if (!in_time) {
        EXPECT_GE(tried, 10);
        break;
      }
      SCOPED_TRACE("interrupted before step " + std::to_string(at));
      EXPECT_EQ(figures(*r)["doublings"], doublings + 1);
      model wanted{{keys->left, 7}, {keys->right, 7}};
      for (std::uint64_t key = 1; key <= keys->filled; ++key) wanted[key] = key;
      EXPECT_EQ(difference(*r, wanted), "");
    }
  }
}
TEST(CcehSplit, Cceh7DoublesTheDirectoryOnceForTwoSplitsOfWords) { double_once<word_records>(); }
TEST(CcehSplit, Cceh7DoublesTheDirectoryOnceForTwoSplitsOfRecords) { double_once<byte_records>(); }

}  // namespace
}  // namespace durahash::test
