// What goes on beside a reader, one thing at a time.
#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "durahash/map.hpp"
#include "persist/readers_line.hpp"
#include "readers/beside_subjects.hpp"
#include "readers/ledger.hpp"
#include "readers/process.hpp"
#include "store/levels.hpp"
#include "store/patched_pool.hpp"
#include "store/patience.hpp"

namespace durahash::test {
namespace {

TEST_P(BesideSubjects, WritersComeAndGo) {
  ASSERT_EQ(opened(path(), subject().creating()).close(), status::ok);
  const table reader = opened(path(), beside);
  EXPECT_EQ(reader.size(), 0u);
  for (std::uint32_t version = 1; version <= 3; ++version) {
    table writer = opened(path(), {.mode = open_mode::open_existing});
    put(writer, 0, 500 * version, version);
    expect(reader, 0, 500 * version, version);
    EXPECT_TRUE(reader.info().beside_a_writer);
    EXPECT_EQ(reader.size(), 500 * version);
    ASSERT_EQ(writer.close(), status::ok);
    expect(reader, 0, 500 * version, version);
    EXPECT_FALSE(reader.info().beside_a_writer);
  }
  EXPECT_TRUE(reader.check().ok);
}

TEST_P(BesideSubjects, WritesAreRefused) {
  table writer = opened(path(), subject().creating());
  table reader = opened(path(), beside);
  const std::string key = subject().key(5), value = subject().value(5, 1);
  EXPECT_EQ(reader.put(key, value), status::read_only);
  EXPECT_EQ(reader.erase(key), status::read_only);
  std::string taken;
  EXPECT_EQ(reader.take(key, taken), status::read_only);
  EXPECT_EQ(reader.compact(), status::read_only);
  EXPECT_EQ(reader.reserve(100), status::read_only);
}

TEST_P(BesideSubjects, AHandleWorksInAChild) {
  table writer = opened(path(), subject().creating());
  put(writer, 0, 300, 1);
  const table reader = opened(path(), beside);
  child_process child([&] {
    std::string text;
    for (std::uint32_t n = 0; n < 300; ++n)
      if (reader.get(subject().key(n), text) != status::ok) return 1;
    return reader.size() == 300 ? 0 : 2;
  });
  EXPECT_EQ(child.wait(), 0);
  expect(reader, 0, 300, 1);
}

/// What another thread was in the middle of, nobody in the child goes on with.
TEST_P(BesideSubjects, AHandleWorksInChildrenOfAProcessThatReads) {
#ifdef DURAHASH_SANITIZED
  GTEST_SKIP() << "a sanitizer's allocator may be locked in the child of a thread";
#endif
  table writer = opened(path(), subject().creating());
  put(writer, 0, 300, 1);
  const table reader = opened(path(), beside);
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    std::string text;
    for (std::uint32_t n = 0; !stop; n = (n + 1) % 300)
      if (reader.get(subject().key(n), text) != status::ok) return;
  });
  for (std::uint32_t version = 2; version < 12; ++version) {
    child_process child([&] {
      ::alarm(patience_seconds);
      std::string text;
      for (std::uint32_t n = 0; n < 300; ++n)
        if (reader.get(subject().key(n), text) != status::ok) return 1;
      return reader.size() == 300 ? 0 : 2;
    });
    put(writer, 0, 300, version);
    EXPECT_EQ(child.wait(), 0);
  }
  stop = true;
  busy.join();
}

