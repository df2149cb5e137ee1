// Several threads on one pool. Values describe themselves, so that a torn, foreign or stale one is
// noticed where it is read. Short runs of this suite are what ThreadSanitizer sees.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <set>
#include <thread>

#include "conformance.hpp"
#include "versioned_value.hpp"

namespace durahash::test {
namespace {

double stress_seconds() {
  const char* text = std::getenv("DURAHASH_STRESS_SECONDS");
  return text && *text ? std::atof(text) : 0.3;
}

/// Threads that work until the time is over or one of them found a fault.
class crew {
 public:
  ~crew() { finish(); }

  /// `work(random)` is called again and again; it returns a fault, or an empty string.
  template <class Work>
  void add(Work work) {
    std::uint64_t seed = stream_seed("thread " + std::to_string(threads_.size()));
    threads_.emplace_back([this, work, seed]() mutable {
      random_stream random(seed);
      while (!over_.load(std::memory_order_relaxed))
        if (std::string fault = work(random); !fault.empty()) report(fault);
    });
  }
  void work_for(double seconds) {
    auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (!over_ && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    finish();
    for (const std::string& fault : faults_)
      ADD_FAILURE() << fault << " (seed " << run_seed() << ")";
  }

 private:
  void report(const std::string& fault) {
    std::scoped_lock lock(faults_lock_);
    if (faults_.size() < 10) faults_.insert(fault);
    over_ = true;
  }
  void finish() {
    over_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  std::atomic<bool> over_{false};
  std::mutex faults_lock_;
  std::set<std::string> faults_;  // guarded by faults_lock_
  std::vector<std::thread> threads_;
};

/// A fault by its name, or an empty string.
std::string fault_unless(bool holds, const char* fault) { return holds ? std::string() : fault; }

class Stress : public conformance {
 protected:
  std::string versioned(std::uint64_t n, std::uint64_t version) const {
    return versioned_value(with(), n, version);
  }

  /// Puts keys [0, count) at version 0.
  void start(std::uint64_t count) {
    for (std::uint64_t n = 0; n < count; ++n)
      ASSERT_EQ(pool().put(key(n), versioned(n, 0)), status::ok);
  }
  /// A reader that has seen versions of keys; says what is wrong with the next one.
  struct reader {
    std::vector<std::uint64_t> seen;
    std::string fault_in(const setup& with, std::uint64_t n, status answer,
                         const std::string& value) {
      if (answer == status::not_found)
        return "a key that is present throughout was reported absent";
      if (answer != status::ok) return "get answers " + std::string(message(answer));
      std::optional<std::uint64_t> version = version_in(with, n, value);
      if (!version) return "a torn or foreign value was read";
      if (*version < seen[n]) return "a reader saw a version that is older than one it saw before";
      seen[n] = *version;
      return {};
    }
  };

  /// Adds a thread that reads keys [0, count) in any order, one by one and in batches.
  void add_reader(crew& threads, std::uint64_t count) {
    threads.add([this, count,
                 seen = reader{std::vector<std::uint64_t>(count)}](random_stream& random) mutable {
      if (random.one_in(3)) return read_batch(random, count, seen);
      std::uint64_t n = random.below(count);
      std::string value;
      status answer = pool().get(key(n), value);
      return seen.fault_in(with(), n, answer, value);
    });
  }
  std::string read_batch(random_stream& random, std::uint64_t count, reader& seen) {
    std::vector<std::uint64_t> numbers;
    strings batch;
    for (std::uint64_t i = random.below(40); i > 0; --i) {
      numbers.push_back(random.below(count));
      batch.push_back(key(numbers.back()));
    }
    // Reads of a batch come in any order, so each is compared with what was seen before the batch,
    // not within it.
    reader before = seen;
    strings found(batch.size());
    answers given = pool().get_many(batch, found);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      reader fresh = before;
      if (std::string fault = fresh.fault_in(with(), numbers[i], given[i], found[i]);
          !fault.empty())
        return fault + " (get_many)";
      seen.seen[numbers[i]] = std::max(seen.seen[numbers[i]], fresh.seen[numbers[i]]);
    }
    return {};
  }

  /// Adds a thread that raises the versions of keys n in [0, count) with n % of == which: it alone
  /// writes them.
  void add_updater(crew& threads, std::uint64_t count, std::uint64_t which, std::uint64_t of) {
    threads.add([this, count, which, of,
                 versions = std::vector<std::uint64_t>(count)](random_stream& random) mutable {
      std::uint64_t n = random.below(count / of) * of + which;
      std::uint64_t version = ++versions[n];
      switch (random.below(4)) {
        case 0:
          return fault_unless(pool().put(key(n), versioned(n, version)) == status::ok,
                              "put failed");
        case 1:
          return fault_unless(pool().update(key(n), versioned(n, version)) == status::ok,
                              "update failed");
        case 2:
          return fault_unless(pool().compare_and_set(key(n), versioned(n, version - 1),
                                                     versioned(n, version)) == status::ok,
                              "compare_and_set of a key that this thread alone writes failed");
        default: return update_batch(random, count, which, of, n, versions);
      }
    });
  }
  std::string update_batch(random_stream& random, std::uint64_t count, std::uint64_t which,
                           std::uint64_t of, std::uint64_t n,
                           std::vector<std::uint64_t>& versions) {
    strings batch = {key(n)}, written = {versioned(n, versions[n])};
    for (std::uint64_t i = random.below(30); i > 0; --i) {
      std::uint64_t other = random.below(count / of) * of + which;
      batch.push_back(key(other));
      written.push_back(versioned(other, ++versions[other]));
    }
    for (status answer : pool().put_many(batch, written))
      if (answer != status::ok) return "put_many failed";
    return {};
  }

  /// Adds a thread that puts and erases keys in [from, from + count), which nobody else touches:
  /// neighbours of the keys that stay.
  void add_churner(crew& threads, std::uint64_t from, std::uint64_t count) {
    threads.add(
        [this, from, count, present = std::vector<bool>(count)](random_stream& random) mutable {
          std::uint64_t i = random.below(count), n = from + i;
          bool was_present = present[i];
          present[i] = !was_present;
          if (was_present)
            return fault_unless(pool().erase(key(n)) == status::ok,
                                "erase of a key that was put failed");
          return fault_unless(pool().insert(key(n), versioned(n, 0)) == status::ok,
                              "insert of a key that was erased failed");
        });
  }
};

std::vector<setup> stressed_setups() { return setups_for_long_tests(); }
INSTANTIATE_TEST_SUITE_P(Every, Stress, testing::ValuesIn(stressed_setups()), setup_name());

TEST_P(Stress, ReadersNeverMissAKeyThatIsUpdatedThroughout) {
  // few: updates, garbage collection and reads meet in the same buckets
  constexpr std::uint64_t keys = 64;
  start(keys);
  crew threads;
  add_updater(threads, keys, 0, 2);
  add_updater(threads, keys, 1, 2);
  add_reader(threads, keys);
  add_reader(threads, keys);
  threads.work_for(stress_seconds());
  expect_sound(pool());
  EXPECT_EQ(pool().pool().size(), keys);
}

TEST_P(Stress, ReadersNeverMissAKeyWhileNeighboursComeAndGo) {
  constexpr std::uint64_t keys = 500;
  start(keys);
  crew threads;
  add_updater(threads, keys, 0, 1);
  add_churner(threads, 10'000, 2000);
  add_churner(threads, 20'000, 100);
  add_reader(threads, keys);
  threads.work_for(stress_seconds());
  expect_sound(pool());
}

TEST_P(Stress, ReadersNeverMissAKeyWhileTheTableGrows) {
  constexpr std::uint64_t keys = 300;
  start(keys);
  crew threads;
  add_reader(threads, keys);
  add_updater(threads, keys, 0, 1);
  for (std::uint64_t writer = 1; writer <= 2; ++writer)
    threads.add([this, n = writer * 100'000'000](random_stream& random) mutable {
      strings batch, written;
      for (std::uint64_t i = 0; i < 1 + random.below(60); ++i, ++n)
        batch.push_back(key(n)), written.push_back(versioned(n, 0));
      for (status answer : pool().put_many(batch, written))
        if (answer != status::ok) return std::string("put_many failed");
      return std::string();
    });
  threads.work_for(stress_seconds());
  expect_sound(pool());
}

TEST_P(Stress, ReadersNeverMissAKeyWhileTheTableIsCompacted) {
  constexpr std::uint64_t keys = 500;
  start(keys);
  crew threads;
  add_reader(threads, keys);
  add_updater(threads, keys, 0, 1);
  add_churner(threads, 10'000, 3000);
  threads.add([this](random_stream&) {
    return fault_unless(pool().pool().compact() == status::ok, "compact failed");
  });
  threads.work_for(stress_seconds());
  expect_sound(pool());
}

TEST_P(Stress, ScansVisitEveryKeyThatStaysExactlyOnce) {
  constexpr std::uint64_t keys = 1000;
  start(keys);
  crew threads;
  add_updater(threads, keys, 0, 1);
  add_churner(threads, 10'000, 20'000);
  threads.add([this](random_stream& random) {
    std::map<std::string, int> visits;
    std::string fault;
    cursor at;
    while (!at.done && fault.empty()) {
      status answer =
          pool().scan(at, 1 + random.below(200), [&](std::string_view key, std::string_view value) {
            ++visits[std::string(key)];
            if (!describes_itself(with(), key, value))
              fault = "a scan was given a torn or foreign value";
          });
      if (answer != status::ok) fault = "scan failed";
    }
    for (std::uint64_t n = 0; n < keys && fault.empty(); ++n)
      if (int times = visits[key(n)]; times != 1)
        fault =
            times == 0 ? "a scan missed a key that stays" : "a scan visited a key that stays twice";
    return fault;
  });
  threads.work_for(2 * stress_seconds());
  expect_sound(pool());
}

TEST_P(Stress, SharedCountersSumUpExactly) {
  constexpr std::uint64_t counters = 5, threads_count = 4;
  std::atomic<std::uint64_t> added{0};
  std::vector<std::set<std::uint64_t>> given(threads_count);
  crew threads;
  for (std::uint64_t t = 0; t < threads_count; ++t)
    threads.add([this, &added, &mine = given[t]](random_stream& random) {
      std::uint64_t previous = 0, n = random.below(counters);
      if (pool().fetch_add(key(n), 1, previous) != status::ok)
        return std::string("fetch_add failed");
      added.fetch_add(1, std::memory_order_relaxed);
      if (n == 0 && !mine.insert(previous).second)
        return std::string("fetch_add gave one thread the same count twice");
      return std::string();
    });
  threads.work_for(stress_seconds());
  std::uint64_t sum = 0;
  for (std::uint64_t n = 0; n < counters; ++n)
    sum += bytes_word(pool().get(key(n)).value_or(word_bytes(0)));
  EXPECT_EQ(sum, added.load());
  std::set<std::uint64_t> all;
  std::size_t total = 0;
  for (auto& mine : given) total += mine.size(), all.merge(mine);
  EXPECT_EQ(all.size(), total) << "fetch_add gave two threads the same count";
  EXPECT_EQ(all.size(), bytes_word(pool().get(key(0)).value_or(word_bytes(0))));
  expect_sound(pool());
}

TEST_P(Stress, CompareAndSetIsACounterWithoutALock) {
  ASSERT_EQ(pool().put(key(1), word_bytes(0)), status::ok);
  std::atomic<std::uint64_t> won{0};
  crew threads;
  for (int t = 0; t < 3; ++t)
    threads.add([&](random_stream&) {
      std::string present;
      if (pool().get(key(1), present) != status::ok) return std::string("the counter is absent");
      status answer = pool().compare_and_set(key(1), present, word_bytes(bytes_word(present) + 1));
      if (answer == status::ok) won.fetch_add(1, std::memory_order_relaxed);
      return fault_unless(answer == status::ok || answer == status::mismatch,
                          "compare_and_set failed");
    });
  add_churner(threads, 10'000, 500);
  threads.work_for(stress_seconds());
  EXPECT_EQ(pool().get(key(1)), word_bytes(won.load()));
}

TEST_P(Stress, OneOfTheInsertsOfAKeyWins) {
  // Threads race to insert the same keys in the same order; each key must be won once, and hold the
  // winner's value.
  constexpr std::uint64_t racers = 3, max_keys = 50'000;
  std::vector<std::vector<std::uint64_t>> won(racers);
  crew threads;
  for (std::uint64_t t = 0; t < racers; ++t)
    threads.add([this, t, n = std::uint64_t{0}, &mine = won[t]](random_stream&) mutable {
      if (n == max_keys) return std::string();  // enough: each is verified below
      status answer = pool().insert(key(n), versioned(n, t));
      if (answer == status::ok) mine.push_back(n);
      ++n;
      return fault_unless(answer == status::ok || answer == status::exists, "insert failed");
    });
  threads.work_for(stress_seconds());
  std::map<std::uint64_t, std::uint64_t> winner;
  for (std::uint64_t t = 0; t < racers; ++t)
    for (std::uint64_t n : won[t])
      EXPECT_TRUE(winner.emplace(n, t).second) << "two threads inserted key " << n;
  for (auto [n, t] : winner) ASSERT_EQ(pool().get(key(n)), versioned(n, t)) << n;
  EXPECT_EQ(pool().pool().size(), winner.size());
  expect_sound(pool());
}

TEST_P(Stress, OneOfTheErasesOfAKeyWins) {
  std::atomic<std::uint64_t> inserted{0}, erased{0};
  crew threads;
  for (int t = 0; t < 2; ++t)
    threads.add([&](random_stream& random) {
      inserted.fetch_add(pool().insert(key(random.below(50)), versioned(1, 1)) == status::ok);
      return std::string();
    });
  for (int t = 0; t < 2; ++t)
    threads.add([&](random_stream& random) {
      if (random.one_in(2)) {
        erased.fetch_add(pool().erase(key(random.below(50))) == status::ok);
      } else {
        std::uint64_t from = random.below(45);
        for (status answer : pool().erase_many(keys(from, from + 5)))
          erased.fetch_add(answer == status::ok);
      }
      return std::string();
    });
  threads.work_for(stress_seconds());
  EXPECT_EQ(inserted.load() - erased.load(), pool().pool().size());
  expect_sound(pool());
}

TEST_P(Stress, WhatIsTakenGoesToOneThread) {
  std::atomic<std::uint64_t> inserted{0}, taken{0}, next{1};  // sums of values, each used once
  crew threads;
  for (int t = 0; t < 2; ++t)
    threads.add([&](random_stream& random) {
      const std::uint64_t mine = next.fetch_add(1);
      if (pool().insert(key(random.below(20)), word_bytes(mine)) == status::ok)
        inserted.fetch_add(mine);
      return std::string();
    });
  for (int t = 0; t < 2; ++t)
    threads.add([&](random_stream& random) -> std::string {
      std::string value;
      const status answer = pool().take(key(random.below(20)), value);
      if (answer == status::ok) taken.fetch_add(bytes_word(value));
      else if (answer != status::not_found) return "take answers " + std::string(message(answer));
      return {};
    });
  threads.work_for(stress_seconds());
  EXPECT_GT(taken.load(), 0u);
  std::uint64_t left = 0;
  for (const auto& [key, value] : contents_of(pool())) left += bytes_word(value);
  EXPECT_EQ(inserted.load(), taken.load() + left);
  expect_sound(pool());
}

TEST_P(Stress, SeveralWritersGrowATableFromNothing) {
  // Level once lost records here, and refused some: so small a table is full all the time, in all
  // of its places, and each writer makes room for itself.
  constexpr std::uint64_t writers = 8, puts = 1000;
  auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(stress_seconds());
  do {
    std::atomic<int> refused{0};
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < writers; ++t)
      threads.emplace_back([&, t] {
        for (std::uint64_t n = t; n < writers * puts; n += writers)
          refused += pool().put(key(n), versioned(n, 0)) != status::ok;
      });
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(refused, 0) << "puts were refused";
    EXPECT_EQ(pool().pool().size(), writers * puts);
    for (std::uint64_t n = 0; n < writers * puts; ++n)
      ASSERT_EQ(pool().get(key(n)), versioned(n, 0)) << n;
    expect_sound(pool());
    if (HasFailure()) return;
    drop();
    std::filesystem::remove(path());
    reopen(how());
  } while (std::chrono::steady_clock::now() < until);
}

TEST_P(Stress, EverythingAtOnceLeavesASoundPool) {
  constexpr std::uint64_t keys = 400;
  start(keys);
  crew threads;
  add_updater(threads, keys, 0, 1);
  add_reader(threads, keys);
  add_churner(threads, 10'000, 5000);
  threads.add([this](random_stream& random) {
    switch (random.below(8)) {
      case 0: return fault_unless(pool().pool().compact() == status::ok, "compact failed");
      case 1:
        return fault_unless(pool().pool().reserve(random.below(20'000)) == status::ok,
                            "reserve failed");
      case 2: return fault_unless(pool().pool().sync() == status::ok, "sync failed");
      case 3: {
        check_report report = pool().pool().check();
        return report.ok ? std::string()
                         : "check: " + (report.violations.empty() ? "" : report.violations.front());
      }
      case 4: (void)pool().pool().stats(); return std::string();
      case 5: (void)pool().pool().info(); return std::string();
      default:
        return fault_unless(pool().pool().size() >= keys, "size is less than the keys that stay");
    }
  });
  threads.work_for(2 * stress_seconds());
  expect_sound(pool());
  if (with().outlives_handle()) {
    std::uint64_t size = pool().pool().size();
    reopen();
    EXPECT_EQ(pool().pool().size(), size);
    expect_sound(pool());
  }
}

}  // namespace
}  // namespace durahash::test
