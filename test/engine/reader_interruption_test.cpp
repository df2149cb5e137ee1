// A reader is interrupted before each of its loads, in turn, by a writer that runs to the end.
// Deterministic, and complete for one interruption: that a validated read of CCEH does what the
// paper's reader lock does (docs/explanation/engines/cceh.md, "Reads"), in both schemes; that one
// of GPHash is not fooled by slots that are lent (hole GPHash 7); and hole X1. Level hashing and
// TurboHash have tests of their own.
#include <gtest/gtest.h>

#include <string>

#include "test/engine/engine_rig.hpp"

namespace durahash::test {
namespace reader_interruption {

/// An engine with small parts: keys meet, and growth comes soon.
template <class Kind, bool CopyOnWrite>
struct cceh_with {
  using rig_type = rig<probing_medium, Kind, cceh_engine>;
  static options settings() {
    options how;
    how.settings = {{"segment", 3}, {"probe", 2}, {"copy_on_write", CopyOnWrite}};
    return how;
  }
};
template <class Kind, unsigned Levels, unsigned Hashes, unsigned Slots>
struct gphash_with {
  using rig_type = rig<probing_medium, Kind, gphash_engine>;
  static options settings() {
    options how;
    how.settings = {{"levels", Levels}, {"hashes", Hashes}, {"slots", Slots}};
    return how;
  }
};
template <class M, class Kind, class Engine>
auto make_same(const rig<M, Kind, Engine>*, const options& how) {
  return make_rig<M, Kind, Engine>(how);
}
template <class M, class Kind, class Engine>
auto after_cut(const rig<M, Kind, Engine>*, const std::vector<std::byte>& image) {
  return after_power_cut<M, Kind, Engine>(image);
}

constexpr std::uint64_t present = 12;
template <class Rig>
void fill(Rig& r) {
  for (std::uint64_t key = 1; key <= present; ++key) put(r, key, key * 100);
}

/// Looks for the key once for every place where that can be interrupted by `writer`, on a fresh
/// table each time. Returns how many places there were.
template <class With, class Writer, class Verify>
int interrupt_everywhere(std::uint64_t key, Writer writer, Verify verify) {
  for (int at = 1;; ++at) {
    auto r = make_same(static_cast<typename With::rig_type*>(nullptr), With::settings());
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

template <class With>
class Reader : public testing::Test {
 protected:
  using rig_type = typename With::rig_type;
  template <class Writer, class Verify>
  void everywhere(Writer writer, Verify verify) {
    for (std::uint64_t key = 1; key <= present; key += 3) {
      SCOPED_TRACE("key " + std::to_string(key));
      EXPECT_GE(
          interrupt_everywhere<With>(
              key, [&](rig_type& r) { writer(r, key); }, [&](auto found) { verify(key, found); }),
          4);
    }
  }
};
using subjects =
    testing::Types<cceh_with<word_records, false>, cceh_with<word_records, true>,
                   cceh_with<byte_records, false>, cceh_with<byte_records, true>,
                   gphash_with<word_records, 1, 1, 2>, gphash_with<word_records, 2, 2, 8>,
                   gphash_with<byte_records, 1, 1, 2>, gphash_with<byte_records, 2, 2, 8>,
                   gphash_with<fixed_keys<32>, 1, 1, 2>, gphash_with<fixed_keys<32>, 2, 2, 8>>;
TYPED_TEST_SUITE(Reader, subjects);

TYPED_TEST(Reader, SeesAnUpdateOrWhatWasBefore) {
  this->everywhere([](auto& r, std::uint64_t key) { put(r, key, 1); },
                   [](std::uint64_t key, auto found) {
                     EXPECT_TRUE(found == key * 100 || found == 1u) << found.value_or(0);
                   });
}

/// The slot goes to other keys, and comes back to the key.
TYPED_TEST(Reader, IsNotFooledByASlotThatWasLentMeanwhile) {
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

/// Hole CCEH 14, and what the paper's reader lock is for: the segment is split, the key
/// changed where it now lives, its old slot filled by others.
TYPED_TEST(Reader, FindsAKeyWhileTheTableGrows) {
  this->everywhere(
      [](auto& r, std::uint64_t key) {
        for (std::uint64_t other = 1000; other < 1100; ++other) put(r, other, 777);
        put(r, key, 1);
        for (std::uint64_t other = 1100; other < 1200; ++other) put(r, other, 777);
      },
      [](std::uint64_t key, auto found) {
        ASSERT_TRUE(found.has_value()) << "a key that was there throughout was reported absent";
        EXPECT_TRUE(*found == key * 100 || *found == 1) << *found;
      });
}

TYPED_TEST(Reader, FindsAKeyWhileTheTableIsCompacted) {
  this->everywhere(
      [](auto& r, std::uint64_t key) {
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

TYPED_TEST(Reader, DoesNotInventAKeyThatIsAbsent) {
  interrupt_everywhere<TypeParam>(
      5000,
      [](auto& r) {
        for (std::uint64_t other = 1000; other < 1040; ++other) put(r, other, 777);
      },
      [](auto found) { EXPECT_FALSE(found.has_value()); });
}

/// The other way round: a writer is interrupted before each of its steps by a reader, and right
/// after the read the power goes. What the reader was given must be on the medium (hole X1).
template <class With, class Writer>
int read_then_lose_power(std::uint64_t key, Writer writer) {
  for (int at = 1;; ++at) {
    auto r = make_same(static_cast<typename With::rig_type*>(nullptr), With::settings());
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
    auto found = after_cut(r.get(), image);
    EXPECT_NE(found, nullptr);
    if (!found) continue;
    EXPECT_EQ(get(*found, key), given)
        << "a value that a reader was given before step " << at << " was undone";
  }
}

TYPED_TEST(Reader, X1IsNotGivenWhatAPowerCutUndoes) {
  auto of = [&](std::uint64_t key, auto writer) {
    return read_then_lose_power<TypeParam>(key, writer);
  };
  EXPECT_GE(of(7, [](auto& r) { put(r, 7, 1); }), 3);
  EXPECT_GE(of(7, [](auto& r) { erase(r, 7); }), 3);
  EXPECT_GE(of(500, [](auto& r) { put(r, 500, 1); }), 3);
#ifdef DURAHASH_SANITIZED
  constexpr int others = 10;
#else
  constexpr int others = 40;
#endif
  auto among_others = [](auto& r) {
    for (std::uint64_t n = 0; n < others; ++n) put(r, 1000 + n, 777);
    put(r, 7, 1);
  };
  EXPECT_GE(of(7, among_others), 5 * others / 2);
}

}  // namespace reader_interruption
}  // namespace durahash::test
