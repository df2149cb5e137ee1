// Every moment of a short run on a disk, and of the opening behind a cut: not drawn, one by one.
#include <gtest/gtest.h>

#include <functional>

#include "cut_run.hpp"
#include "disk/planted.hpp"

namespace durahash::test {
namespace {

using sectors = std::vector<bool>;  // which of those that nobody had waited for are new

/// All subsets of few. Of many: none and all; the first n, for every n, as a write that is torn
/// there; each that is old alone, and each that is new alone; some drawn. In a short run some of
/// these.
std::vector<sectors> subsets(std::size_t count, random_stream& draw) {
  constexpr std::size_t few = 4;
  std::vector<sectors> all;
  if (count <= few) {
    for (std::size_t bits = 0; bits < std::size_t{1} << count; ++bits) {
      sectors s(count);
      for (std::size_t i = 0; i < count; ++i) s[i] = (bits >> i & 1) != 0;
      all.push_back(std::move(s));
    }
    return all;
  }
  const std::size_t some = long_run() ? count : 1;
  all.push_back(sectors(count, false)), all.push_back(sectors(count, true));
  for (std::size_t i = 0; i < some; ++i) {
    std::size_t at = some == count ? i : draw.below(count);
    sectors torn(count, false), hole(count, true), alone(count, false), drawn(count);
    std::fill_n(torn.begin(), at, true);
    hole[at] = false, alone[at] = true;
    for (std::size_t n = 0; n < count; ++n) drawn[n] = draw.one_in(2);
    for (sectors* s : {&torn, &hole, &alone, &drawn}) all.push_back(std::move(*s));
  }
  return all;
}

struct tried {
  std::uint64_t moments = 0, images = 0;
  std::string complaint;
};

/// Cuts the run at each of its moments, in each of these ways. Stops at the first complaint.
tried cut_everywhere(const recorded_run& life, const std::string& path, random_stream& draw,
                     const std::function<std::string(table&, std::uint64_t)>& judge) {
  tried so_far;
  std::uint64_t same = 0;
  for (std::uint64_t moment = life.first; moment <= life.last; ++moment, ++so_far.moments)
    for (const sectors& is_new : subsets(life.disk.unwaited_at(moment), draw)) {
      life.restore(moment, is_new);
      std::string where = " (cut at " + std::to_string(moment) + " of " +
                          std::to_string(life.last) + ", seed " + std::to_string(run_seed()) + ")";
      // who only reads does without the recovery
      if (life.with.has_reader_beside() && so_far.images % 4 == 0) {
        auto reader = table::open(path, {.mode = open_mode::read_beside});
        std::string wrong = reader ? judge(*reader, moment) : reader.failure().message;
        if (!wrong.empty())
          return so_far.complaint = wrong + ", as read without an opening" + where, so_far;
      }
      auto pool = table::open(path, life.with.how());
      if (!pool) return so_far.complaint = pool.failure().message + where, so_far;
      ++so_far.images;
      std::string wrong = judge(*pool, moment);
      if (!wrong.empty()) return so_far.complaint = wrong + where, so_far;
      if (++same % 16 == 0 && pool->close() != status::ok)
        return so_far.complaint = "it does not close" + where, so_far;
    }
  return so_far;
}

class EveryMoment : public testing::TestWithParam<disk_setup> {
  no_waits at_once_;
};

/// One of each engine, drawn.
std::vector<disk_setup> setups() {
  std::vector<disk_setup> chosen, all = disk_setups();
  for (std::size_t engine = 0; engine < 4; ++engine)
    for (std::size_t i = 0; i < 4; ++i)
      if (long_run() || (engine + i + run_seed()) % 4 == 0) chosen.push_back(all[engine * 4 + i]);
  return chosen;
}
INSTANTIATE_TEST_SUITE_P(All, EveryMoment, testing::ValuesIn(setups()), disk_setup_name());

TEST_P(EveryMoment, OfARunAndItsCloseLeavesWhatWasAcknowledged) {
  random_stream draw(stream_seed("EveryMoment." + GetParam().name()));
  small_first_logs grow;
  scratch_folder folder(disk_folder());
  std::string path = folder.file("pool.dh");
  ASSERT_TRUE(table::open(path, GetParam().how()));
  bool strict = GetParam().durability == durability_level::power;
  const std::uint64_t few = GetParam().value == data_kind::u64 ? 220 : 110;
  recorded_run life(path, GetParam(), 1, strict ? few : 400, draw);
  EXPECT_GT(life.growths, 0) << "the log has not grown";
  tried t = cut_everywhere(life, path, draw, [&](table& pool, std::uint64_t moment) {
    return life.judge(pool, moment);
  });
  EXPECT_EQ(t.complaint, "");
  EXPECT_GT(t.images, t.moments);
  std::printf("%s: %llu moments, %llu images\n", GetParam().name().c_str(),
              static_cast<unsigned long long>(t.moments),
              static_cast<unsigned long long>(t.images));
}

/// The opening replays a log, begins its own part of it, and writes; each write of it is cut.
TEST_P(EveryMoment, OfAnOpeningBehindACutLosesNothingOfIt) {
  random_stream draw(stream_seed("EveryMomentBehind." + GetParam().name()));
  small_first_logs grow;
  scratch_folder folder(disk_folder());
  std::string path = folder.file("pool.dh");
  ASSERT_TRUE(table::open(path, GetParam().how()));
  bool strict = GetParam().durability == durability_level::power;
  recorded_run life(path, GetParam(), 2, strict ? 60 : 400, draw);
  std::uint64_t images = 0;
  for (int cuts = 0; cuts < (long_run() ? 20 : 2); ++cuts) {
    std::uint64_t moment = life.first + draw.below(life.last - life.first);
    random_stream same = draw;
    life.restore(moment, draw);
    pool_state others;
    {
      auto pool = table::open(path, GetParam().how());
      ASSERT_TRUE(pool) << pool.failure().message;
      ASSERT_EQ(life.judge(*pool, moment), "");
      others = state_of(*pool, keys_each, keys_each);
    }
    life.restore(moment, same);
    // it writes on the keys of one thread; those of the other were on the disk before it
    recorded_run next(path, GetParam(), 1, 3, draw);
    next.first = next.opened_at;  // the opening's own writes, too
    tried t = cut_everywhere(next, path, draw, [&](table& pool, std::uint64_t) {
      if (check_report report = pool.check(); !report.ok) return report.violations.front();
      return std::string(state_of(pool, keys_each, keys_each) == others
                             ? ""
                             : "records that nobody wrote to have changed");
    });
    EXPECT_EQ(t.complaint, "") << "behind a cut at " << moment;
    images += t.images;
    if (HasFailure()) return;
  }
  std::printf("%s: %llu images\n", GetParam().name().c_str(),
              static_cast<unsigned long long>(images));
}

/// A killed process has written what it never waited for. What the next opening shows of it, and
/// builds on, is not lost by a loss of power behind that. Nothing, or the first complaint.
std::string cut_behind_kills(const disk_setup& with, int kills, std::uint64_t seed) {
  random_stream draw(seed);
  small_first_logs grow;
  scratch_folder folder(disk_folder());
  std::string path = folder.file("pool.dh");
  if (auto pool = table::open(path, with.how()); !pool) return pool.failure().message;
  recorded_run life(path, with, 2, 60, draw);
  for (; kills > 0; --kills) {
    // half of them where much was written and not waited for, in the checkpoint of the close
    std::uint64_t tail = std::min<std::uint64_t>(life.last - life.first, 16);
    std::uint64_t moment = kills % 2 == 0 ? life.first + draw.below(life.last - life.first)
                                          : life.last - draw.below(tail);
    life.restore_killed(moment);
    pool_state others;
    {
      auto pool = table::open(path, with.how());
      if (!pool) return pool.failure().message;
      if (std::string wrong = life.judge(*pool, moment); !wrong.empty()) return wrong;
      others = state_of(*pool, keys_each, keys_each);
    }
    life.restore_killed(moment);
    recorded_run next(life, moment, path, 3, draw);
    tried t = cut_everywhere(next, path, draw, [&](table& pool, std::uint64_t) {
      if (check_report report = pool.check(); !report.ok) return report.violations.front();
      return std::string(state_of(pool, keys_each, keys_each) == others
                             ? ""
                             : "records that the opening had shown have changed");
    });
    if (!t.complaint.empty()) return t.complaint + ", behind a kill at " + std::to_string(moment);
  }
  return {};
}

TEST_P(EveryMoment, OfAnOpeningBehindAKillLosesNothingOfIt) {
  if (GetParam().durability != durability_level::power)
    GTEST_SKIP() << "the ring of a killed process is not restored: DiskKill";
  EXPECT_EQ(cut_behind_kills(GetParam(), long_run() ? 60 : 6,
                             stream_seed("EveryMomentKill." + GetParam().name())),
            "");
}

}  // namespace
}  // namespace durahash::test
