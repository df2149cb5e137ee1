// The free extents of a pool against a map of its pages: a request is answered whenever a hole
// fits, and by the frontmost one.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "persist/free_space.hpp"
#include "persist/size_class.hpp"
#include "test/store/random.hpp"

namespace durahash::test {
namespace {

constexpr std::uint64_t page = page_bytes;

/// A character for each page: what free_space says in a cleverer way. Its searches are the
/// library's: loops without optimisation, under a sanitizer, took half a minute.
class page_map {
 public:
  static constexpr char is_there = 'f', is_gone = '.';

  explicit page_map(std::size_t pages) : pages_(pages, is_gone) {}

  void give(std::uint64_t offset, std::uint64_t bytes) { set(offset, bytes, is_there); }
  void take(std::uint64_t offset, std::uint64_t bytes) { set(offset, bytes, is_gone); }

  /// The frontmost place, looked for page by page.
  std::optional<std::uint64_t> frontmost(std::uint64_t bytes, std::uint64_t alignment) const {
    std::uint64_t step = std::max(alignment, page) / page, wanted = bytes / page;
    for (std::uint64_t first = 0; first + wanted <= pages_.size(); first += step)
      if (is_free(first * page, bytes)) return first * page;
    return std::nullopt;
  }
  bool is_free(std::uint64_t offset, std::uint64_t bytes) const {
    return at(offset, bytes).find(is_gone) == std::string_view::npos;
  }
  bool is_taken(std::uint64_t offset, std::uint64_t bytes) const {
    return at(offset, bytes).find(is_there) == std::string_view::npos;
  }
  std::uint64_t bytes() const { return free_ * page; }
  const std::string& all() const { return pages_; }

 private:
  std::string_view at(std::uint64_t offset, std::uint64_t bytes) const {
    return std::string_view(pages_).substr(offset / page, bytes / page);
  }
  void set(std::uint64_t offset, std::uint64_t bytes, char what) {
    const auto were = static_cast<std::uint64_t>(std::ranges::count(at(offset, bytes), is_there));
    pages_.replace(offset / page, bytes / page, bytes / page, what);
    free_ += (what == is_there ? bytes / page : 0) - were;
  }

