// Level hashing loses its power within an operation, after every store and every fence. Of the
// images that this can leave two are looked at: what was fenced and nothing else, and all that was
// stored. The others are the explorer's.
//
// Holes Level 1 to Level 7 and Level 9; level_interruption_test.cpp has hole Level 8.
#include <gtest/gtest.h>

#include <thread>

#include "test/engine/level_cut.hpp"

namespace durahash::test {
namespace level_step_cut {

TEST(Level, L1ARecordThatAMovementLeftTwiceIsRemovedOnceAndForAll) {
  with_both_kinds([]<class Kind>(Kind) {
    int kinds = 0;
    auto script = there_and_back();
    for (std::uint64_t slots : {1, 2}) {
      options how = level_of(slots);
      for (const level_move& move : some_of_each_kind(moves_of<Kind>(how, script), 1)) {
        SCOPED_TRACE(move.kind + ", slots=" + std::to_string(slots));
        auto r = ready<Kind>(how, script, move.operation);
        model before = records_after(script, move.operation),
              after = records_after(script, move.operation + 1);
        int doubled = 0;
        cut_everywhere(
            *r, [&] { perform(*r, script[move.operation]); },
            [&](const image& left) {
              expect_either<Kind>(left, before, after);
              if (level_image(left).doubled() == 0) return;
              ++doubled;
              expect_dealt_with<Kind>(left, move.key);
              EXPECT_TRUE(is_faulty<Kind>(without_intents(left)))
                  << "the intents were not needed: this shows nothing";
            });
        EXPECT_GE(doubled, 2) << "the record was never there twice: this shows nothing";
        ++kinds;
      }
    }
    EXPECT_GE(kinds, 20);
  });
}

/// Both tokens change in one store: of the key that is updated there is one version, not two or
/// none, after each store. In full buckets the value word does it.
TEST(Level, L2TheLogFreeUpdateFlipsBothTokensInOneStore) {
  with_both_kinds([]<class Kind>(Kind) {
    auto script = there_and_back();
    auto r = ready<Kind>(level_of(4, {{"in_place", 0}}), script, 60);
    model before = records_after(script, 60);
    int log_free = 0;
    for (auto [key, value] : model(before)) {
      SCOPED_TRACE("key " + std::to_string(key));
      model after = before;
      after[key] = 7;
      level_image first(r->p->at(0), r->p->end());
      std::set<std::pair<std::uint64_t, unsigned>> slots;
      cut_everywhere(
          *r, [&] { EXPECT_EQ(put(*r, key, 7), status::ok); },
          [&](const image& left) {
            level_image now(left);
            EXPECT_EQ(now.copies()[key_word_of(*r, key)], 1);
            for (const level_item& i : now.items)
              if (i.key_word == key_word_of(*r, key)) slots.insert({i.bucket, i.slot});
            expect_either<Kind>(left, before, after);
          });
      log_free += slots.size() == 2;
      before = after;
    }
    EXPECT_GT(log_free, 10);
    EXPECT_LT(log_free, 60) << "no bucket was full";
  });
}

/// Whatever the size of a bucket: no slot and no header crosses a line, and what a token tells of
/// is there.
TEST(Level, L3AnItemInALineOfItsOwnIsDurableBeforeItsToken) {
  for (unsigned slots = 1; slots <= level::max_slots; ++slots) {
    level::shape shape = level::shape::of(slots);
    EXPECT_LE(shape.header_bytes, line_bytes);
    EXPECT_LE(shape.header_bytes + slots * sizeof(level::slot), 1u << shape.bytes_log2);
    for (unsigned n = 0; n < slots; ++n) {
      auto at = shape.header_bytes + n * sizeof(level::slot);
      EXPECT_EQ(at / line_bytes, (at + sizeof(level::slot) - 1) / line_bytes);
    }
  }
  with_both_kinds([]<class Kind>(Kind) {
    for (std::uint64_t slots : {1, 3, 4, 7, 8, 14}) {
      SCOPED_TRACE("slots=" + std::to_string(slots));
      auto r = make_level<probing_medium, Kind>(level_of(slots));
      model before;
      for (std::uint64_t n = 0; n < 6 * slots; ++n) {
        std::uint64_t key = random_key(n);
        model after = before;
        after[key] = value_for(key);
        auto judge = [&](const image& left) {
          if constexpr (Kind::in_slot) {
            for (const level_item& i : level_image(left).items)
              ASSERT_EQ(i.value_word, value_for(i.key_word));
          }
          expect_either<Kind>(left, before, after);
        };
        cut_everywhere(
            *r, [&] { EXPECT_EQ(put(*r, key, value_for(key)), status::ok); }, judge);
        before = after;
      }
    }
  });
}

/// Those after which there are three levels, on the way up or down.
template <class Kind = word_records>
std::vector<std::size_t> operations_with_three_levels(const options& how,
                                                      const std::vector<operation>& script,
                                                      bool shrinking) {
  std::vector<std::size_t> found;
  auto r = make_level<probing_medium, Kind>(how);
  for (std::size_t n = 0; n < script.size(); ++n) {
    perform(*r, script[n]);
    level_image now(r->p->at(0), r->p->end());
    if (now.levels.size() > 2 && now.drains_top == shrinking) found.push_back(n);
  }
  return found;
}

/// An expansion and a shrinking from the operation that begins it to the one that ends it.
TEST(Level, L4LevelsComeAndGoByOneWordEach) {
  auto script = there_and_back();
  for (bool shrinking : {false, true})
    for (std::uint64_t slots : {2, 4}) {
      SCOPED_TRACE((shrinking ? "shrinking, slots=" : "expansion, slots=") + std::to_string(slots));
      options how = level_of(slots);
      auto during = operations_with_three_levels(how, script, shrinking);
      ASSERT_GT(during.size(), 2u);
      // the last expansion is the largest
      std::size_t first = shrinking ? during.front() : during.back(), end = first;
      while (!shrinking && std::binary_search(during.begin(), during.end(), first - 1)) --first;
      while (std::binary_search(during.begin(), during.end(), end)) ++end;
      auto r = ready<word_records>(how, script, first);
      std::set<std::vector<unsigned>> seen;
      for (std::size_t n = first; n <= end; ++n) {
        model before = records_after(script, n), after = records_after(script, n + 1);
        cut_everywhere(
            *r, [&] { perform(*r, script[n]); },
            [&](const image& left) {
              auto levels = level_image(left).levels;
              seen.insert(levels);
              ASSERT_GE(levels.size(), 2u);
              EXPECT_EQ(levels.back() - levels.front() + 1, levels.size()) << "a size is left out";
              expect_either<word_records>(left, before, after);
            });
      }
      EXPECT_EQ(seen.size(), 3u) << "two levels, three, two others";
    }
}

/// A logged update is finished or never was, and recovery forgets the log before it serves:
/// whatever comes next, to the key or to its slot, stays.
TEST(Level, L5TheLogOfAnUpdateIsDurableBeforeTheValueAndGoneBeforeTheNext) {
  with_both_kinds([]<class Kind>(Kind) {
    auto script = there_and_back();
    auto r = ready<Kind>(level_of(2, {{"in_place", 0}}), script, 60);
    model before = records_after(script, 60);
    auto forgets_the_log = [&](const image& left, std::uint64_t key) {
      auto found = after_power_cut<probing_medium, Kind, level_engine>(left);
      model wanted = before;
      EXPECT_EQ(erase(*found, key), status::ok);
      // without a log, and mostly in the same slot
      EXPECT_EQ(put(*found, key, wanted[key] = 9), status::ok);
      auto again = after_power_cut<probing_medium, Kind, level_engine>(found->m->image());
      ASSERT_NE(again, nullptr);
      EXPECT_EQ(difference(*again, wanted), "");
    };
    int updates = 0;
    for (auto [key, value] : model(before)) {
      SCOPED_TRACE("key " + std::to_string(key));
      model after = before;
      after[key] = 7;
      int logs = 0;
      cut_everywhere(
          *r, [&] { EXPECT_EQ(put(*r, key, 7), status::ok); },
          [&](const image& left) {
            expect_either<Kind>(left, before, after);
            if (level_image(left).logs == 0) return;
            ++logs;
            cut_recovery<Kind>(left, before, after);
            expect_dealt_with<Kind>(left, key);
            forgets_the_log(left, key);
          });
      updates += logs > 0;
      before = after;
      if (updates == 16) break;
    }
    EXPECT_EQ(updates, 16) << "with a log";
  });
}

/// Who opens a large pool does not count its records: another thread does, whose fences are not for
/// the log that recovery has forgotten.
TEST(Level, L5WhoForgetsTheLogWaitsUntilItIsGone) {
  with_both_kinds([]<class Kind>(Kind) {
    auto r = make_level<probing_medium, Kind>(level_with_top(15, 1, {{"in_place", 0}}));
    ASSERT_EQ(put(*r, 1, 1), status::ok);
    int logs = 0;
    cut_everywhere(
        *r, [&] { EXPECT_EQ(put(*r, 1, 2), status::ok); },
        [&](const image& left) {
          if (level_image(left).logs == 0) return;
          ++logs;
          auto found = after_power_cut<probing_medium, Kind, level_engine>(
              left, [](probing_medium& m) { m.serves_only = std::this_thread::get_id(); });
          ASSERT_NE(found, nullptr);
          EXPECT_EQ(level_image(found->m->image()).logs, 0);
          EXPECT_EQ(get(*found, 1), 2);
        });
    EXPECT_GE(logs, 2);
  });
}

/// The records of a bucket are moved together: all of them may be there twice. And recovery may
/// lose its power in the middle.
TEST(Level, L6EveryRecordThatADrainLeftTwiceIsFoundNotTheFirstAlone) {
  with_both_kinds([]<class Kind>(Kind) {
    auto script = there_and_back();
    options how = level_of(4);
    int most = 0, recoveries = 0;
    std::set<std::size_t> looked_at;
    for (const level_move& move : moves_of<Kind>(how, script)) {
      if (!move.kind.starts_with("3 levels") || looked_at.size() > 30 ||
          !looked_at.insert(move.operation).second)
        continue;
      SCOPED_TRACE("operation " + std::to_string(move.operation));
      auto r = ready<Kind>(how, script, move.operation);
      model before = records_after(script, move.operation),
            after = records_after(script, move.operation + 1);
      cut_everywhere(
          *r, [&] { perform(*r, script[move.operation]); },
          [&](const image& left) {
            int doubled = level_image(left).doubled();
            if (doubled < 2) return;
            most = std::max(most, doubled);
            recoveries += cut_recovery<Kind>(left, before, after);
          });
    }
    EXPECT_EQ(most, 4) << "a full bucket";
    EXPECT_GT(recoveries, 100);
  });
}

/// Keys whose first places all begin with 9 zeros, and whose second places lie under 16 prefixes.
/// They fill their buckets long before a level is drained.
template <class Kind>
std::vector<std::uint64_t> crowding_keys(std::size_t count, const probing_rig<Kind>& r) {
  std::vector<std::uint64_t> keys;
  for (std::uint64_t n = 0; keys.size() < count; ++n)
    if (hash_of(r, random_key(n)) >> 55 == 0) keys.push_back(random_key(n));
  return keys;
}

/// A drain relies on no place being free: where there is none, one more level is put on top.
TEST(Level, L7ARecordThatFindsNoPlaceInADrainGetsALevelMore) {
  with_both_kinds([]<class Kind>(Kind) {
    auto r = make_level<probing_medium, Kind>(level_of(2));
    auto levels = [&] { return level_image(r->p->at(0), r->p->end()).levels.size(); };
    model wanted;
    std::size_t max_levels = 0;
    int put_on_top_by_drains = 0;
    for (std::uint64_t key : crowding_keys(200, *r)) {
      model before = wanted;
      wanted[key] = 1;
      auto judge = [&](const image& left) { expect_either<Kind>(left, before, wanted); };
      cut_everywhere(
          *r, [&] { ASSERT_EQ(put(*r, key, 1), status::ok); }, judge, 23);
      for (int again = 0; again < 3; ++again) {
        std::size_t there = levels();
        ASSERT_EQ(put(*r, key, 1), status::ok);  // needs no place; drains a bucket
        put_on_top_by_drains += levels() > there;
      }
      max_levels = std::max(max_levels, levels());
      auto found = after_power_cut<probing_medium, Kind, level_engine>(r->m->image());
      ASSERT_NE(found, nullptr);
      ASSERT_EQ(difference(*found, wanted), "");
    }
    EXPECT_GE(max_levels, 4u);
    EXPECT_GE(put_on_top_by_drains, 1) << "no drain was short of places: this shows nothing";
  });
}

/// Nor does shrinking: it is called off by one word.
TEST(Level, L7ShrinkingIsCalledOffWhenARecordFindsNoPlace) {
  with_both_kinds([]<class Kind>(Kind) {
    options how = level_of(2);
    auto script = there_and_back();
    std::size_t first = operations_with_three_levels<Kind>(how, script, true).front();
    auto r = ready<Kind>(how, script, first + 1);
    model wanted = records_after(script, first + 1);
    auto keys = crowding_keys(60, *r);
    bool called_off = false;
    for (std::size_t n = 0; n < keys.size() && !called_off; ++n) {
      model before = wanted;
      wanted[keys[n]] = 1;
      auto levels = level_image(r->p->at(0), r->p->end()).levels;
      cut_everywhere(
          *r, [&] { ASSERT_EQ(put(*r, keys[n], 1), status::ok); },
          [&](const image& left) {
            expect_either<Kind>(left, before, wanted);
            level_image now(left);
            called_off = called_off || (now.levels == levels && !now.drains_top);
          });
    }
    EXPECT_TRUE(called_off);
    for (std::uint64_t n = 0; n < 100; ++n) ASSERT_EQ(put(*r, n, wanted[n] = 2), status::ok);
    EXPECT_EQ(difference(*r, wanted), "");
  });
}

/// The seeds of the hash, and the masks that are made from them, come back with the pool.
TEST(Level, L9TheSeedsOfTheHashComeBackWithThePool) {
  with_both_kinds([]<class Kind>(Kind) {
    std::set<std::vector<std::uint64_t>> orders;
    for (std::uint64_t seed_flip : {1, 2, 3}) {
      options how = level_of(2);
      superblock block = block_for<level_engine>(how, Kind::in_slot);
      block.seed_flip = random_key(seed_flip);
      block.seed_multiply = random_key(seed_flip + 10) | 1;
      auto r = make_rig<probing_medium, Kind, level_engine>(block);
      model wanted;
      for (std::uint64_t key = 0; key < 100; ++key)
        ASSERT_EQ(put(*r, key, wanted[key] = key), status::ok);
      auto found = after_power_cut<probing_medium, Kind, level_engine>(r->m->image());
      ASSERT_NE(found, nullptr);
      EXPECT_EQ(difference(*found, wanted), "");
      std::vector<std::uint64_t> order;
      for (std::uint64_t key = 0; key < 100; ++key) order.push_back(hash_of(*found, key));
      orders.insert(order);
    }
    EXPECT_EQ(orders.size(), 3u) << "the seeds made no difference: this shows nothing";
  });
}

}  // namespace level_step_cut
}  // namespace durahash::test
