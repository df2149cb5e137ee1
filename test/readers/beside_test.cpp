// What goes on beside a reader, one thing at a time.
#include <fcntl.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>

#include "durahash/map.hpp"
#include "durahash/processes.hpp"
#include "persist/readers_line.hpp"
#include "readers/ledger.hpp"
#include "readers/process.hpp"
#include "readers/subject.hpp"
#include "store/scratch.hpp"

namespace durahash::test {
namespace {

const options beside{.mode = open_mode::read_beside};

class BesideSubjects : public ReaderSubjects {
 protected:
  const reader_subject& subject() const { return GetParam(); }
  std::string path() const { return folder_.file("pool.dh"); }
  void put(table& pool, std::uint32_t first, std::uint32_t last, std::uint32_t version) const {
    for (std::uint32_t n = first; n < last; ++n)
      ASSERT_EQ(pool.put(subject().key(n), subject().value(n, version)), status::ok);
  }
  void expect(const table& pool, std::uint32_t first, std::uint32_t last,
              std::uint32_t version) const {
    std::string text;
    for (std::uint32_t n = first; n < last; ++n) {
      ASSERT_EQ(pool.get(subject().key(n), text), status::ok) << n;
      ASSERT_EQ(subject().version_of(n, text), version) << n;
    }
    ASSERT_EQ(pool.get(subject().key(last + 100'000), text), status::not_found);
  }
  scratch_folder folder_;
};

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

TEST_P(BesideSubjects, AFileIsNotCutUnderAReader) {
  table writer = opened(path(), subject().creating());
  put(writer, 0, 20'000, 1);
  const table reader = opened(path(), beside);
  expect(reader, 0, 20'000, 1);
  const auto length = std::filesystem::file_size(path());
  for (std::uint32_t n = 100; n < 20'000; ++n)
    ASSERT_EQ(writer.erase(subject().key(n)), status::ok);
  ASSERT_EQ(writer.compact(), status::ok);
  const std::uint64_t needed = writer.info().file_bytes;
  ASSERT_LT(needed, length / 2);
  ASSERT_EQ(writer.close(), status::ok);
  EXPECT_EQ(std::filesystem::file_size(path()), length);
  struct stat facts {};
  ASSERT_EQ(::stat(path().c_str(), &facts), 0);
  EXPECT_LT(static_cast<std::uint64_t>(facts.st_blocks) * 512, length / 2) << "no blocks behind it";
  expect(reader, 0, 100, 1);
  EXPECT_EQ(reader.size(), 100u);
}

TEST_P(BesideSubjects, AFileWithoutReadersIsCut) {
  table writer = opened(path(), subject().creating());
  put(writer, 0, 20'000, 1);
  const auto length = std::filesystem::file_size(path());
  for (std::uint32_t n = 100; n < 20'000; ++n)
    ASSERT_EQ(writer.erase(subject().key(n)), status::ok);
  ASSERT_EQ(writer.compact(), status::ok);
  ASSERT_EQ(writer.close(), status::ok);
  EXPECT_LT(std::filesystem::file_size(path()), length / 2);
}

/// As a writer leaves the line that dies while it opens the pool.
TEST_P(BesideSubjects, ABannedReaderIsBusyForASecond) {
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

TEST_P(BesideSubjects, AFileThatMayOnlyBeRead) {
  table writer = opened(path(), subject().creating());
  put(writer, 0, 100, 1);
  ASSERT_EQ(::chmod(path().c_str(), 0444), 0);
  expect(opened(path(), beside), 0, 100, 1);
}

TEST_P(BesideSubjects, ADeadWritersPoolIsRead) {
  ASSERT_EQ(opened(path(), subject().creating()).close(), status::ok);
  const ledger l;
  child_process child([&] {
    table writer = opened(path(), {.mode = open_mode::open_existing});
    for (std::uint32_t n = 0; n < 3000; ++n)
      if (writer.put(subject().key(n), subject().value(n, 1)) != status::ok) return 1;
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

TEST(Beside, PoolsOfADiskAreRefused) {
  scratch_folder folder("/var/tmp");
  options how{.mode = open_mode::create_new};
  how.medium = medium_kind::disk;
  const table writer = opened(folder.file("pool.dh"), how);
  const auto reader = table::open(folder.file("pool.dh"), beside);
  ASSERT_FALSE(reader);
  EXPECT_NE(reader.failure().message.find("medium disk"), std::string::npos);
}

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

/// Which processes have it: "w 123 r 124".
std::string list_of(const std::string& path) {
  auto found = processes_with(path);
  if (!found) throw std::runtime_error(found.failure().message);
  std::string text;
  for (const pool_process& one : *found)
    text += (one.writes ? "w " : "r ") + std::to_string(one.id) + " ";
  return text;
}

TEST(Beside, WhoHasAPoolIsListed) {
  scratch_folder folder;
  const std::string path = folder.file("pool.dh");
  ASSERT_EQ(opened(path, {}).close(), status::ok);
  EXPECT_EQ(list_of(path), "");
  const ledger l;
  auto wait_for_ever = [&] {
    l.reads().fetch_add(1);
    while (true) ::pause();
    return 0;
  };
  auto open_and_wait = [&](const options& how) {
    return child_process([&] {
      const table pool = opened(path, how);
      return wait_for_ever();
    });
  };
  auto await = [&](std::uint64_t openings) {
    while (l.reads() < openings) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  child_process writer = open_and_wait({});
  await(1);
  child_process first = open_and_wait(beside);
  await(2);
  child_process second = open_and_wait(beside);
  await(3);
  const std::string w = "w " + std::to_string(writer.id()) + " ",
                    one = "r " + std::to_string(first.id()) + " ",
                    two = "r " + std::to_string(second.id()) + " ";
  EXPECT_EQ(list_of(path), w + one + two);
  EXPECT_EQ((*processes_with(path))[0].command, "readers_test");
  const auto began = (*processes_with(path))[1].started_unix_seconds;
  EXPECT_LE(std::abs(began - static_cast<std::int64_t>(std::time(nullptr))), 100);

  // neither who looks at the bytes alone, nor a reader of this process
  child_process bystander([&] { return ::open(path.c_str(), O_RDONLY) < 0 ? 1 : wait_for_ever(); });
  await(4);
  const table here = opened(path, beside);
  EXPECT_EQ(list_of(path), w + one + two);
  child_process forked(wait_for_ever);  // has the handle of its parent
  await(5);
  EXPECT_EQ(list_of(path), w + one + two + "r " + std::to_string(forked.id()) + " ");
  forked.kill();

  first.kill();
  EXPECT_EQ(list_of(path), w + two);
  writer.kill();
  EXPECT_EQ(list_of(path), two);
  second.kill();
  EXPECT_EQ(list_of(path), "");
  child_process alone = open_and_wait({.mode = open_mode::read_only});
  await(6);
  EXPECT_EQ(list_of(path), "r " + std::to_string(alone.id()) + " ");
  EXPECT_EQ(processes_with(folder.file("none.dh")).failure().code, status::unusable);
}

/// What a command prints; its exit code behind it.
std::string printed(const std::string& arguments) {
  std::FILE* out =
      ::popen((std::string(DURAHASH_TOOL_PATH) + " " + arguments + " 2>&1").c_str(), "r");
  std::string text;
  for (int c = std::fgetc(out); c != EOF; c = std::fgetc(out)) text += static_cast<char>(c);
  return text + std::to_string(WEXITSTATUS(::pclose(out)));
}

TEST(BesideTool, ReadsAPoolThatAProcessHasOpen) {
  scratch_folder folder;
  for (engine_kind engine : all_engines()) {
    if (engine > engine_kind::gphash) continue;
    const std::string path = folder.file(std::string(name_of(engine)) + ".dh");
    table writer = opened(path, {.mode = open_mode::create_new, .engine = engine});
    ASSERT_EQ(writer.put("alice", "1"), status::ok);
    EXPECT_EQ(printed("get " + path + " alice"), "1\n0");
    ASSERT_EQ(writer.put("alice", "2"), status::ok);
    EXPECT_EQ(printed("get " + path + " alice"), "2\n0");
    EXPECT_EQ(printed("dump " + path), "alice\t2\n0");
    EXPECT_NE(printed("info " + path).find("a process has it to write to"), std::string::npos);
    EXPECT_NE(printed("info --json " + path).find("\"records\": 1"), std::string::npos);
    const std::string here = std::to_string(::getpid());
    EXPECT_NE(printed("info " + path).find("  writer        " + here + " (readers_test), which"),
              std::string::npos);
    EXPECT_NE(printed("info --json " + path).find("\"pid\": " + here + ",\n      \"writes\": true"),
              std::string::npos);
    EXPECT_NE(printed("check " + path).find("ok, 1 record"), std::string::npos);
    const std::string copy = path + "-copy";
    EXPECT_NE(printed("backup " + path + " " + copy).find("1 record"), std::string::npos);
    EXPECT_EQ(printed("dump " + copy), "alice\t2\n0");
    EXPECT_NE(printed("metrics " + path).find("pool_records"), std::string::npos);
    EXPECT_NE(printed("put " + path + " bob 3").find("locked"), std::string::npos);
  }
}

}  // namespace
}  // namespace durahash::test
