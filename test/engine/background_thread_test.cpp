// The background's thread is the process's. A table's job that waited there for who holds the table,
// a check or a device, would hold up the jobs of all pools: it gives way, and is asked for again.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>

#include "base/background.hpp"
#include "test/engine/engine_rig.hpp"
#include "test/engine/level_rig.hpp"

namespace durahash::test {
namespace {

/// Keeps the thread until it is let go.
class held_thread {
 public:
  held_thread() {
    EXPECT_TRUE(others_.submit([this](const background&) { go_on_.get_future().wait(); }));
  }
  ~held_thread() { others_.stop(); }

  /// Whether it does all that was asked for, with nobody's help.
  bool gets_through() {
    std::future<void> done = came_.get_future();
    EXPECT_TRUE(others_.submit([this](const background&) { came_.set_value(); }));
    go_on_.set_value();
    return done.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  }

 private:
  background others_;
  std::promise<void> go_on_, came_;
};

/// Work on a table, behind which a job of it is waiting for the thread.
using work = std::function<void()>;

/// Then somebody has the table. The thread gets through, and `afterwards` the job is done after all.
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
  expect_no_waiting(*r, [&] { insert(*r, 0, 80'000); }, [&] { insert(*r, 80'000, 160'000); });
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
  expect_no_waiting(*r, [&] { insert(*r, 0, records); }, [&] { insert(*r, records, 2 * records); });
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
  expect_no_waiting(*r, [&] { erase(kept, records - 10'000); },
                    [&] {
                      EXPECT_EQ(figures(*r)["shrinks"], shrinks);
                      erase(records - 10'000, records);
                    });
  EXPECT_EQ(r->t->size(), kept);
}

}  // namespace
}  // namespace durahash::test
