// Readers that may do less than the writer: of another user, on a mount to read, in another PID
// namespace, on another processor.
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <thread>

#include "durahash/processes.hpp"
#include "readers/beside_subjects.hpp"
#include "readers/ledger.hpp"
#include "readers/process.hpp"

namespace durahash::test {
namespace {

bool has_ended(pid_t process) {
  siginfo_t facts{};
  return ::waitid(P_PID, static_cast<id_t>(process), &facts, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         facts.si_pid == process;
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

}  // namespace
}  // namespace durahash::test
