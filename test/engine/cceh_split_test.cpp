// Two splits of CCEH that find at the same time that the directory has no room for theirs (hole
// CCEH 7).
#include <gtest/gtest.h>

#include <thread>

#include "test/engine/engine_rig.hpp"

namespace durahash::test {
namespace cceh_split {

/// Small segments: splits come soon.
options small(bool copy_on_write) {
  options how;
  how.settings = {{"segment", 3}, {"probe", 2}, {"copy_on_write", copy_on_write}};
  return how;
}

/// Keys that were not there, each of which makes this table, as `fill` made it, double its
/// directory. One of the left half of the hashes, one of the right.
struct doubling_keys {
  std::uint64_t from, to, left, right;  // filled with [from, to)
};
template <class Kind>
auto filled_with(bool copy_on_write, std::uint64_t from, std::uint64_t to) {
  auto r = make_rig<probing_medium, Kind, cceh_engine>(small(copy_on_write));
  for (std::uint64_t key = from; key < to; ++key) put(*r, key, key);
  return r;
}
template <class Kind>
std::optional<doubling_keys> doubling_keys_of(bool copy_on_write) {
  for (std::uint64_t n = 0; n < 1000; ++n) {
    const std::uint64_t from = 1 + 100 * n, to = from + 10 + n % 50;
    auto r = filled_with<Kind>(copy_on_write, from, to);
    double depth = figures(*r)["global_depth"];
    if (depth == 0) continue;
    std::optional<std::uint64_t> found[2];
    for (std::uint64_t key = 1'000'000; key < 1'000'040; ++key) {
      auto& side = found[hash_of(*r, key) >> 63];
      if (side) continue;
      auto tried = filled_with<Kind>(copy_on_write, from, to);
      put(*tried, key, key);
      if (figures(*tried)["global_depth"] == depth + 1) side = key;
    }
    if (found[0] && found[1]) return doubling_keys{from, to, *found[0], *found[1]};
  }
  return std::nullopt;
}

/// One split has found that its segment is as deep as the directory, and has not taken the
/// directory's lock: another one doubles the directory.
template <class Kind>
void double_once() {
  for (bool copy_on_write : {false, true}) {
    auto keys = doubling_keys_of<Kind>(copy_on_write);
    ASSERT_TRUE(keys.has_value())
        << "no table in which two segments are about to double the directory";
    for (int at = 1, tried = 0;; ++at, ++tried) {
      auto r = filled_with<Kind>(copy_on_write, keys->from, keys->to);
      double doublings = figures(*r)["doublings"];
      int fences = r->m->fences();
      bool in_time = false;
      r->m->interrupt_at(at, [&] {
        // the directory's lock is taken behind the split's first fence
        in_time = r->m->fences() == fences;
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
      for (std::uint64_t key = keys->from; key < keys->to; ++key) wanted[key] = key;
      EXPECT_EQ(difference(*r, wanted), "");
    }
  }
}
TEST(CcehSplit, Cceh7DoublesTheDirectoryOnceForTwoSplitsOfWords) { double_once<word_records>(); }
TEST(CcehSplit, Cceh7DoublesTheDirectoryOnceForTwoSplitsOfRecords) { double_once<byte_records>(); }

}  // namespace cceh_split
}  // namespace durahash::test
