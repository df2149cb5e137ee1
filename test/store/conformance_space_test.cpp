// The contract of what does not mention a key: info, stats, reserve, compact, sync, check.
#include <sys/stat.h>

#include <filesystem>

#include "conformance.hpp"

namespace durahash::test {
namespace {

using Facts = conformance;
INSTANTIATE_TEST_SUITE_P(Every, Facts, testing::ValuesIn(tried_setups()), setup_name());

class Space : public conformance {
 protected:
  std::optional<double> pool_figure(std::string_view wanted) {
    for (const auto& [name, figure] : pool().pool().stats().figures)
      if (name == wanted) return figure;
    return std::nullopt;
  }
};
INSTANTIATE_TEST_SUITE_P(Every, Space, testing::ValuesIn(tried_setups()), setup_name());

using FileSpace = conformance;
INSTANTIATE_TEST_SUITE_P(Every, FileSpace, testing::ValuesIn(setups_that_reopen()), setup_name());

TEST_P(Facts, InfoSaysWhatThePoolIs) {
  pool_info info = pool().pool().info();
  EXPECT_EQ(info.engine, with().engine);
  EXPECT_EQ(info.key, with().key());
  EXPECT_EQ(info.value, with().value());
  EXPECT_EQ(info.durability, with().durability);
  EXPECT_EQ(info.medium, with().medium());
  EXPECT_GE(info.format_version, 1u);
}

TEST_P(Facts, InfoCountsRecordsAndSlots) {
  EXPECT_EQ(pool().pool().info().records, 0u);
  fill(0, 5000);
  for (std::uint64_t n = 0; n < 1000; ++n) ASSERT_EQ(pool().erase(key(n)), status::ok);
  pool_info info = pool().pool().info();
  EXPECT_EQ(info.records, 4000u);
  EXPECT_GE(info.slots, 4000u);
  EXPECT_LE(info.slots, 400'000u);
  EXPECT_NEAR(info.load_factor, 4000.0 / static_cast<double>(info.slots), 1e-9);
}

TEST_P(Facts, InfoAccountsForTheBytesOfThePool) {
  pool_info empty = pool().pool().info();
  EXPECT_LE(empty.live_bytes + empty.free_bytes, empty.file_bytes);
  fill(0, 20'000);
  pool_info full = pool().pool().info();
  EXPECT_LE(full.live_bytes + full.free_bytes, full.file_bytes);
  EXPECT_GE(full.live_bytes, 20'000u * 16u) << "20,000 records live in less than their slots need";
  EXPECT_GT(full.live_bytes, empty.live_bytes);
}

TEST_P(Facts, ErasedBytesAreFreeAgain) {
  if (!values_are_bytes()) GTEST_SKIP() << "words live in the table itself";
  for (std::uint64_t n = 0; n < 2000; ++n)
    ASSERT_EQ(pool().put(key(n), long_value(with(), n, 2000)), status::ok);
  std::uint64_t live = pool().pool().info().live_bytes;
  for (std::uint64_t n = 0; n < 2000; ++n) ASSERT_EQ(pool().erase(key(n)), status::ok);
  EXPECT_LE(pool().pool().info().live_bytes + 2000u * 2000u, live)
      << "erasing 2,000 records of 2,000 bytes freed less than that";
}

TEST_P(Facts, OnlyTheEmulatedMediumCounts) {
  fill(0, 100);
  media_counts counts = pool().pool().stats().media;
  bool counted = with().medium() == medium_kind::emulated;
  EXPECT_EQ(counts.flushes > 0, counted);
  EXPECT_EQ(counts.fences > 0, counted);
  EXPECT_EQ(counts.media_write_blocks > 0, counted);
  EXPECT_EQ(counts.media_read_blocks > 0, counted);
}

TEST_P(Facts, PowerDurabilityFencesEveryWriteAndBatchesShareFences) {
  if (with().medium() != medium_kind::emulated || with().durability != durability_level::power)
    GTEST_SKIP() << "fences are counted on the emulated medium alone";
  drop();
  std::filesystem::remove(path());
  options usual = how();
  usual.settings.erase("shards");  // keys of one shard do not share a group
  usual.settings.erase("shard_buckets");
  reopen(usual);
  ASSERT_EQ(pool().pool().reserve(10'000), status::ok);
  fill(0, 200);  // every part of the table has been written to once
  auto fences_of = [&](auto&& work) {
    std::uint64_t before = pool().pool().stats().media.fences;
    work();
    return pool().pool().stats().media.fences - before;
  };
  std::uint64_t fewest = ~std::uint64_t{0};
  for (std::uint64_t n = 200; n < 300; ++n) {
    EXPECT_GE(fences_of([&] { fill(n, n + 1); }), 1u)
        << "a put that returned without a fence is not durable";
    const std::uint64_t erased = fences_of([&] { pool().erase(key(n)); });
    EXPECT_GE(erased, 1u) << "an erase that returned without a fence is not durable";
    fewest = std::min(fewest, erased);
  }
  EXPECT_EQ(fewest, 1u) << "an erase changes one word";
  EXPECT_EQ(fences_of([&] { (void)pool().contains(key(1)); }), 0u)
      << "a read of a durable record needs no fence";
  std::uint64_t alone = fences_of([&] { fill(1000, 1064); });
  // The pool's seed says which keys meet in a lock and which part of a table grows, and a table of
  // level that grows moves records beside: the best of several batches, and half.
  std::uint64_t together = alone, erased_together = alone;
  for (std::uint64_t first = 2000; first < 2512; first += 64) {
    const auto all = keys(first, first + 64);
    const auto made = values(first, first + 64);
    const std::uint64_t put = fences_of([&] { pool().put_many(all, made); });
    const std::uint64_t erased = fences_of([&] { pool().erase_many(all); });
    EXPECT_GE(put, 1u);
    EXPECT_GE(erased, 1u);
    together = std::min(together, put);
    erased_together = std::min(erased_together, erased);
  }
  EXPECT_LE(together * 2, alone) << "64 puts cost " << alone << " fences one by one and "
                                 << together << " in a batch";
  EXPECT_LE(erased_together, 32u);
}

TEST_P(Facts, StatsNamesItsFiguresOnce) {
  fill(0, 1000);
  std::map<std::string, double> figures;
  for (const auto& [name, figure] : pool().pool().stats().figures) {
    EXPECT_FALSE(name.empty());
    EXPECT_TRUE(figures.emplace(name, figure).second) << name << " is there twice";
  }
  EXPECT_FALSE(figures.empty());
}

TEST_P(Facts, ThereIsNoSalvageReportWithoutSalvage) {
  EXPECT_TRUE(pool().pool().salvage_report().empty());
}

TEST_P(Space, ReserveMakesRoom) {
  ASSERT_EQ(pool().pool().reserve(many(50'000)), status::ok);
  EXPECT_GE(pool().pool().info().slots, many(50'000));
  std::uint64_t slots = pool().pool().info().slots;
  model expected = fill(0, many(30'000));
  EXPECT_LE(pool().pool().info().slots, slots * 3 / 2)
      << "records that were reserved for made the table grow";
  expect_contents(pool(), expected);
  expect_sound(pool());
}

TEST_P(Space, ReserveLessThanThereIsChangesNothing) {
  model expected = fill(0, 3000);
  EXPECT_EQ(pool().pool().reserve(0), status::ok);
  EXPECT_EQ(pool().pool().reserve(1), status::ok);
  EXPECT_EQ(pool().pool().reserve(3000), status::ok);
  expect_contents(pool(), expected);
  expect_sound(pool());
}

TEST_P(Space, CompactOfAnEmptyTableWorks) {
  EXPECT_EQ(pool().pool().compact(), status::ok);
  expect_contents(pool(), {});
  EXPECT_EQ(pool().put(key(1), value(1)), status::ok);
  expect_sound(pool());
}

TEST_P(Space, CompactKeepsEveryRecord) {
  model expected = fill(0, many(10'000));
  for (std::uint64_t n = 0; n < many(10'000); n += 3) {
    ASSERT_EQ(pool().erase(key(n)), status::ok);
    expected.erase(key(n));
  }
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(pool().pool().compact(), status::ok);
    ASSERT_NO_FATAL_FAILURE(expect_contents(pool(), expected));
    expect_sound(pool());
    for (auto& [key, value] : fill(20'000, 22'000, static_cast<std::uint64_t>(round)))
      expected[key] = value;
  }
}

TEST_P(Space, CompactMakesThePoolSmaller) {
  fill(0, 40'000);
  std::uint64_t full = pool().pool().info().file_bytes;
  for (std::uint64_t n = 100; n < 40'000; ++n) ASSERT_EQ(pool().erase(key(n)), status::ok);
  ASSERT_EQ(pool().pool().compact(), status::ok);
  EXPECT_LT(pool().pool().info().file_bytes, full / 2) << "100 of 40,000 records are left";
  expect_sound(pool());
}

/// What moves first finds room where it can stay.
TEST_P(Space, CompactLeavesNothingToASecondOne) {
  fill(0, many(10'000));
  for (std::uint64_t n = 0; n < many(10'000); ++n) {
    if (n % 10 == 0) continue;
    ASSERT_EQ(pool().erase(key(n)), status::ok);
  }
  ASSERT_EQ(pool().pool().compact(), status::ok);
  const std::uint64_t once = pool().pool().info().file_bytes;
  ASSERT_EQ(pool().pool().compact(), status::ok);
  constexpr std::uint64_t two_slabs = 128 << 10;
  EXPECT_LE(once, pool().pool().info().file_bytes + two_slabs);
  expect_sound(pool());
}

/// Arrays are written anew beside the old ones. What they grew the pool by goes back.
TEST_P(Space, CompactLeavesNoMoreThanThereWas) {
  for (std::uint64_t records : {1000u, 5000u}) {
    drop();
    std::filesystem::remove(path());
    reopen();
    fill(0, records);
    const std::uint64_t before = pool().pool().info().file_bytes;
    ASSERT_EQ(pool().pool().compact(), status::ok);
    EXPECT_LE(pool().pool().info().file_bytes, before) << records;
    expect_sound(pool());
  }
}

TEST_P(Space, CompactPacksTheTableTight) {
  fill(0, 20'000);
  double before = pool().pool().info().load_factor;
  ASSERT_EQ(pool().pool().compact(), status::ok);
  double after = pool().pool().info().load_factor;
  EXPECT_GE(after, before * 0.99);
  EXPECT_GE(after, 0.3);
}

TEST_P(Space, TurboKeepsEveryRecordUnderExtremeSettings) {
  if (with().engine != engine_kind::turbo) GTEST_SKIP() << "the settings are turbo's";
  for (std::uint64_t scope : {1u, 2u, 256u}) {
    for (std::uint64_t in_place : {0u, 1u}) {
      SCOPED_TRACE("scope " + std::to_string(scope) + ", in_place " + std::to_string(in_place));
      drop();
      std::filesystem::remove(path());
      options extreme = how();
      extreme.settings = {{"shards", 2}, {"scope", scope}, {"in_place", in_place}};
      reopen(extreme);
      model expected = fill(0, 2000);
      for (std::uint64_t n = 0; n < 2000; n += 3) {
        ASSERT_EQ(pool().erase(key(n)), status::ok);
        expected.erase(key(n));
      }
      ASSERT_EQ(pool().pool().compact(), status::ok);
      for (auto& [key, value] : fill(1000, 3000, 7)) expected[key] = value;
      ASSERT_NO_FATAL_FAILURE(expect_contents(pool(), expected));
      expect_sound(pool());
    }
  }
}

TEST_P(Space, CcehKeepsEveryRecordUnderExtremeSettings) {
  if (with().engine != engine_kind::cceh) GTEST_SKIP() << "the settings are cceh's";
  for (std::uint64_t probe : {1u, 4u, 256u}) {
    for (std::uint64_t segment : {2u, 6u, 12u}) {
      for (std::uint64_t copy_on_write : {0u, 1u}) {
        SCOPED_TRACE("probe " + std::to_string(probe) + ", segment " + std::to_string(segment) +
                     ", copy_on_write " + std::to_string(copy_on_write));
        drop();
        std::filesystem::remove(path());
        options extreme = how();
        extreme.settings = {
            {"probe", probe}, {"segment", segment}, {"copy_on_write", copy_on_write}};
        reopen(extreme);
        model expected = fill(0, 2000);
        for (std::uint64_t n = 0; n < 2000; ++n) {
          if (n % 8 == 0) continue;
          ASSERT_EQ(pool().erase(key(n)), status::ok);
          expected.erase(key(n));
        }
        expect_sound(pool());
        ASSERT_EQ(pool().pool().compact(), status::ok);
        for (auto& [key, value] : fill(1000, 3000, 7)) expected[key] = value;
        ASSERT_NO_FATAL_FAILURE(expect_contents(pool(), expected));
        expect_sound(pool());
      }
    }
  }
}

TEST_P(Space, LevelKeepsEveryRecordUnderExtremeSettings) {
  if (with().engine != engine_kind::level) GTEST_SKIP() << "the settings are level's";
  std::vector<std::map<std::string, std::uint64_t>> extremes = {
      {{"slots", 7}, {"in_place", 0}},
      {{"slots", 7}, {"bottom_to_top", 0}},
      {{"slots", 7}, {"dynamic", 0}},
      {{"slots", 7}, {"helper", 1}},
      {{"slots", 4}, {"in_place", 0}, {"bottom_to_top", 0}, {"dynamic", 0}, {"helper", 1}}};
  for (std::uint64_t slots : {1u, 2u, 3u, 4u, 8u, 14u}) extremes.push_back({{"slots", slots}});
  for (const auto& settings : extremes) {
    std::string named;
    for (const auto& [name, value] : settings) named += " " + name + "=" + std::to_string(value);
    SCOPED_TRACE("settings" + named);
    drop();
    std::filesystem::remove(path());
    options extreme = how();
    extreme.settings = settings;
    reopen(extreme);
    model expected = fill(0, 3000);
    for (auto& [key, value] : fill(1000, 2000, 3)) expected[key] = value;
    expect_sound(pool());
    for (std::uint64_t n = 0; n < 3000; ++n) {
      if (n % 16 == 0) continue;
      ASSERT_EQ(pool().erase(key(n)), status::ok);
      expected.erase(key(n));
    }
    expect_sound(pool());
    ASSERT_EQ(pool().pool().compact(), status::ok);
    ASSERT_NO_FATAL_FAILURE(expect_contents(pool(), expected));
    for (auto& [key, value] : fill(1000, 4000, 7)) expected[key] = value;
    ASSERT_NO_FATAL_FAILURE(expect_contents(pool(), expected));
    expect_sound(pool());
    if (!with().outlives_handle()) continue;
    reopen();
    ASSERT_NO_FATAL_FAILURE(expect_contents(pool(), expected));
    expect_sound(pool());
  }
}

TEST_P(Space, SyncAnswersOkAtEveryMoment) {
  EXPECT_EQ(pool().pool().sync(), status::ok);
  model expected = fill(0, 1000);
  EXPECT_EQ(pool().pool().sync(), status::ok);
  EXPECT_EQ(pool().pool().sync(), status::ok);
  for (auto& [key, value] : fill(500, 1500, 1)) expected[key] = value;
  EXPECT_EQ(pool().pool().sync(), status::ok);
  expect_contents(pool(), expected);
  expect_sound(pool());
}

TEST_P(Space, CapacitySavesResizes) {
#ifdef DURAHASH_SANITIZED
  GTEST_SKIP() << "a figure, of many records";
#endif
  // turbo's first shards hold 57,344: so many that some grow, whatever the seed
  constexpr std::uint64_t records = 50'000;
  auto resizes_with = [&](std::uint64_t capacity) {
    drop();
    std::filesystem::remove(path());
    options how_many = how();
    how_many.capacity = capacity;
    reopen(how_many);
    fill(0, records);
    EXPECT_EQ(pool().pool().size(), records);
    return pool_figure("resizes");
  };
  std::optional<double> grown = resizes_with(0), roomy = resizes_with(records);
  if (!grown) GTEST_SKIP() << "this engine counts no resizes";
  EXPECT_GT(*grown, 0);
  EXPECT_LT(*roomy, *grown / 2) << "a table made for " << records
                                << " records resizes on the way there";
}

TEST_P(FileSpace, FileBytesIsTheLengthOfTheClosedFile) {
  fill(0, many(20'000));
  for (std::uint64_t n = 0; n < many(15'000); ++n) ASSERT_EQ(pool().erase(key(n)), status::ok);
  ASSERT_EQ(pool().pool().compact(), status::ok);
  reopen();
  std::uint64_t bytes = pool().pool().info().file_bytes;
  ASSERT_EQ(pool().pool().close(), status::ok);
  drop();
  EXPECT_EQ(std::filesystem::file_size(path()), bytes);
}

TEST_P(FileSpace, CompactGivesSpaceBackToTheFileSystem) {
  fill(0, 40'000);
  // of the closed pool: an open one on persistent memory takes whole units of 2 MiB
  auto blocks = [&] {
    drop();
    struct stat facts {};
    EXPECT_EQ(stat(path().c_str(), &facts), 0);
    return facts.st_blocks;
  };
  auto full = blocks();
  reopen();
  for (std::uint64_t n = 100; n < 40'000; ++n) ASSERT_EQ(pool().erase(key(n)), status::ok);
  ASSERT_EQ(pool().pool().compact(), status::ok);
  model left = contents_of(pool());
  EXPECT_LT(blocks(), full / 2);
  reopen();
  EXPECT_EQ(left.size(), 100u);
  expect_contents(pool(), left);
}

TEST_P(FileSpace, ChurnDoesNotGrowTheFile) {
  // The same number of records, ever other keys and other lengths.
  constexpr std::uint64_t window = 3000;
  fill(0, window);
  std::uint64_t next = window;
  auto churn = [&](std::uint64_t count) {
    for (; count > 0; --count, ++next) {
      ASSERT_EQ(pool().erase(key(next - window)), status::ok);
      ASSERT_EQ(pool().put(key(next), value(next)), status::ok);
    }
  };
  churn(5 * window);
  std::uint64_t settled = pool().pool().info().file_bytes;
#ifdef DURAHASH_SANITIZED
  churn(5 * window);  // what leaks shows over the windows of the release build
#else
  churn(15 * window);
#endif
  // The pool's seed is random, so that a few shards more or fewer double on the way, and a pool
  // grows by steps of 256 KiB and more.
  constexpr std::uint64_t steps = 1 << 20;
  EXPECT_LE(pool().pool().info().file_bytes, settled + settled / 2 + steps)
      << "erased records are not used again";
  EXPECT_EQ(pool().pool().size(), window);
  expect_sound(pool());
}

}  // namespace
}  // namespace durahash::test
