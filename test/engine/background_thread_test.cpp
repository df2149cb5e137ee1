// The background's thread is the process's. A table's job that waited there for who holds the
// table, a check or a device, would hold up the jobs of all pools: it gives way, and is asked for
// later.
#include <gtest/gtest.h>

#include <functional>

#include "test/engine/held_thread.hpp"
#include "test/engine/level_rig.hpp"

namespace durahash::test {
namespace background_thread {

/// Work on a table, behind which a job of it is waiting for the thread.
using work = std::function<void()>;

/// Then somebody has the table. The thread gets through, and the job is done `afterwards`.
template <class Rig>
void expect_no_waiting(Rig& r, const work& ask, const work& afterwards) {
  held_thread thread;
  ask();
  r.t->lock_all();
  const bool through = thread.gets_through();
  r.t->unlock_all();
  EXPECT_TRUE(through);
  afterwards();
}

template <class Rig>
void insert(Rig& r, std::uint64_t from, std::uint64_t to) {
  for (std::uint64_t n = from; n < to; ++n) ASSERT_EQ(put_short(r, random_key(n)), status::ok);
}

TEST(BackgroundThread, GphashAsksForALevel) {
  options how;
  how.settings = {{"levels", 2}};
  auto r = make_rig<plain_medium, word_records, gphash_engine>(how);
  // a level of 2 MB is asked for
  expect_no_waiting(
      *r, [&] { insert(*r, 0, 80'000); }, [&] { insert(*r, 80'000, 160'000); });
  EXPECT_EQ(r->t->size(), 160'000u);
}

TEST(BackgroundThread, GphashLoadsCopies) {
  options how;
  how.settings = {{"cache", 20}};
  how.capacity = 4'000;
  auto r = make_rig<plain_medium, word_records, gphash_engine>(how);
  insert(*r, 0, 4'000);
  const double loads = figures(*r)["cache_loads"];
  auto search = [&] {
    for (std::uint64_t n = 0; n < 200'000; ++n) ASSERT_TRUE(r->get(random_key(n % 4'000)));
  };
  expect_no_waiting(*r, search, [&] {
    EXPECT_EQ(figures(*r)["cache_loads"], loads);
    while (figures(*r)["cache_loads"] == loads) search();  // ends: it is time again
  });
}

TEST(BackgroundThread, LevelPreparesALevel) {
  auto r = make_level<plain_medium, word_records>(level_of(4));
  const std::uint64_t records = 100'000;
  expect_no_waiting(
      *r, [&] { insert(*r, 0, records); }, [&] { insert(*r, records, 2 * records); });
  EXPECT_EQ(r->t->size(), 2 * records);
}

TEST(BackgroundThread, LevelShrinks) {
  auto r = make_level<plain_medium, word_records>(level_of(4));
  constexpr std::uint64_t records = 400'000, kept = 20'000;
  insert(*r, 0, records);
  auto erase = [&](std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t n = from; n < to; ++n) ASSERT_EQ(r->erase(random_key(n)), status::ok);
  };
  const double shrinks = figures(*r)["shrinks"];
  expect_no_waiting(
      *r, [&] { erase(kept, records - 10'000); },
      [&] {
        EXPECT_EQ(figures(*r)["shrinks"], shrinks);
        erase(records - 10'000, records);
      });
  EXPECT_EQ(r->t->size(), kept);
}

}  // namespace background_thread
}  // namespace durahash::test
