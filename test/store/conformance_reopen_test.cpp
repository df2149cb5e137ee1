// The contract of open and close: modes, options that contradict the pool, a closed handle, and
// what a reopened pool holds.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "conformance.hpp"

namespace durahash::test {
namespace {

using Closing = conformance;
INSTANTIATE_TEST_SUITE_P(Every, Closing, testing::ValuesIn(tried_setups()), setup_name());

using Reopening = conformance;
INSTANTIATE_TEST_SUITE_P(Every, Reopening, testing::ValuesIn(setups_that_reopen()), setup_name());

/// Everything that takes a handle's table, and what it answers.
std::vector<std::pair<const char*, status>> answers_of_everything(subject& pool,
                                                                  const std::string& key,
                                                                  const std::string& value) {
  std::uint64_t previous = 0;
  std::string found;
  strings found_many(1);
  cursor at;
  return {
      {"put", pool.put(key, value)},
      {"insert", pool.insert(key, value)},
      {"update", pool.update(key, value)},
      {"get", pool.get(key, found)},
      {"erase", pool.erase(key)},
      {"take", pool.take(key, found)},
      {"compare_and_set", pool.compare_and_set(key, value, value)},
      {"fetch_add", pool.fetch_add(key, 1, previous)},
      {"update_with", pool.update_with(key, [&](std::string_view) { return value; })},
      {"get_many", pool.get_many({key}, found_many)[0]},
      {"put_many", pool.put_many({key}, {value})[0]},
      {"erase_many", pool.erase_many({key})[0]},
      {"scan", pool.scan(at, 10, [](std::string_view, std::string_view) {})},
      {"reserve", pool.pool().reserve(10)},
      {"compact", pool.pool().compact()},
      {"sync", pool.pool().sync()},
      {"close", pool.pool().close()},
  };
}

TEST_P(Closing, EveryCallAfterCloseAnswersClosed) {
  fill(0, 10);
  ASSERT_EQ(pool().pool().close(), status::ok);
  for (auto [call, answer] : answers_of_everything(pool(), key(1), word_bytes(1)))
    EXPECT_EQ(answer, status::closed) << call;
  EXPECT_FALSE(pool().contains(key(1)));
  // These return no status; they must return all the same.
  EXPECT_EQ(pool().pool().size(), 0u);
  EXPECT_EQ(pool().pool().info().records, 0u);
  EXPECT_FALSE(pool().pool().check().ok)
      << "a check that read nothing must not say that all is well";
  (void)pool().pool().stats();
  (void)pool().pool().salvage_report();
}

/// libpmem2's reservations of addresses kept a gigabyte each when they were deleted: the 128th pool
/// of a process could not be opened.
TEST_P(Closing, GivesBackTheAddresses) {
  auto address_space_bytes = [] {
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  };
  scratch_folder folder(GetParam().folder());
  auto open_and_close = [&](int number) {
    auto opened =
        open_subject(GetParam(), folder.file(std::to_string(number)), GetParam().create_options());
    ASSERT_TRUE(opened) << opened.failure().message;
  };
  // allocators and threads take theirs once
  for (int warming = 0; warming < 4; ++warming) open_and_close(warming);
  std::uint64_t before = address_space_bytes();
  for (int number = 4; number < 12; ++number) open_and_close(number);
  EXPECT_LT(address_space_bytes(), before + (std::uint64_t{1} << 30));
}

TEST_P(Closing, AMovedFromHandleAnswersClosed) {
  fill(0, 10);
  handle kept = std::move(pool().pool());
  EXPECT_EQ(kept.size(), 10u);
  for (auto [call, answer] : answers_of_everything(pool(), key(1), word_bytes(1)))
    EXPECT_EQ(answer, status::closed) << call;
  EXPECT_EQ(kept.size(), 10u) << "the moved-from handle reached the pool";
  EXPECT_EQ(kept.close(), status::ok);
}

TEST_P(Closing, AnAssignedOverHandleIsClosed) {
  scratch_folder other_folder(with().folder());
  auto other = open_subject(with(), other_folder.file("pool"), how());
  ASSERT_TRUE(other) << other.failure().message;
  ASSERT_EQ((*other)->put(key(5), value(5)), status::ok);
  fill(0, 3);
  pool().pool() = std::move((*other)->pool());
  EXPECT_EQ(pool().pool().size(), 1u);
  EXPECT_EQ(pool().get(key(5)), value(5));
  if (with().outlives_handle()) {
    auto again = try_open(how());  // would be refused if the assigned-over pool were still open
    ASSERT_TRUE(again) << again.failure().message;
    EXPECT_EQ((*again)->pool().size(), 3u);
  }
}

TEST_P(Closing, MemoryIsEmptyAtEveryOpen) {
  if (with().outlives_handle()) GTEST_SKIP() << "this medium outlives its handle";
  fill(0, 10);
  reopen(how());
  expect_contents(pool(), {});
  EXPECT_FALSE(std::filesystem::exists(path())) << "the medium memory made a file";
}

TEST_P(Reopening, AClosedPoolHoldsEveryRecord) {
  model expected = fill(0, 3000);
  for (std::uint64_t n = 0; n < 3000; n += 3) {
    ASSERT_EQ(pool().erase(key(n)), status::ok);
    expected.erase(key(n));
  }
  reopen();
  EXPECT_TRUE(pool().pool().info().clean);
  expect_contents(pool(), expected);
  expect_sound(pool());
}

TEST_P(Reopening, ThePoolIsWritableAfterEveryReopen) {
  model expected;
  for (std::uint64_t round = 0; round < 8; ++round) {
    for (auto& [key, value] : fill(round * 500, round * 500 + 1000, round)) expected[key] = value;
    for (std::uint64_t n = round * 500; n < round * 500 + 100; ++n) {
      ASSERT_EQ(pool().erase(key(n)), status::ok);
      expected.erase(key(n));
    }
    reopen();
    ASSERT_NO_FATAL_FAILURE(expect_contents(pool(), expected));
  }
  expect_sound(pool());
}

TEST_P(Reopening, TheDestructorCloses) {
  model expected = fill(0, 100);
  drop();
  reopen();
  EXPECT_TRUE(pool().pool().info().clean);
  expect_contents(pool(), expected);
}

TEST_P(Reopening, AnEmptyPoolReopensEmpty) {
  reopen();
  EXPECT_TRUE(pool().pool().info().clean);
  expect_contents(pool(), {});
  EXPECT_EQ(pool().put(key(1), value(1)), status::ok);
}

TEST_P(Reopening, TheFileDoesNotGrowByReopening) {
  fill(0, 1000);
  reopen();
  std::uint64_t bytes = pool().pool().info().file_bytes;
  for (int round = 0; round < 10; ++round) {
    fill(0, 1000, static_cast<std::uint64_t>(round));
    reopen();
  }
  EXPECT_LE(pool().pool().info().file_bytes, bytes + bytes / 4)
      << "rewriting the same records grows the file";
}

TEST_P(Reopening, CreateNewRefusesAPathThatExists) {
  fill(0, 10);
  ASSERT_EQ(pool().pool().close(), status::ok);
  options only_new = how();
  only_new.mode = open_mode::create_new;
  auto opened = try_open(only_new);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.failure().message.find(path()), std::string::npos) << opened.failure().message;
  reopen();
  EXPECT_EQ(pool().pool().size(), 10u) << "the refused create_new harmed the pool";
}

TEST_P(Reopening, CreateNewMakesAPool) {
  drop();
  std::filesystem::remove(path());
  options only_new = how();
  only_new.mode = open_mode::create_new;
  reopen(only_new);
  expect_contents(pool(), {});
}

TEST_P(Reopening, OpenExistingRefusesAPathThatIsNotThereAndMakesNothing) {
  drop();
  std::filesystem::remove(path());
  options existing = how();
  for (open_mode mode : {open_mode::open_existing, open_mode::read_only}) {
    existing.mode = mode;
    auto opened = try_open(existing);
    ASSERT_FALSE(opened);
    EXPECT_NE(opened.failure().message.find(path()), std::string::npos) << opened.failure().message;
    EXPECT_FALSE(std::filesystem::exists(path()));
  }
}

TEST_P(Reopening, OpenExistingOpensAPoolThatIsThere) {
  fill(0, 10);
  options existing = how();
  existing.mode = open_mode::open_existing;
  reopen(existing);
  EXPECT_EQ(pool().pool().size(), 10u);
}

TEST_P(Reopening, ReadOnlyReadsAndRefusesEveryWrite) {
  model expected = fill(0, 500);
  options reading = how();
  reading.mode = open_mode::read_only;
  reopen(reading);
  std::string before = read_file(path());
  for (auto [call, answer] : answers_of_everything(pool(), key(1), word_bytes(1))) {
    std::string_view name = call;
    // nothing to do, or read_only: both are true
    if (name == "sync" || name == "reserve") continue;
    bool reads = name == "get" || name == "get_many" || name == "scan" || name == "close";
    EXPECT_EQ(answer, reads ? status::ok : status::read_only) << call;
  }
  reopen(reading);
  expect_contents(pool(), expected);
  expect_sound(pool());
  drop();
  EXPECT_TRUE(read_file(path()) == before) << "reading changed the file";
  reopen();
  expect_contents(pool(), expected);
}

TEST_P(Reopening, AReadOnlyHandleLeavesThePoolClean) {
  fill(0, 50);
  options reading = how();
  reading.mode = open_mode::read_only;
  reopen(reading);
  EXPECT_TRUE(pool().pool().info().clean);
  reopen();
  EXPECT_TRUE(pool().pool().info().clean);
}

TEST_P(Reopening, AnOptionThatContradictsThePoolIsRefused) {
  fill(0, 10);
  ASSERT_EQ(pool().pool().close(), status::ok);
  std::vector<std::pair<const char*, options>> wrong(4, {"", how()});
  wrong[0].first = "key kind";
  wrong[0].second.key = keys_are_bytes() ? data_kind::u64 : data_kind::bytes;
  wrong[1].first = "value kind";
  wrong[1].second.value = values_are_bytes() ? data_kind::u64 : data_kind::bytes;
  wrong[2].first = "durability";
  wrong[2].second.durability = with().durability == durability_level::none
                                   ? durability_level::process
                                   : durability_level::none;
  wrong[3].first = "engine";
  wrong[3].second.engine =
      with().engine == engine_kind::turbo ? engine_kind::cceh : engine_kind::turbo;
  for (const auto& [what, contradicting] : wrong) {
    auto opened = try_open(contradicting);
    EXPECT_FALSE(opened) << what;
    EXPECT_GE(opened.failure().message.size(), 20u) << what << ": " << opened.failure().message;
  }
  reopen();
  EXPECT_EQ(pool().pool().size(), 10u) << "a refused open harmed the pool";
}

TEST_P(Reopening, APoolOpensWithNothingNamed) {
  model expected = fill(0, 10);
  options plain;
  plain.medium = with().medium();
  reopen(plain);
  pool_info info = pool().pool().info();
  EXPECT_EQ(info.engine, with().engine);
  EXPECT_EQ(info.key, with().key());
  EXPECT_EQ(info.value, with().value());
  EXPECT_EQ(info.durability, with().durability);
  expect_contents(pool(), expected);
}

TEST_P(Reopening, MapRefusesAPoolThatIsNotOfWords) {
  if (!keys_are_bytes() && !values_are_bytes()) GTEST_SKIP() << "this pool is of words";
  fill(0, 10);
  ASSERT_EQ(pool().pool().close(), status::ok);
  options plain;
  plain.medium = with().medium();
  auto opened = map<std::uint64_t, std::uint64_t>::open(path(), plain);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.failure().message.find("bytes"), std::string::npos) << opened.failure().message;
  reopen();
  EXPECT_EQ(pool().pool().size(), 10u);
}

TEST_P(Reopening, TheSecondOpenerIsRefusedWhileTheFirstHoldsThePool) {
  fill(0, 10);
  auto second = try_open(how());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.failure().code, status::locked);
  EXPECT_NE(second.failure().message.find(path()), std::string::npos) << second.failure().message;
  EXPECT_EQ(pool().put(key(11), value(11)), status::ok);
  reopen();
  EXPECT_EQ(pool().pool().size(), 11u);
}

TEST_P(Reopening, ANewPoolIsItsOwnersAlone) {
  struct stat facts {};
  ASSERT_EQ(stat(path().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0600u);
}

}  // namespace
}  // namespace durahash::test
