// A log and its ring that grow: where each place stands, and what small pools cost.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <vector>

#include "cut_run.hpp"
#include "disk/log_ring.hpp"
#include "disk/planted.hpp"

namespace durahash::test {
namespace {

// ------------------------------------------------------------------------------------------- areas

/// Draws a life of a log: places are taken and written, checkpoints free some, the file grows.
/// Nothing, or what is wrong: each place that is needed has a slot of its own, at all times.
std::string live_areas(random_stream& draw) {
  log_areas areas = log_areas::of(min_slots);
  std::map<std::uint64_t, std::uint64_t> holds;  // by slot: the place
  std::uint64_t from = 0, head = 0, growths = 0;
  for (int step = 0; step < 4000; ++step) {
    std::uint64_t end = areas.end(from) - page_of_entries;  // a page is written whole
    switch (draw.below(12)) {
      case 0: {
        from += draw.below(head - from + 1);
        areas.forget_before(from);
        break;
      }
      case 1: {
        if (!areas.may_grow() || areas.slots() > 64 * min_slots || !draw.one_in(4)) break;
        areas.grow(from, areas.slots() + min_slots * (1 + draw.below(5)));
        if (areas.newest().first < head) return "a place was taken before its area";
        ++growths;
        break;
      }
      default:
        for (std::uint64_t n = draw.below(200); n > 0 && head < end; --n, ++head) {
          std::uint64_t slot = areas.slot_of(head);
          if (slot >= areas.slots()) return "a slot behind the file's end";
          auto at = holds.find(slot);
          if (at != holds.end() && at->second >= from)
            return "place " + std::to_string(head) + " stands over " + std::to_string(at->second);
          if (slot % page_of_entries != head % page_of_entries) return "a page is torn";
          holds[slot] = head;
        }
    }
    if (!areas.is_sound()) return "the record would not be whole";
    for (int i = 0; i < 4 && from < head; ++i) {
      std::uint64_t place = from + draw.below(head - from), run = areas.run_from(place);
      if (holds[areas.slot_of(place)] != place)
        return "place " + std::to_string(place) + " is lost";
      if (run == 0 || areas.slot_of(place + run - 1) != areas.slot_of(place) + run - 1)
        return "a run that is none";
    }
  }
  return growths > 2 ? "" : "it has not grown";
}

TEST(LogGrowth, EachPlaceHasASlotOfItsOwn) {
  random_stream draw(stream_seed("LogAreas"));
  for (int tries = 0; tries < (long_run() ? 2000 : 50); ++tries) ASSERT_EQ(live_areas(draw), "");
}

TEST(LogGrowth, TheNewAreaWaitsForTheOldOnes) {
  for (const char* bug : {"a-grown-log-goes-round-too-early", "an-area-forgotten-too-early"}) {
    random_stream draw(stream_seed(bug));
    std::string wrong;
    planted_disk_bug = bug;
    for (int tries = 0; tries < 50 && wrong.empty(); ++tries) wrong = live_areas(draw);
    planted_disk_bug = nullptr;
    EXPECT_NE(wrong, "") << bug;
  }
}

// -------------------------------------------------------------------------------------------- ring

/// Entries are written as far as there is room, some become durable, the ring grows; each that is
/// not durable is where its place says, as it was written.
std::string live_ring(log_ring& ring, random_stream& draw) {
  std::uint64_t head = ring.head(), growths = 0;
  auto is_there = [&](std::uint64_t place) {
    return ring.is_written(place) && ring.slot(place).head == place;
  };
  for (int step = 0; step < 3000; ++step) {
    if (draw.one_in(2)) {
      std::uint64_t end = std::min(ring.limit(), head + draw.below(ring.slots()));
      for (; head < end; ++head) {
        if (ring.is_written(head)) return "a slot is taken before it is written";
        log_entry& e = ring.slot(head);
        e.head = head;
        e.seal = ring.lap(head);
      }
    } else {
      std::uint64_t limit = ring.limit();
      ring.durable() = ring.durable() + draw.below(head - ring.durable() + 1);
      if (ring.limit() < limit) return "places have lost their slots";
    }
    if (ring.slots() < 16 * page_of_entries && draw.one_in(40) && ring.may_grow()) {
      ring.provide(4 * ring.slots());
      ring.grow(4 * ring.slots());
      ++growths;
    }
    for (std::uint64_t place = ring.durable(); place < head; place += 1 + draw.below(50)) {
      if (!is_there(place)) return "place " + std::to_string(place) + " is lost";
      std::uint64_t run = ring.run_from(place);
      if (run == 0 || &ring.slot(place + run - 1) != &ring.slot(place) + (run - 1))
        return "a run that is none";
    }
  }
  ring.head() = head;
  return growths > 1 ? "" : "it has not grown";
}

TEST(RingGrowth, EachPlaceIsWhereItWasWritten) {
  random_stream draw(stream_seed("LogRing"));
  for (int tries = 0; tries < (long_run() ? 200 : 10); ++tries) {
    log_ring ring = log_ring::in_memory(page_of_entries, page_of_entries * draw.below(1000));
    ASSERT_EQ(live_ring(ring, draw), "");
  }
  std::string wrong;
  planted_disk_bug = "a-ring-whose-places-move";
  for (int tries = 0; tries < 10 && wrong.empty(); ++tries) {
    log_ring ring = log_ring::in_memory(page_of_entries, page_of_entries * draw.below(1000));
    wrong = live_ring(ring, draw);
  }
  planted_disk_bug = nullptr;
  EXPECT_NE(wrong, "");
}

/// Another process finds it as it was left, at any moment of its growth.
TEST(RingGrowth, IsFoundByTheNextProcess) {
  random_stream draw(stream_seed("RingOfTheNext"));
  scratch_folder folder(disk_folder());
  write_file(folder.file("like"), "");
  int like = ::open(folder.file("like").c_str(), O_RDWR);
  struct stat pool {};
  ASSERT_EQ(::fstat(like, &pool), 0);
  const std::string path = "/dev/shm/durahash-test-" + std::to_string(draw.next()) + ".ring";
  const log_ring::id id{7};
  for (int tries = 0; tries < 20; ++tries) {
    auto ring = log_ring::on_tmpfs(path, like, page_of_entries, id, 9, 512);
    ASSERT_TRUE(ring) << ring.failure().message;
    EXPECT_FALSE(*log_ring::left_behind(path, pool, id, 9)) << "it has no name yet";
    ASSERT_EQ(ring->appear().code, status::ok);
    ring->remove_at_end();
    ASSERT_EQ(live_ring(*ring, draw), "");
    auto found = log_ring::left_behind(path, pool, id, 9);
    ASSERT_TRUE(found && *found);
    EXPECT_EQ((*found)->head(), ring->head());
    for (std::uint64_t place = ring->durable(); place < ring->head(); ++place) {
      ASSERT_TRUE((*found)->is_written(place));
      ASSERT_EQ((*found)->slot(place).head, place);
    }
    EXPECT_FALSE(*log_ring::left_behind(path, pool, id, 8)) << "that of another opening";
  }
  ::close(like);
}

// ------------------------------------------------------------------------------------------- pools

std::uint64_t bytes_on_disk(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 ? static_cast<std::uint64_t>(facts.st_size) : 0;
}

constexpr std::uint64_t small = 512 << 10;

TEST(LogGrowth, ALogIsSmallGrowsWithItsLoadAndIsSmallAgain) {
  for (durability_level level : {durability_level::power, durability_level::power_buffered}) {
    SCOPED_TRACE(name_of(level));
    small_first_logs at_any_pace;
    planted_first_slots = 4 * min_slots;
    const disk_setup with{engine_kind::turbo, data_kind::u64, level, 8 << 20};
    scratch_folder folder(disk_folder());
    std::string path = folder.file("pool.dh");
    auto pool = table::open(path, with.how());
    ASSERT_TRUE(pool);
    EXPECT_LE(bytes_on_disk(path + "-log"), small);
    double ring = figure_of(*pool, "log_ring_bytes");
    EXPECT_LE(ring, 128 << 10);
    std::vector<std::string> names, values;
    for (std::uint64_t n = 0; n < 1000; ++n)
      names.push_back(key_of(n)), values.push_back(value_of(with, n));
    std::vector<std::string_view> k(names.begin(), names.end()), v(values.begin(), values.end());
    std::vector<status> answers(k.size());
    for (int i = 0; i < 400 && figure_of(*pool, "checkpoints") < 1; ++i)
      pool->put_many(k, v, answers);
    EXPECT_EQ(pool->sync(), status::ok);
    EXPECT_GE(figure_of(*pool, "log_growths"), 2);
    EXPECT_GT(figure_of(*pool, "log_file_bytes"), 7 << 20);
    EXPECT_LE(figure_of(*pool, "log_file_bytes"), 8 << 20);
    EXPECT_EQ(figure_of(*pool, "log_file_bytes"), bytes_on_disk(path + "-log"));
    EXPECT_GT(figure_of(*pool, "log_ring_bytes"), ring);
    EXPECT_LT(figure_of(*pool, "log_bytes_in_use"), 8 << 20);
    ASSERT_EQ(pool->close(), status::ok);
    EXPECT_LE(bytes_on_disk(path + "-log"), small);
    auto again = table::open(path);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->size(), 1000u);
  }
}

/// A log may be as long as its pool, which grows a little at a time. A new area that is shorter
/// than the room for the hasty ends in a writer that waits for ever: "", or which step was short.
std::string steps_of_a_log_beside_its_pool() {
  small_first_logs at_any_pace;
  const disk_setup with{engine_kind::turbo, data_kind::bytes, durability_level::power_buffered, 0};
  scratch_folder folder(disk_folder());
  auto pool = table::open(folder.file("pool.dh"), with.how());
  double last = figure_of(*pool, "log_file_bytes");
  const std::string value(64 << 10, 'v');
  // how far it grows with so many depends on who is faster, these puts or those who write pages
  constexpr std::uint64_t usual = 1800, most = 6000;
  constexpr double enough = 80 << 20;
  for (std::uint64_t n = 0; n < usual || (last <= enough && n < most); ++n) {
    if (pool->put(key_of(n), value) != status::ok) return "a put fails";
    const double now = figure_of(*pool, "log_file_bytes");
    if (now > last && now < 1.4 * last)
      return "from " + std::to_string(last) + " to " + std::to_string(now);
    last = now;
  }
  return last > enough ? "" : "it has not grown";
}

TEST(LogGrowth, NoStepIsShorterThanTheRoomForTheHasty) {
  EXPECT_EQ(steps_of_a_log_beside_its_pool(), "");
  planted_disk_bug = "a-log-grows-by-short-steps";
  EXPECT_NE(steps_of_a_log_beside_its_pool(), "");
  planted_disk_bug = nullptr;
}

TEST(LogGrowth, ManySmallPoolsAreCheap) {
#ifdef DURAHASH_SANITIZED
  GTEST_SKIP() << "a sanitizer's own memory is counted, too";
#endif
  const disk_setup with{engine_kind::turbo, data_kind::bytes, durability_level::power, 0};
  const std::uint64_t pools = long_run() ? 1000 : 40;
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  rlimit more{files.rlim_max, files.rlim_max};
  if (more.rlim_cur < 6 * pools + 100) GTEST_SKIP() << "too few files may be open";
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &more), 0);
  scratch_folder folder(disk_folder());
  std::vector<table> all;
  const std::uint64_t before = own_bytes();
  for (std::uint64_t i = 0; i < pools; ++i) {
    auto pool = table::open(folder.file(std::to_string(i) + ".dh"), with.how());
    ASSERT_TRUE(pool) << pool.failure().message;
    ASSERT_EQ(pool->put(key_of(i), value_of(with, i)), status::ok);
    all.push_back(std::move(*pool));
  }
  const std::uint64_t each = (own_bytes() - before) / pools;
  std::uint64_t logs = 0;
  for (std::uint64_t i = 0; i < pools; ++i) {
    std::uint64_t log = bytes_on_disk(folder.file(std::to_string(i) + ".dh-log"));
    EXPECT_LE(log, small);
    logs += log;
  }
  EXPECT_LE(each, 1u << 20);
  std::printf("%llu pools: %llu bytes of log and %llu of memory each\n",
              static_cast<unsigned long long>(pools), static_cast<unsigned long long>(logs / pools),
              static_cast<unsigned long long>(each));
  all.clear();
  ::setrlimit(RLIMIT_NOFILE, &files);
}

}  // namespace
}  // namespace durahash::test
