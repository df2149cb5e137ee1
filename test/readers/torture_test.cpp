// Writers and readers that are killed and stopped, round after round, while the table grows,
// shrinks and is compacted. DURAHASH_READER_ROUNDS says how many rounds, DURAHASH_SEED repeats.
#include <cstdlib>
#include <random>
#include <thread>

#include "readers/ledger.hpp"
#include "readers/process.hpp"
#include "readers/subject.hpp"
#include "store/scratch.hpp"

namespace durahash::test {
namespace {

using random_source = std::mt19937_64;

std::uint64_t number_from(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// Writes a key's next version, or again the one that a killed writer had begun.
bool write_next(table& pool, const reader_subject& s, const ledger& l, std::uint32_t n) {
  key_ledger& k = l.of(n);
  const std::uint32_t version = k.done.load() + 1;
  k.begun.store(version);
  const std::string key = s.key(n);
  const status answer =
      ledger::removes(n, version) ? pool.erase(key) : pool.put(key, s.value(n, version));
  if (answer != status::ok && answer != status::not_found) {
    l.complain("a write answered " + std::string(message(answer)));
    return false;
  }
  k.done.store(version);
  l.writes().fetch_add(1, std::memory_order_relaxed);
  return true;
}

/// Two threads, whose keys differ; now and then one of them compacts, or removes all that may go.
int write_until_stopped(const std::string& path, const reader_subject& s, const ledger& l,
                        std::uint64_t seed) {
  table pool = opened(path, {.mode = open_mode::open_existing});
  auto write = [&](std::uint32_t which) {
    random_source random(seed + which);
    while (!l.stop()) {
      const std::uint32_t keys = l.wanted();
      for (int n = 0; n < 200 && !l.stop(); ++n) {
        const auto key = static_cast<std::uint32_t>(random() % keys) / 2 * 2 + which;
        if (!write_next(pool, s, l, key)) return;
      }
      const std::uint64_t what = random() % 64;
      if (what == 0 && pool.compact() != status::ok) l.complain("compact failed");
      if (what <= 1)  // many go, so that the table shrinks
        for (std::uint32_t key = which; key < keys && !l.stop(); key += 2)
          while (ledger::comes_and_goes(key) && !ledger::removes(key, l.of(key).done) && !l.stop())
            if (!write_next(pool, s, l, key)) return;
      if (what >= 60) l.wanted() = std::min<std::uint32_t>(keys + keys / 4, ledger::keys);
    }
  };
  std::thread second(write, 1);
  write(0);
  second.join();
  return pool.close() == status::ok ? 0 : 7;
}

void read_one(const table& pool, const reader_subject& s, const ledger& l, std::uint32_t n) {
  const std::uint32_t before = l.of(n).done.load();
  std::string text;
  const status answer = pool.get(s.key(n), text);
  const std::uint32_t begun = l.of(n).begun.load();
  if (answer == status::busy) return;  // a writer was opening, or was stopped in it
  if (answer != status::ok && answer != status::not_found)
    return l.complain("a read answered " + std::string(message(answer)));
  std::optional<std::uint32_t> version;
  if (answer == status::ok && !(version = s.version_of(n, text)))
    return l.complain("a torn value of key " + std::to_string(n));
  if (const std::string fault = ledger::fault_of(n, before, begun, version); !fault.empty())
    return l.complain("a read gave " + fault);
  l.reads().fetch_add(1, std::memory_order_relaxed);
}

/// All records at once: each that stays is there once.
void scan_all(const table& pool, const reader_subject& s, const ledger& l) {
  std::vector<std::uint32_t> before(ledger::keys), seen(ledger::keys);
  for (std::uint32_t n = 0; n < ledger::keys; ++n) before[n] = l.of(n).done.load();
  status answer = status::ok;
  std::string wrong;
  for (cursor at; !at.done && answer == status::ok;)
    answer = pool.scan(at, 100, [&](std::string_view key, std::string_view value) {
      const auto n = s.number_of(key);
      const auto version = n ? s.version_of(*n, value) : std::nullopt;
      if (!version) wrong = "a torn record";
      else if (*version < before[*n] || *version > l.of(*n).begun.load())
        wrong = "version " + std::to_string(*version) + " of key " + std::to_string(*n);
      else ++seen[*n];
    });
  if (!wrong.empty()) return l.complain("a scan gave " + wrong);
  if (answer == status::busy) return;
  if (answer != status::ok) return l.complain("a scan: " + std::string(message(answer)));
  for (std::uint32_t n = 0; n < ledger::keys; ++n) {
    const bool stays = before[n] != 0 && !ledger::comes_and_goes(n);
    if (stays && seen[n] != 1)
      return l.complain("a scan gave key " + std::to_string(n) + " " + std::to_string(seen[n]) +
                        " times");
  }
}

int read_until_stopped(const table& pool, const reader_subject& s, const ledger& l,
                       std::uint64_t seed) {
  random_source random(seed);
  while (!l.stop()) {
    const std::uint32_t keys = l.wanted();
    for (int n = 0; n < 500 && !l.stop(); ++n)
      read_one(pool, s, l, static_cast<std::uint32_t>(random() % keys));
    if (random() % 16 == 0) scan_all(pool, s, l);
  }
  return 0;
}

/// What `run` answers of a handle of its own. An opening is refused, too, while a writer opens the
/// pool that gets no processor for a second.
template <class Run>
int open_and(const std::string& path, const ledger& l, Run&& run) {
  while (!l.stop()) {
    const auto pool = table::open(path, {.mode = open_mode::read_beside});
    if (pool) return run(*pool);
    if (pool.failure().code != status::busy) {
      l.complain("an opening: " + pool.failure().message);
      return 1;
    }
  }
  return 0;
}

void pause_a_little(random_source& random, std::uint64_t most) {
  std::this_thread::sleep_for(std::chrono::milliseconds(1 + random() % most));
}

/// A disk may be so slow that nothing happens: until so much more has been written, or a while.
void await_writes(const ledger& l, std::uint64_t more) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  const std::uint64_t wanted = l.writes() + more;
  while (l.writes() < wanted && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST_P(ReaderSubjects, TortureOfWritersAndReadersKilledAndStopped) {
  const reader_subject& s = GetParam();
  const std::uint64_t rounds = number_from("DURAHASH_READER_ROUNDS", 8),
                      seed = number_from("DURAHASH_SEED", 20261125);
  scratch_folder folder(folder_for(s));
  const std::string path = folder.file("pool.dh");
  const ledger l;
  l.wanted() = 64;
  ASSERT_EQ(opened(path, s.creating()).close(), status::ok);

  // one that stays, through all writers; its handle was made before it was forked
  const table staying = opened(path, {.mode = open_mode::read_beside});
  child_process stays([&] { return read_until_stopped(staying, s, l, seed + 1); });

  std::uint64_t killed_writers = 0, killed_readers = 0;
  for (std::uint64_t round = 0; round < rounds && l.complaints() == 0; ++round) {
    random_source random(seed + 1000 * round);
    child_process writer([&] { return write_until_stopped(path, s, l, seed + 17 * round); });
    child_process reader([&] {
      return open_and(path, l,
                      [&](const table& pool) { return read_until_stopped(pool, s, l, random()); });
    });
    if (s.logs()) await_writes(l, s.durability == durability_level::power ? 40 : 400);
    pause_a_little(random, 20);
    if (random() % 2 == 0) reader.signal(SIGSTOP);
    if (random() % 4 == 0) {
      writer.signal(SIGSTOP);
      pause_a_little(random, 10);
      writer.signal(SIGCONT);
    }
    pause_a_little(random, 20);
    if (random() % 2 == 0) reader.kill(), ++killed_readers;
    if (random() % 8 != 0) {
      writer.kill(), ++killed_writers;
    } else {
      l.stop() = true;
      EXPECT_EQ(writer.wait(), 0);
      if (reader.id() > 0) {
        reader.signal(SIGCONT);
        EXPECT_EQ(reader.wait(), 0);
      }
      EXPECT_EQ(stays.wait(), 0);
      l.stop() = false;
      stays = child_process([&] { return read_until_stopped(staying, s, l, seed + round); });
    }
  }
  l.stop() = true;
  EXPECT_EQ(stays.wait(), 0);
  EXPECT_EQ(l.complaints(), 0u) << l.what() << " (DURAHASH_SEED=" << seed << ")";
  std::printf(
      "%s: %llu rounds, seed %llu: %llu writes, %llu reads, %llu writers and %llu readers "
      "killed\n",
      s.name().c_str(), static_cast<unsigned long long>(rounds),
      static_cast<unsigned long long>(seed), static_cast<unsigned long long>(l.writes()),
      static_cast<unsigned long long>(l.reads()), static_cast<unsigned long long>(killed_writers),
      static_cast<unsigned long long>(killed_readers));

  // whole, with no space lost: what a copy of its records needs is about what it has
  table pool = opened(path, {.mode = open_mode::open_existing});
  const check_report report = pool.check();
  EXPECT_TRUE(report.ok) << (report.violations.empty() ? "" : report.violations[0]);
  EXPECT_EQ(pool.compact(), status::ok);
  EXPECT_EQ(pool.info().file_bytes, pool.info().live_bytes + pool.info().free_bytes);
  EXPECT_EQ(pool.close(), status::ok);
}

/// A writer that runs `write` again and again, a reader, and one that scans; 40 ms for each round,
/// or four times that on a disk. At least a read, and so many writes if no disk is waited for.
template <class Write>
void read_beside(const reader_subject& s, std::uint32_t keys, std::uint64_t writes, Write write) {
  scratch_folder folder(folder_for(s));
  const std::string path = folder.file("pool.dh");
  const ledger l;
  l.wanted() = keys;
  const std::uint64_t rounds = number_from("DURAHASH_READER_ROUNDS", 4),
                      seed = number_from("DURAHASH_SEED", 20261125);
  ASSERT_EQ(opened(path, s.creating()).close(), status::ok);
  child_process writer([&] {
    table pool = opened(path, {.mode = open_mode::open_existing});
    random_source random(seed);
    while (!l.stop())
      if (!write(pool, l, random)) return 1;
    return pool.check().ok && pool.close() == status::ok ? 0 : 2;
  });
  auto reading = [&](auto&& read) {
    return child_process([&] { return open_and(path, l, read); });
  };
  child_process first =
      reading([&](const table& pool) { return read_until_stopped(pool, s, l, seed + 1); });
  child_process second = reading([&](const table& pool) {
    while (!l.stop()) scan_all(pool, s, l);
    return 0;
  });
  using std::chrono::milliseconds, std::chrono::steady_clock;
  std::this_thread::sleep_for(milliseconds((s.logs() ? 160 : 40) * rounds));
  const auto patience = steady_clock::now() + std::chrono::seconds(20);
  while ((l.reads() == 0 || (!s.logs() && l.writes() < writes)) && steady_clock::now() < patience)
    std::this_thread::sleep_for(milliseconds(10));
  l.stop() = true;
  EXPECT_EQ(writer.wait(), 0);
  EXPECT_EQ(first.wait(), 0);
  EXPECT_EQ(second.wait(), 0);
  EXPECT_EQ(l.complaints(), 0u) << l.what() << " (DURAHASH_SEED=" << seed << ")";
  EXPECT_GT(l.reads(), 0u);
}

/// Slots and cells are used again as soon as they can be.
TEST_P(ReaderSubjects, FewKeysThatChangeAllTheTime) {
  constexpr std::uint32_t keys = 12;
  read_beside(GetParam(), keys, 1, [&](table& pool, const ledger& l, random_source& random) {
    return write_next(pool, GetParam(), l, static_cast<std::uint32_t>(random() % keys));
  });
}

/// A table that grows and is made small, over and over; a quarter of its records stay, and move.
TEST_P(ReaderSubjects, ArraysThatAreUsedAnew) {
  constexpr std::uint32_t keys = 3000;
  constexpr std::uint64_t writes = 2 * keys;  // more than until the first compact
  read_beside(GetParam(), keys, writes, [&](table& pool, const ledger& l, random_source&) {
    for (const bool there : {true, false})
      for (std::uint32_t n = 0; n < keys && !l.stop(); ++n)
        while (ledger::removes(n, l.of(n).done) == there && (there || ledger::comes_and_goes(n)))
          if (!write_next(pool, GetParam(), l, n)) return false;
    return pool.compact() == status::ok;
  });
}

INSTANTIATE_TEST_SUITE_P(All, ReaderSubjects, testing::ValuesIn(reader_subjects()),
                         [](const auto& subject) { return subject.param.name(); });

}  // namespace
}  // namespace durahash::test
