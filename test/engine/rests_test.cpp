// What scans leave for later calls is never older than the scan that takes it.
#include <gtest/gtest.h>

#include "engine/frame/rests.hpp"
#include "engine/kinds.hpp"

namespace durahash::test {
namespace rests {

using rest = rest_of_stretch<word_records>;
using rests = rests_of_scans<word_records>;

/// Of these hashes, of a stretch that ends at `end`. The keys are the hashes but for `mark`.
rest rest_of(std::initializer_list<std::uint64_t> hashes, std::uint64_t end,
             std::uint64_t mark = 0) {
  rest made(end);
  for (std::uint64_t hash : hashes) made.add(hash, hash + mark);
  return made;
}
/// The first key there, 0 if there is none. What was taken is put back.
std::uint64_t key_at(rests& all, std::uint64_t position) {
  std::uint64_t readings = 0;
  auto found = all.take(position, readings);
  if (!found) return 0;
  const std::uint64_t key = found->key();
  all.put_back(std::move(*found), readings);
  return key;
}

constexpr std::uint64_t stretch_end = 1 << 20, hash = 5001;

TEST(RestsOfScans, OneIsTakenWhereItBegins) {
  rests all;
  all.leave(rest_of({hash, hash + 7}, stretch_end), 0, stretch_end, all.readings());
  EXPECT_EQ(key_at(all, hash + 7), 0u);
  EXPECT_EQ(key_at(all, hash), hash);
  EXPECT_EQ(key_at(all, hash), hash) << "it was put back";
  std::uint64_t readings = 0;
  auto taken = all.take(hash, readings);
  ASSERT_TRUE(taken);
  EXPECT_EQ(key_at(all, hash), 0u) << "it is another's";
  taken->pass();
  EXPECT_EQ(taken->position(), hash + 7);
  taken->pass();
  EXPECT_TRUE(taken->is_over());
  EXPECT_EQ(taken->position(), stretch_end);
}

TEST(RestsOfScans, WhoReadsAStretchAnewDropsWhatOthersHaveLeftOfIt) {
  rests all;
  all.leave(rest_of({hash, hash + 7}, stretch_end, 1), 0, stretch_end, all.readings());
  // what begins in front of it, too: its holder may get on
  all.leave(rest_of({hash + 7}, stretch_end, 2), hash + 1, stretch_end, all.readings());
  EXPECT_EQ(key_at(all, hash), 0u);
  EXPECT_EQ(key_at(all, hash + 7), hash + 9);
  all.leave(std::nullopt, 0, stretch_end, all.readings());  // it had no memory for one
  EXPECT_EQ(key_at(all, hash + 7), 0u);
}

TEST(RestsOfScans, StretchesSideBySideLeaveEachOtherAlone) {
  rests all;
  all.leave(rest_of({hash}, stretch_end), 0, stretch_end, all.readings());
  const std::uint64_t behind = stretch_end + 3;
  all.leave(rest_of({behind}, 0), stretch_end, 0, all.readings());
  EXPECT_EQ(key_at(all, hash), hash);
  EXPECT_EQ(key_at(all, behind), behind);
}

TEST(RestsOfScans, WhatIsTakenDoesNotComeBackBehindAReading) {
  rests all;
  all.leave(rest_of({hash}, stretch_end, 1), 0, stretch_end, all.readings());
  std::uint64_t readings = 0;
  auto held = all.take(hash, readings);
  ASSERT_TRUE(held);
  all.leave(rest_of({hash}, stretch_end, 2), 0, stretch_end, all.readings());
  std::uint64_t newer_readings = 0;
  auto newer = all.take(hash, newer_readings);  // so that nothing lies there to be compared with
  ASSERT_TRUE(newer);
  all.put_back(std::move(*held), readings);
  EXPECT_EQ(key_at(all, hash), 0u) << "it is older than the scan that would take it";
  all.put_back(std::move(*newer), newer_readings);
  EXPECT_EQ(key_at(all, hash), hash + 2);
}

TEST(RestsOfScans, WhatWasReadBeforeAnotherReadingIsNotLeftBehindIt) {
  rests all;
  const std::uint64_t before = all.readings();  // begins to read
  all.leave(rest_of({hash}, stretch_end, 1), 0, stretch_end, all.readings());
  all.leave(rest_of({hash}, stretch_end, 2), 0, stretch_end, before);
  EXPECT_EQ(key_at(all, hash), 0u) << "neither is known to be the later one";
}

TEST(RestsOfScans, NoneBeginsWhereAStretchMay) {
  rests all;
  const std::uint64_t boundary = 5 * stretch_end;
  all.leave(rest_of({boundary}, 0), 1, 0, all.readings());
  EXPECT_EQ(key_at(all, boundary), 0u) << "who comes from the stretch in front may be a later scan";
}

TEST(RestsOfScans, AFewAreKept) {
  rests all;
  std::uint64_t found = 0;
  for (std::uint64_t n = 1; n <= 100; ++n)
    all.leave(rest_of({n * stretch_end + 1}, (n + 1) * stretch_end), n * stretch_end,
              (n + 1) * stretch_end, all.readings());
  for (std::uint64_t n = 1; n <= 100; ++n) found += key_at(all, n * stretch_end + 1) != 0;
  EXPECT_EQ(found, 4u);
  EXPECT_NE(key_at(all, 100 * stretch_end + 1), 0u) << "the latest is";
}

}  // namespace rests
}  // namespace durahash::test