  std::string pages_;
  std::uint64_t free_ = 0;  // pages
};

/// Extents are maximal, lie in order, and say what the map says.
void expect_same(const free_space& space, const page_map& wanted) {
  EXPECT_EQ(space.bytes(), wanted.bytes());
  std::string told(wanted.all().size(), page_map::is_gone);
  std::uint64_t end_of_last = 0;
  bool first = true;
  space.for_each([&](std::uint64_t offset, std::uint64_t bytes) {
    EXPECT_TRUE(first || offset > end_of_last) << "neighbours at " << offset << " are not joined";
    first = false;
    end_of_last = offset + bytes;
    told.replace(offset / page, bytes / page, bytes / page, page_map::is_there);
  });
  EXPECT_TRUE(told == wanted.all()) << "other pages are free than were given";
}

/// Takes, and compares with the map.
std::optional<std::uint64_t> take(free_space& space, page_map& wanted, std::uint64_t bytes,
                                  std::uint64_t alignment) {
  auto expected = wanted.frontmost(bytes, alignment);
  auto found = space.take(bytes, alignment);
  EXPECT_EQ(found.has_value(), expected.has_value())
      << (found ? "a place where none fits"
                : "no place, although a hole fits at " + std::to_string(*expected))
      << ": " << bytes << " bytes, alignment " << alignment;
  if (!found) return found;
  EXPECT_EQ(*found % alignment, 0u);
  EXPECT_TRUE(wanted.is_free(*found, bytes)) << "what was taken was not free";
  wanted.take(*found, bytes);
  return found;
}

TEST(FreeSpace, TakesAHoleOfExactlyTheSizeBehindManyThatAreTooShort) {
  // 5, 6 and 7 pages are of one order. The search looked at sixteen extents of it.
  for (std::uint64_t many : {1u, 15u, 16u, 17u, 40u, 800u}) {
    SCOPED_TRACE(std::to_string(many) + " holes in front");
    free_space space;
    for (std::uint64_t n = 0; n < many; ++n) space.give(n * 8 * page, 5 * page);
    std::uint64_t exact = many * 8 * page;
    space.give(exact, 7 * page);
    EXPECT_EQ(space.take(7 * page, page), exact);
    EXPECT_EQ(space.take(7 * page, page), std::nullopt);
    EXPECT_EQ(space.bytes(), many * 5 * page);
  }
}

TEST(FreeSpace, TakesAnAlignedHoleBehindManyThatAreLongEnoughAndBadlyAligned) {
  for (std::uint64_t many : {1u, 16u, 17u, 100u}) {
    SCOPED_TRACE(std::to_string(many) + " holes in front");
    free_space space;
    for (std::uint64_t n = 0; n < many; ++n)
      space.give(n * 3 * slab_bytes + page,
                 20 * page);  // a slab fits none: 15 pages to the next boundary
    std::uint64_t good = many * 3 * slab_bytes;
    space.give(good, slab_bytes);
    EXPECT_EQ(space.take(slab_bytes, slab_bytes), good);
    EXPECT_EQ(space.take(slab_bytes, slab_bytes), std::nullopt);
  }
}

TEST(FreeSpace, TakesAHoleOfALargerOrderWhenAlignmentSpoilsManyOfThem) {
  free_space space;
  for (std::uint64_t n = 0; n < 50; ++n)
    space.give(n * 64 * page + page, 30 * page);  // orders above that of 16 pages, and 15 + 16 > 30
  space.give(50 * 64 * page, 30 * page);
  EXPECT_EQ(space.take(16 * page, 16 * page), 50 * 64 * page);
}

TEST(FreeSpace, PrefersTheFrontmostHoleThatFits) {
  free_space space;
  space.give(100 * page, 64 * page);  // of a higher order, and behind
  space.give(40 * page, 3 * page);
  space.give(20 * page, 2 * page);
  EXPECT_EQ(space.take(2 * page, page), 20 * page);
  EXPECT_EQ(space.take(2 * page, page), 40 * page);
  EXPECT_EQ(space.take(2 * page, page), 100 * page);
  EXPECT_EQ(space.take(page, page), 42 * page);
}

TEST(FreeSpace, FindsAFittingHoleWheneverThereIsOne) {
  constexpr std::uint64_t pages = 4096;
  constexpr std::uint64_t alignments[] = {page,     page,       page,     2 * page,
                                          4 * page, slab_bytes, 64 * page};
#ifdef DURAHASH_SANITIZED
  constexpr int rounds = 3;  // holes of all three kinds
#else
  constexpr int rounds = 12;
#endif
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round) + ", again with --seed " +
                 std::to_string(run_seed()));
    random_stream random(stream_seed("free space " + std::to_string(round)));
    free_space space;
    page_map wanted(pages);
    space.give(0, pages * page);
    wanted.give(0, pages * page);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> taken;
    std::uint64_t largest = round % 3 == 0 ? 8
                            : round % 3 == 1
                                ? 40
                                : 300;  // pages; small ones make many holes of an order
    for (int step = 0; step < 4000 && !testing::Test::HasFailure(); ++step) {
      bool give =
          !taken.empty() && (wanted.bytes() < page * random.below(pages / 2) || random.one_in(3));
      if (give) {
        std::size_t which = random.below(taken.size());
        auto [offset, bytes] = taken[which];
        taken[which] = taken.back();
        taken.pop_back();
        space.give(offset, bytes);
        wanted.give(offset, bytes);
      } else {
        std::uint64_t bytes = (1 + random.below(largest)) * page,
                      alignment = alignments[random.below(std::size(alignments))];
        if (auto found = take(space, wanted, bytes, alignment)) taken.push_back({*found, bytes});
      }
      if (step % 200 == 0) expect_same(space, wanted);
    }
    expect_same(space, wanted);
  }
}

TEST(FreeSpace, AnswersWithTheFrontmostPlaceInASpaceOfManyHoles) {
  // heap.hpp and compaction rely on it: the tail is given back only if the front fills first.
  constexpr std::uint64_t pages = 3000;
  random_stream random(stream_seed("frontmost"));
  for (int round = 0; round < 300 && !testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round) + ", again with --seed " +
                 std::to_string(run_seed()));
    free_space space;
    page_map wanted(pages);
    for (std::uint64_t at = random.below(4); at + 20 < pages;) {
      std::uint64_t length = 1 + random.below(20);
      space.give(at * page, length * page);
      wanted.give(at * page, length * page);
      at += length + 1 + random.below(4);
    }
    for (int request = 0; request < 20; ++request) {
      std::uint64_t bytes = (1 + random.below(20)) * page, alignment = page << random.below(5);
      auto expected = wanted.frontmost(bytes, alignment);
      EXPECT_EQ(take(space, wanted, bytes, alignment), expected)
          << bytes << " bytes, alignment " << alignment;
    }
  }
}

TEST(FreeSpace, TakesTheTailAndNothingElse) {
  free_space space;
  space.give(10 * page, 2 * page);
  space.give(30 * page, 10 * page);
  EXPECT_EQ(space.take_tail(50 * page), 50 * page);
  EXPECT_EQ(space.bytes(), 12 * page);
  EXPECT_EQ(space.take_tail(40 * page), 30 * page);
  EXPECT_EQ(space.take_tail(30 * page), 30 * page);
  EXPECT_EQ(space.bytes(), 2 * page);
}

}  // namespace
}  // namespace durahash::test
