// Shards of limited size (paper §4.7): trees that are deep, shards above and below the level where
// searches begin, splits in the middle of reads and iterations, reservations and compaction.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "test/engine/engine_rig.hpp"

namespace durahash::test {
namespace turbo_split {

options small(std::uint64_t shards, std::uint64_t buckets) {
  options how;
  how.settings = {{"shards", shards}, {"shard_buckets", buckets}};
  return how;
}

/// Keys whose hashes begin with these bits.
template <class Kind, class Rig>
std::vector<std::uint64_t> keys_with(const Rig& r, unsigned bits, std::uint64_t prefix,
                                     std::size_t count, std::uint64_t from = 0) {
  std::vector<std::uint64_t> found;
  for (std::uint64_t n = from; found.size() < count; ++n)
    if (hash_of<Kind>(r, n) >> (64 - bits) == prefix) found.push_back(n);
  return found;
}

/// Keys as a batch takes them, and room for its answers.
template <class Kind>
struct batch {
  std::vector<decltype(item<Kind>(0))> keys;
  std::vector<typename Kind::key_type> views;
  std::vector<status> answers;

  explicit batch(const std::vector<std::uint64_t>& numbers) : answers(numbers.size()) {
    for (std::uint64_t n : numbers) keys.push_back(item<Kind>(n));
    views.assign(keys.begin(), keys.end());
    std::fill(answers.begin(), answers.end(), status::io_error);
  }
};

template <class Rig, class Kind>
void put_all(Rig& r, const std::vector<std::uint64_t>& numbers, std::uint64_t value,
             model& wanted) {
  batch<Kind> all(numbers);
  const auto written = value_of<Kind>(value);
  std::vector<typename Kind::value_type> values(numbers.size(), written);
  r.t->put_many(all.views, values.data(), all.answers.data());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    ASSERT_EQ(all.answers[i], status::ok);
    wanted[numbers[i]] = value;
  }
}

template <class Rig, class Kind>
void erase_all(Rig& r, const std::vector<std::uint64_t>& numbers, model& wanted) {
  batch<Kind> all(numbers);
  r.t->erase_many(all.views, all.answers.data());
  for (std::size_t i = 0; i < numbers.size(); ++i)
    ASSERT_EQ(all.answers[i], wanted.erase(numbers[i]) ? status::ok : status::not_found);
}

template <class Rig>
std::size_t visited_by_scans(Rig& r, std::size_t limit) {
  std::size_t count = 0;
  for (cursor at; !at.done;)
    EXPECT_EQ(r.t->scan(at, limit, [&](auto, auto) { ++count; }), status::ok);
  return count;
}

/// Each way to write, on keys of all of these.
template <class Rig, class Kind>
void write_in_all_ways(Rig& r, const std::vector<std::vector<std::uint64_t>>& places,
                       model& wanted) {
  for (const auto& numbers : places) {
    ASSERT_GE(numbers.size(), 8u);
    ASSERT_EQ(put(r, numbers[0], 1), status::ok);  // insert or update
    wanted[numbers[0]] = 1;
    ASSERT_EQ(put(r, numbers[0], 2), status::ok);
    wanted[numbers[0]] = 2;
    ASSERT_EQ(erase(r, numbers[1]), wanted.erase(numbers[1]) ? status::ok : status::not_found);
    ASSERT_EQ(erase(r, numbers[1]), status::not_found);
    put_all<Rig, Kind>(r, {numbers.begin() + 2, numbers.begin() + 8}, 3, wanted);
    erase_all<Rig, Kind>(r, {numbers.begin() + 4, numbers.begin() + 6}, wanted);
  }
  std::vector<std::uint64_t> one_of_each;
  for (const auto& numbers : places) one_of_each.push_back(numbers[7]);
  put_all<Rig, Kind>(r, one_of_each, 4, wanted);
  erase_all<Rig, Kind>(r, one_of_each, wanted);
  put_all<Rig, Kind>(r, one_of_each, 5, wanted);
}

/// All that is in the first 256th of the hashes: 8 levels deep, and searches begin above.
TEST(TurboSplit, KeysOfOneSideMakeADeepTree) {
  with_both_kinds([]<class Kind>(Kind) {
    using rig_type = rig<hooked_medium, Kind>;
    auto r = make_rig<hooked_medium, Kind>(small(2, 2));
    model wanted;
    const auto deep = keys_with<Kind>(*r, 8, 0, 120);
    for (std::uint64_t n : deep) {
      ASSERT_EQ(put(*r, n, n), status::ok);
      wanted[n] = n;
      ASSERT_EQ(get(*r, n), n);
    }
    EXPECT_GE(figures(*r)["splits"], 8);
    ASSERT_EQ(difference(*r, wanted), "");
    write_in_all_ways<rig_type, Kind>(*r,
                                      {deep, keys_with<Kind>(*r, 8, 1, 8),
                                       keys_with<Kind>(*r, 3, 1, 8), keys_with<Kind>(*r, 1, 1, 8)},
                                      wanted);
    EXPECT_EQ(difference(*r, wanted), "");
    for (std::size_t limit : {1, 7, 1000}) EXPECT_EQ(visited_by_scans(*r, limit), wanted.size());
  });
}

/// One half of the hashes is split down to many shards, the other one is two shards still: searches
/// begin below those.
TEST(TurboSplit, ShardsThatWereNotSplitAreFoundFromADeeperLevel) {
  with_both_kinds([]<class Kind>(Kind) {
    using rig_type = rig<hooked_medium, Kind>;
    auto r = make_rig<hooked_medium, Kind>(small(4, 1));
    model wanted;
    const auto split = keys_with<Kind>(*r, 1, 0, 400);
    put_all<rig_type, Kind>(*r, split, 9, wanted);
    EXPECT_GE(figures(*r)["shards"], 20);
    ASSERT_EQ(difference(*r, wanted), "");
    const auto whole = keys_with<Kind>(*r, 1, 1, 12);
    write_in_all_ways<rig_type, Kind>(*r, {whole, split}, wanted);
    EXPECT_EQ(difference(*r, wanted), "");
    put_all<rig_type, Kind>(*r, keys_with<Kind>(*r, 1, 1, 300), 10, wanted);
    EXPECT_EQ(difference(*r, wanted), "");
    for (std::size_t limit : {1, 7, 1000}) EXPECT_EQ(visited_by_scans(*r, limit), wanted.size());
    erase_all<rig_type, Kind>(*r, split, wanted);
    ASSERT_EQ(r->t->compact(), status::ok);
    EXPECT_EQ(difference(*r, wanted), "");
  });
}

/// A reader of a whole shard is stopped before each of its loads, while the shard is split again
/// and again, its records change, and other arrays take its place.
TEST(TurboSplit, AReaderOfTheWholeFindsWhatTheHalvesHave) {
  with_both_kinds([]<class Kind>(Kind) {
    for (std::uint64_t first : {8, 100})  // whole still, or split already
      for (int at = 1;; ++at) {
        auto r = make_rig<probing_medium, Kind>(small(2, 1));
        for (std::uint64_t n = 0; n < first; ++n) put(*r, n, n + 100);
        r->m->interrupt_at(at, [&] {
          put(*r, 3, 7);
          for (std::uint64_t n = first; n < first + 60; ++n) put(*r, n, n + 100);
        });
        const auto found = get(*r, 3);
        const bool ran = r->m->interrupted();
        r->m->stop_interrupting();
        if (!ran) {
          EXPECT_GE(at, 4);
          break;
        }
        SCOPED_TRACE("interrupted before load " + std::to_string(at));
        ASSERT_TRUE(found == 103 || found == 7) << found.value_or(0);
        ASSERT_EQ(get(*r, 3), 7u);
      }
  });
}

/// An iteration goes on where it was, however often shards are split below it.
TEST(TurboSplit, AnIterationVisitsWhatWasThereAllTheTime) {
  with_both_kinds([]<class Kind>(Kind) {
    auto r = make_rig<hooked_medium, Kind>(small(2, 2));
    constexpr std::uint64_t kept = 100;
    for (std::uint64_t n = 0; n < kept; ++n) put(*r, n, n);
    std::map<std::string, int> seen;
    std::uint64_t next = 1000;
    for (cursor at; !at.done; next += 20) {
      ASSERT_EQ(r->t->scan(at, 5, [&](auto key, auto) { ++seen[fmt::format("{}", key)]; }),
                status::ok);
      for (std::uint64_t n = next; n < next + 20; ++n) put(*r, n, n);
    }
    for (std::uint64_t n = 0; n < kept; ++n)
      EXPECT_EQ(seen[fmt::format("{}", item<Kind>(n))], 1) << n;
    EXPECT_GT(figures(*r)["splits"], 10);
  });
}

TEST(TurboSplit, AReservationSplitsWhatItMustAndNothingGrowsThen) {
  with_both_kinds([]<class Kind>(Kind) {
    for (std::uint64_t before : {0, 300}) {
      auto r = make_rig<hooked_medium, Kind>(small(4, 4));
      model wanted;
      for (std::uint64_t n = 0; n < before; ++n) put(*r, n, n), wanted[n] = n;
      ASSERT_EQ(r->t->reserve(3000), status::ok);
      EXPECT_EQ(difference(*r, wanted), "");
      auto reserved = figures(*r);
      EXPECT_LE(reserved["largest_shard_buckets"], 8);
      for (std::uint64_t n = before; n < 2000; ++n) put(*r, n, n), wanted[n] = n;
      EXPECT_EQ(figures(*r)["shards"], reserved["shards"]);
      EXPECT_EQ(difference(*r, wanted), "");
    }
  });
}

/// Shards deeper than the reservation needs, which compaction has left small.
TEST(TurboSplit, AReservationIsForDeeperShardsToo) {
  with_both_kinds([]<class Kind>(Kind) {
    using rig_type = rig<hooked_medium, Kind>;
    auto r = make_rig<hooked_medium, Kind>(small(2, 8));
    model wanted;
    std::vector<std::uint64_t> all;
    for (std::uint64_t n = 0; n < 3000; ++n) all.push_back(n);
    put_all<rig_type, Kind>(*r, all, 1, wanted);
    erase_all<rig_type, Kind>(*r, all, wanted);
    ASSERT_EQ(r->t->compact(), status::ok);
    ASSERT_GE(figures(*r)["shards"], 16);
    ASSERT_EQ(r->t->reserve(150), status::ok);
    const double resizes = figures(*r)["resizes"];
    put_all<rig_type, Kind>(*r, {all.begin(), all.begin() + 100}, 2, wanted);
    EXPECT_EQ(figures(*r)["shards_in_use"], figures(*r)["shards"]);
    EXPECT_EQ(figures(*r)["resizes"], resizes);
    EXPECT_EQ(difference(*r, wanted), "");
  });
}

/// A table far above its size: its arrays stay as large as they may be.
TEST(TurboSplit, NoShardBecomesLargerThanItMay) {
  auto r = make_rig<plain_medium, word_records>(small(64, 16));
  for (std::uint64_t n = 0; n < 200'000; ++n) ASSERT_EQ(put(*r, n, n), status::ok);
  auto now = figures(*r);
  EXPECT_LE(now["largest_shard_buckets"], 32);  // twice, where some record found its scope full
  EXPECT_GE(now["shards"], 1024);
  EXPECT_EQ(r->t->size(), 200'000u);
}

/// What is in the pool after a power cut is all there, and goes on to be split.
TEST(TurboSplit, ATreeIsThereAfterAPowerCut) {
  with_both_kinds([]<class Kind>(Kind) {
    auto r = make_rig<probing_medium, Kind>(small(2, 1));
    model wanted;
    for (std::uint64_t n = 0; n < 300; ++n) {
      ASSERT_EQ(put(*r, n, n), status::ok);
      wanted[n] = n;
      if (n % 23 != 0) continue;
      auto found = after_power_cut<probing_medium, Kind>(r->m->image());
      ASSERT_TRUE(found);
      ASSERT_EQ(difference(*found, wanted), "") << n;
      ASSERT_EQ(put(*found, 1'000'000, 1), status::ok);
      ASSERT_EQ(get(*found, 1'000'000), 1u);
    }
    EXPECT_GT(figures(*r)["splits"], 20);
  });
}

/// An entry that cannot be: refused with its shard's name; and salvage keeps the other shards.
TEST(TurboSplit, ADamagedPairCostsItsShardAlone) {
  with_both_kinds([]<class Kind>(Kind) {
    auto r = make_rig<probing_medium, Kind>(small(2, 1));
    for (std::uint64_t n = 0; n < 100; ++n) ASSERT_EQ(put(*r, n, n), status::ok);
    std::vector<std::byte> image = r->m->image();
    std::uint64_t word = 0;
    std::memcpy(&word, image.data() + r->p->block().engine_offset, sizeof word);
    const turbo::directory_entry first{{word}};
    ASSERT_TRUE(first.is_pair());
    image[first.offset()] ^= std::byte{1};  // of the first half

    auto refused = found_after_power_cut<probing_medium, Kind>(image);
    const error e = refused->t->open("image");
    EXPECT_EQ(e.code, status::unusable);
    EXPECT_NE(e.message.find("the directory entry of shard 0 of 4"), std::string::npos)
        << e.message;

    auto salvaged = found_after_power_cut<probing_medium, Kind>(image);
    std::vector<std::string> dropped;
    ASSERT_EQ(salvaged->t->open("image", &dropped).code, status::ok);
    std::size_t kept = 0;
    for (std::uint64_t n = 0; n < 100; ++n) {
      const bool lost = hash_of<Kind>(*r, n) >> 62 == 0;
      EXPECT_EQ(get(*salvaged, n).has_value(), !lost) << n;
      kept += !lost;
    }
    EXPECT_LT(kept, 100u);
    for (std::uint64_t n = 0; n < 100; ++n) ASSERT_EQ(put(*salvaged, n, n), status::ok);
    check_report report;
    salvaged->t->check(report);
    EXPECT_TRUE(report.ok) << report.violations.front();
  });
}

/// Writers, readers, and all that takes every lock, while shards are split under them.
TEST(TurboSplit, EverythingGoesOnBesideSplits) {
  with_both_kinds([]<class Kind>(Kind) {
    auto r = make_rig<hooked_medium, Kind>(small(2, 1));
    constexpr std::uint64_t each = 4000;
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> acknowledged[2] = {};
    std::jthread beside([&] {
      while (!stop) {
        ASSERT_EQ(r->t->sync(), status::ok);
        check_report report;
        r->t->check(report);
        ASSERT_TRUE(report.ok) << report.violations.front();
        ASSERT_EQ(r->t->compact(), status::ok);
        (void)r->t->size();
        (void)figures(*r);
      }
    });
    std::jthread reader([&] {
      for (std::uint64_t n = 0; !stop; n += 7)
        for (std::uint64_t t : {0, 1})
          if (const std::uint64_t behind = acknowledged[t]; behind != 0) {
            const std::uint64_t key = t << 40 | n % behind;
            ASSERT_EQ(get(*r, key), n % behind) << key;
          }
    });
    {
      std::vector<std::jthread> writers;
      for (std::uint64_t t : {0, 1})
        writers.emplace_back([&, t] {
          for (std::uint64_t n = 0; n < each; ++n) {
            ASSERT_EQ(put(*r, t << 40 | n, n), status::ok);
            acknowledged[t] = n + 1;
          }
        });
    }
    stop = true;
    reader.join(), beside.join();
    model wanted;
    for (std::uint64_t t : {0, 1})
      for (std::uint64_t n = 0; n < each; ++n) wanted[t << 40 | n] = n;
    EXPECT_EQ(difference(*r, wanted), "");
  });
}

/// Where searches begin changes while a batch is looked at: the same key twice is written in order.
/// Of 400 tables about one changes in the middle.
TEST(TurboSplit, ABatchLeavesTheLastValueOfAKeyWhateverGrowsBeside) {
  with_both_kinds([]<class Kind>(Kind) {
    constexpr std::uint64_t others = 62, tables = 200, filler = 4000;
    for (std::uint64_t n = 0; n < tables; ++n) {
      auto r = make_rig<hooked_medium, Kind>(small(2, 1));
      std::vector<std::uint64_t> numbers(others + 2);
      for (std::uint64_t i = 1; i <= others; ++i) numbers[i] = random_key(n << 20 | i);
      numbers.front() = numbers.back() = random_key(n << 20);
      batch<Kind> all(numbers);
      std::atomic<bool> stop = false;
      std::jthread grower([&] {
        for (std::uint64_t i = 0; i < filler; ++i) put(*r, random_key((n + 100) << 20 | i), i);
        stop = true;
      });
      for (std::uint64_t version = 1; !stop; version += 2) {
        const auto first = value_of<Kind>(version), last = value_of<Kind>(version + 1);
        std::vector<typename Kind::value_type> values(numbers.size(), first);
        values.back() = last;
        r->t->put_many(all.views, values.data(), all.answers.data());
        ASSERT_EQ(get(*r, numbers.front()), version + 1) << "of table " << n;
      }
    }
  });
}

}  // namespace turbo_split
}  // namespace durahash::test
