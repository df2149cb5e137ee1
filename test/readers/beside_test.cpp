// What goes on beside a reader, one thing at a time.
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "durahash/map.hpp"
#include "durahash/processes.hpp"
#include "persist/readers_line.hpp"
#include "readers/ledger.hpp"
#include "readers/process.hpp"
#include "readers/subject.hpp"
#include "store/levels.hpp"
#include "store/patched_pool.hpp"
#include "store/patience.hpp"
#include "store/scratch.hpp"

namespace durahash::test {
namespace {

const options beside{.mode = open_mode::read_beside};

bool has_ended(pid_t process) {
  siginfo_t facts{};
  return ::waitid(P_PID, static_cast<id_t>(process), &facts, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         facts.si_pid == process;
}

class BesideSubjects : public ReaderSubjects {
 protected:
  const reader_subject& subject() const { return GetParam(); }
  std::string path() const { return folder_.file("pool.dh"); }
  void put(table& pool, std::uint32_t first, std::uint32_t last, std::uint32_t version) const {
    put_all(pool, subject(), first, last, version);
  }
  void erase(table& pool, std::uint32_t first, std::uint32_t last) const {
    std::vector<std::string> keys;
    for (std::uint32_t n = first; n < last; ++n) keys.push_back(subject().key(n));
    const std::vector<std::string_view> k(keys.begin(), keys.end());
    std::vector<status> answers(k.size());
    pool.erase_many(k, answers);
    for (status answer : answers) ASSERT_EQ(answer, status::ok);
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
  scratch_folder folder_{folder_for(subject())};
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

constexpr int cannot_prepare = 77;

/// From here on the process is one of user and group 65534, nobody.
bool become_nobody() {
  constexpr ::gid_t nobody = 65534;
  return ::setgroups(0, nullptr) == 0 && ::setresgid(nobody, nobody, nobody) == 0 &&
         ::setresuid(nobody, nobody, nobody) == 0;
}

/// What a process of another user, or of another PID namespace, can read: 0, or the number of what
/// is not as promised.
int read_without_the_writers_memory(const std::string& path, const reader_subject& subject) {
  const bool blind = !subject.logs() && subject.engine == engine_kind::gphash && subject.of_words();
  const auto reader = table::open(path, beside);
  if (blind) {
    if (reader || reader.failure().code != status::unusable) return 1;
    return reader.failure().message.find("its user and its PID namespace") != std::string::npos ? 0
                                                                                                : 2;
  }
  if (!reader) return 3;
  std::string text;
  for (std::uint32_t n = 0; n < 300; ++n)
    if (reader->get(subject.key(n), text) != status::ok || subject.version_of(n, text) != 1u)
      return 4;
  if (reader->get(subject.key(100'000), text) != status::not_found) return 5;
  std::uint64_t records = 0;
  status answer = status::ok;
  for (cursor at; !at.done && answer == status::ok;)
    answer = reader->scan(at, 100, [&](std::string_view, std::string_view) { ++records; });
  if (!subject.logs() && subject.engine == engine_kind::level)
    return answer == status::unusable ? 0 : 6;
  if (answer != status::ok || records != 300) return 7;
  const auto seen = processes_with(path);
  return seen && seen->empty() ? 0 : 8;  // the writer is not nobody's to see
}

TEST_P(BesideSubjects, AnotherUsersPool) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to become another user";
  std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
  ASSERT_EQ(opened(path(), subject().creating()).close(), status::ok);
  ASSERT_EQ(::chmod(path().c_str(), 0644), 0);  // its log and its ring become like it
  table writer = opened(path(), {.mode = open_mode::open_existing});
  put(writer, 0, 300, 1);
  child_process reader([&] {
    return become_nobody() ? read_without_the_writers_memory(path(), subject()) : cannot_prepare;
  });
  const int code = reader.wait();
  if (code == cannot_prepare) GTEST_SKIP() << "this system does not let root become nobody";
  EXPECT_EQ(code, 0);
}

/// Of the folder, in a namespace of its own.
bool mount_read_only(const std::string& folder) {
  return ::unshare(CLONE_NEWNS) == 0 &&
         ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount(folder.c_str(), folder.c_str(), nullptr, MS_BIND, nullptr) == 0 &&
         ::mount(nullptr, folder.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) == 0;
}

TEST_P(BesideSubjects, AReadOnlyMount) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to mount a folder read-only";
  table writer = opened(path(), subject().creating());
  put(writer, 0, 300, 1);
  const ledger l;
  child_process child([&] {
    if (!mount_read_only(folder_.path().string())) return cannot_prepare;
    if (::open(path().c_str(), O_RDWR) >= 0 || errno != EROFS) return cannot_prepare;
    const table reader = opened(path(), beside);
    if (reader.size() != 300) return 1;
    l.reads() = 1;
    while (!l.stop()) ::usleep(100);
    std::string text;
    for (std::uint32_t n = 0; n < 3000; ++n)
      if (reader.get(subject().key(n), text) != status::ok || subject().version_of(n, text) != 2u)
        return 2;
    return reader.size() == 3000 && reader.check().ok ? 0 : 3;
  });
  while (l.reads() == 0 && !has_ended(child.id()))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (l.reads() != 0) {
    const auto seen = processes_with(path());
    ASSERT_TRUE(seen);
    ASSERT_EQ(seen->size(), 1u);
    EXPECT_EQ((*seen)[0].id, child.id());
    EXPECT_FALSE((*seen)[0].writes);
  }
  put(writer, 0, 3000, 2);  // it grows
  l.stop() = true;
  const int code = child.wait();
  if (code == cannot_prepare) GTEST_SKIP() << "this system does not let root mount a folder";
  EXPECT_EQ(code, 0);
}

/// Runs it in a PID namespace of its own, with the /proc of that. Its exit code.
template <class Run>
int run_in_pid_namespace(Run&& run) {
  if (::unshare(CLONE_NEWPID | CLONE_NEWNS) != 0 ||
      ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return cannot_prepare;
  child_process first([&] {
    if (::getpid() != 1 || ::mount("proc", "/proc", "proc", 0, nullptr) != 0) return cannot_prepare;
    return run();
  });
  return first.wait();
}

TEST_P(BesideSubjects, AnotherPidNamespace) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to make a namespace";
  table writer = opened(path(), subject().creating());
  put(writer, 0, 300, 1);
  child_process reader([&] {
    return run_in_pid_namespace([&] { return read_without_the_writers_memory(path(), subject()); });
  });
  const int code = reader.wait();
  if (code == cannot_prepare) GTEST_SKIP() << "this system does not let root make a namespace";
  EXPECT_EQ(code, 0);
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

/// What the compiler's runtime knows of the processor, from which __builtin_cpu_supports answers.
struct processor_model {
  unsigned vendor, type, subtype, features;
};
extern "C" processor_model model_of_processor asm("__cpu_model");

TEST_P(BesideSubjects, AProcessorWithoutAvx) {
  table writer = opened(path(), subject().creating());
  put(writer, 0, 100, 1);
  child_process reader([&] {
    constexpr unsigned avx = 1u << 9;  // the runtime's number
    model_of_processor.features &= ~avx;
    if (__builtin_cpu_supports("avx") || !__builtin_cpu_supports("sse4.2")) return cannot_prepare;
    const auto opened_there = table::open(path(), beside);
    if (subject().engine != engine_kind::cceh) return opened_there ? 0 : 1;
    if (opened_there || opened_there.failure().code != status::unusable) return 2;
    return opened_there.failure().message.find("no AVX") != std::string::npos ? 0 : 3;
  });
  const int code = reader.wait();
  if (code == cannot_prepare) GTEST_SKIP() << "the compiler's runtime has another form";
  EXPECT_EQ(code, 0);
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

class BesideTool : public testing::TestWithParam<durability_level> {};
INSTANTIATE_TEST_SUITE_P(All, BesideTool,
                         testing::Values(durability_level::process, durability_level::power,
                                         durability_level::power_buffered),
                         [](const auto& one) { return std::string(name_of(one.param)); });

TEST_P(BesideTool, ReadsAPoolThatAProcessHasOpen) {
  scratch_folder folder(folder_for({engine_kind::turbo, record_kind::bytes, GetParam()}));
  for (engine_kind engine : all_engines()) {
    if (engine > engine_kind::gphash) continue;
    const std::string path = folder.file(std::string(name_of(engine)) + ".dh");
    table writer =
        opened(path, {.mode = open_mode::create_new, .engine = engine, .durability = GetParam()});
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
    const std::string says = printed(std::string("backup ").append(path).append(" ").append(copy));
    EXPECT_NE(says.find("1 record"), std::string::npos);
    EXPECT_EQ(printed("dump " + copy), "alice\t2\n0");
    EXPECT_NE(printed("metrics " + path).find("pool_records"), std::string::npos);
    EXPECT_NE(printed("put " + path + " bob 3").find("locked"), std::string::npos);
  }
}

}  // namespace
}  // namespace durahash::test
