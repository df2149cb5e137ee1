// Slabs with room, against a set.
#include "persist/slab_set.hpp"

#include <gtest/gtest.h>

#include <set>

#include "test/store/random.hpp"

namespace durahash::test {
namespace {

TEST(SlabSet, IsWhatASetIs) {
  random_stream draw(stream_seed("SlabSet.IsWhatASetIs"));
  slab_set tried;
  std::set<std::size_t> model;
  std::size_t covered = 0;
  for (int step = 0; step < 200'000; ++step) {
    if (step % 20'000 == 0) tried.cover(covered += 5'000);  // over words and words of the summary
    const std::size_t index = draw.below(covered);
    // fills, and runs empty
    if (draw.below(100) < (step / 50'000 % 2 == 0 ? 60U : 30U)) {
      tried.insert(index);
      model.insert(index);
    } else {
      const std::size_t gone = model.empty() || draw.one_in(2) ? index : *model.begin();
      tried.erase(gone);
      model.erase(gone);
    }
    ASSERT_EQ(tried.size(), model.size());
    ASSERT_EQ(tried.empty(), model.empty());
    if (!model.empty()) {
      ASSERT_EQ(tried.front(), *model.begin()) << "step " << step;
    }
  }
}

TEST(SlabSet, IsEmptyAndCoversAsMuchWhenItIsCleared) {
  slab_set tried;
  tried.cover(10'000);
  tried.insert(9'999);
  EXPECT_EQ(tried.front(), 9'999U);
  tried.clear();
  EXPECT_TRUE(tried.empty());
  tried.insert(4'097);
  EXPECT_EQ(tried.front(), 4'097U);
  tried.cover(5);  // no less
  tried.insert(9'999);
  tried.erase(4'097);
  EXPECT_EQ(tried.front(), 9'999U);
}

}  // namespace
}  // namespace durahash::test