TEST_P(BesideSubjects, AFileIsNotCutUnderAReader) {
  table writer = opened(path(), subject().creating());
  put(writer, 0, 20'000, 1);
  const table reader = opened(path(), beside);
  expect(reader, 0, 20'000, 1);
  const auto length = std::filesystem::file_size(path());
  erase(writer, 100, 20'000);
  ASSERT_EQ(writer.compact(), status::ok);
  const std::uint64_t needed = writer.info().file_bytes;
  ASSERT_LT(needed, length / 2);
  ASSERT_EQ(writer.close(), status::ok);
  if (subject().logs()) {  // its readers map nothing of it
    EXPECT_LT(std::filesystem::file_size(path()), length / 2);
  } else {
    EXPECT_EQ(std::filesystem::file_size(path()), length);
    struct stat facts {};
    ASSERT_EQ(::stat(path().c_str(), &facts), 0);
    EXPECT_LT(static_cast<std::uint64_t>(facts.st_blocks) * 512, length / 2) << "blocks behind it";
  }
  expect(reader, 0, 100, 1);
  EXPECT_EQ(reader.size(), 100u);
}

TEST_P(BesideSubjects, AFileWithoutReadersIsCut) {
  table writer = opened(path(), subject().creating());
  put(writer, 0, 20'000, 1);
  const auto length = std::filesystem::file_size(path());
  erase(writer, 100, 20'000);
  ASSERT_EQ(writer.compact(), status::ok);
  ASSERT_EQ(writer.close(), status::ok);
  EXPECT_LT(std::filesystem::file_size(path()), length / 2);
}

/// As a writer leaves the line that dies while it opens the pool.
TEST_P(BesideSubjects, ABannedReaderIsBusyForASecond) {
  if (subject().logs()) GTEST_SKIP() << "who follows a log is not banned";
  {
    table writer = opened(path(), subject().creating());
    put(writer, 0, 100, 1);
  }
  const table reader = opened(path(), beside);
  expect(reader, 0, 100, 1);
  {
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    std::uint64_t sequence = 0;
    file.seekg(readers_line_offset).read(reinterpret_cast<char*>(&sequence), sizeof sequence);
    ASSERT_EQ(sequence % 2, 0u);
    ++sequence;
    file.seekp(readers_line_offset).write(reinterpret_cast<char*>(&sequence), sizeof sequence);
  }
  const auto began = std::chrono::steady_clock::now();
  std::string text;
  EXPECT_EQ(reader.get(subject().key(1), text), status::busy);
  const auto took = std::chrono::steady_clock::now() - began;
  EXPECT_GE(took, std::chrono::milliseconds(900));
  EXPECT_LT(took, std::chrono::seconds(10));
  const auto another = table::open(path(), beside);
  ASSERT_FALSE(another);
  EXPECT_EQ(another.failure().code, status::busy) << another.failure().message;
  table writer = opened(path(), {.mode = open_mode::open_existing});
  expect(reader, 0, 100, 1);
}

/// Who has the file may be about to refuse it.
TEST_P(BesideSubjects, ATornFileIsRefusedWhoeverHasIt) {
  if (subject().logs()) GTEST_SKIP() << "what the log says is not torn";
  const scratch_folder disk(disk_folder());
  if (is_in_memory(disk.file("pool.dh"))) GTEST_SKIP() << "what is in memory is not torn";
  std::string image;
  {
    table writer = opened(disk.file("pool.dh"), subject().creating());
    put(writer, 0, 100, 1);
    image = read_file(disk.file("pool.dh"));
  }
  write_as_killed(disk.file("pool.dh"), after_reboot(image, pool_state::changing));
  for (bool held : {false, true}) {
    std::optional<locked_file> owner;
    if (held) {
      auto locked = locked_file::open({.path = disk.file("pool.dh")});
      ASSERT_TRUE(locked) << locked.failure().message;
      owner.emplace(std::move(*locked));
    }
    const auto reader = table::open(disk.file("pool.dh"), beside);
    ASSERT_FALSE(reader) << held;
    EXPECT_NE(reader.failure().message.find("the machine went down"), std::string::npos)
        << reader.failure().message;
  }
}

TEST_P(BesideSubjects, AFileThatMayOnlyBeRead) {
  table writer = opened(path(), subject().creating());
  put(writer, 0, 100, 1);
  ASSERT_EQ(::chmod(path().c_str(), 0444), 0);
  if (subject().logs()) {
    ASSERT_EQ(::chmod((path() + "-log").c_str(), 0444), 0);
  }
  expect(opened(path(), beside), 0, 100, 1);
}

TEST_P(BesideSubjects, ADamagedRecordIsNotGivenAway) {
  if (subject().of_words()) GTEST_SKIP() << "words have no checksums";
  {
    table writer = opened(path(), subject().creating());
    put(writer, 0, 20, 1);
  }
  std::string bytes = read_file(path());
  const std::string value = subject().value(7, 1);
  const std::size_t at = bytes.find(value);
  ASSERT_NE(at, std::string::npos);
  ASSERT_EQ(bytes.find(value, at + 1), std::string::npos);
  std::fstream(path(), std::ios::in | std::ios::out | std::ios::binary)
      .seekp(static_cast<std::streamoff>(at + 3))
      .put(static_cast<char>(bytes[at + 3] ^ 1));
  table reader = opened(path(), beside);
  expect(reader, 0, 7, 1);
  std::string text;
  EXPECT_EQ(reader.get(subject().key(7), text), status::damaged);
  EXPECT_FALSE(reader.check().ok);
  EXPECT_EQ(reader.backup(folder_.file("copy.dh")).code, status::damaged);
  EXPECT_FALSE(std::filesystem::exists(folder_.file("copy.dh")));
}

TEST_P(BesideSubjects, ADeadWritersPoolIsRead) {
  ASSERT_EQ(opened(path(), subject().creating()).close(), status::ok);
  const ledger l;
  child_process child([&]() -> int {
    table writer = opened(path(), {.mode = open_mode::open_existing});
    put_all(writer, subject(), 0, 3000, 1);
    l.stop() = true;
    while (true) ::pause();
  });
  while (!l.stop()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const table before = opened(path(), beside);
  expect(before, 0, 3000, 1);
  child.kill();
  expect(before, 0, 3000, 1);
  const table behind = opened(path(), beside);
  expect(behind, 0, 3000, 1);
  EXPECT_EQ(behind.size(), 3000u);
  EXPECT_FALSE(behind.info().beside_a_writer);
}

INSTANTIATE_TEST_SUITE_P(All, BesideSubjects, testing::ValuesIn(reader_subjects()),
                         [](const auto& subject) { return subject.param.name(); });

TEST(Beside, AMapOfWords) {
  scratch_folder folder;
  auto writer = map<std::uint64_t, std::uint64_t>::open(folder.file("pool.dh"), {});
  ASSERT_TRUE(writer);
  for (std::uint64_t key : {std::uint64_t{0}, std::uint64_t{7}, ~std::uint64_t{0}})
    ASSERT_EQ(writer->put(key, key ^ 1), status::ok);
  auto reader = map<std::uint64_t, std::uint64_t>::open(folder.file("pool.dh"), beside);
  ASSERT_TRUE(reader) << reader.failure().message;
  EXPECT_EQ(reader->get(7), std::optional<std::uint64_t>(6));
  EXPECT_EQ(reader->get(0), std::optional<std::uint64_t>(1));
  EXPECT_EQ(reader->get(9), std::nullopt);
}

}  // namespace
}  // namespace durahash::test
