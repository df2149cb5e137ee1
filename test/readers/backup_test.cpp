// Copies that a reader makes while another process writes.
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <thread>

#include "readers/ledger.hpp"
#include "readers/process.hpp"
#include "readers/subject.hpp"
#include "store/scratch.hpp"

namespace durahash::test {
namespace {

/// Soon after it was made, this process waits until the writer has gone on: in the middle of a
/// copy, however little of the processors the writer gets.
class interruption {
 public:
  explicit interruption(const ledger& l) {
    of_ = &l;
    struct sigaction wait {};
    wait.sa_handler = [](int) {
      const int error = errno;
      const std::uint64_t before = of_->writes();
      for (int n = 0; n < 1000 && of_->writes() == before; ++n) ::usleep(1000);
      errno = error;
    };
    wait.sa_flags = SA_RESTART;
    ::sigaction(SIGALRM, &wait, nullptr);
    const itimerval soon{{0, 0}, {0, 200}};
    ::setitimer(ITIMER_REAL, &soon, nullptr);
  }
  ~interruption() {
    const itimerval never{};
    ::setitimer(ITIMER_REAL, &never, nullptr);
  }
  interruption(const interruption&) = delete;

 private:
  static inline const ledger* of_ = nullptr;
};

class BesideBackup : public ReaderSubjects {
 protected:
  const reader_subject& subject() const { return GetParam(); }
  /// A disk takes some thousand writes a second that are waited for one by one.
  const std::uint32_t keys = subject().durability == durability_level::power ? 300 : 3000;
  std::string path() const { return folder_.file("pool.dh"); }
  std::string copy_path() const { return folder_.file("copy.dh"); }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder_.path()), {}));
  }

  int write_until_stopped(const ledger& l) const {
    table pool = opened(path(), {.mode = open_mode::open_existing});
    std::mt19937_64 random(4242);
    // A log that takes all of a disk's time leaves none to read it (docs/explanation/readers.md).
    const bool pauses = subject().durability == durability_level::power_buffered;
    while (!l.stop()) {
      if (pauses && l.writes() % 256 == 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const auto n = static_cast<std::uint32_t>(random() % keys);
      key_ledger& k = l.of(n);
      const std::uint32_t version = k.done + 1;
      k.begun = version;
      const status answer = ledger::removes(n, version)
                                ? pool.erase(subject().key(n))
                                : pool.put(subject().key(n), subject().value(n, version));
      if (answer != status::ok) return 1;
      k.done = version;
      l.writes().fetch_add(1);
    }
    return 0;
  }

  /// The copy has each key as it was between the two moments.
  void expect_copy(const ledger& l, const std::vector<std::uint32_t>& before,
                   const std::vector<std::uint32_t>& begun) const {
    table copy = opened(copy_path(), {.mode = open_mode::open_existing});
    EXPECT_TRUE(copy.info().clean);
    EXPECT_EQ(copy.kinds().engine, subject().engine);
    EXPECT_EQ(copy.kinds().durability, subject().durability);
    std::uint64_t there = 0;
    std::string text;
    for (std::uint32_t n = 0; n < keys; ++n) {
      const status answer = copy.get(subject().key(n), text);
      std::optional<std::uint32_t> version;
      if (answer == status::ok) {
        ++there;
        version = subject().version_of(n, text);
        ASSERT_TRUE(version) << "torn: key " << n;
      } else {
        ASSERT_EQ(answer, status::not_found);
      }
      ASSERT_EQ(ledger::fault_of(n, before[n], begun[n], version), "");
    }
    const check_report report = copy.check();
    EXPECT_TRUE(report.ok) << (report.violations.empty() ? "" : report.violations[0]);
    EXPECT_EQ(report.records, there) << "a key that nobody wrote";
    ASSERT_EQ(copy.put(subject().key(keys), subject().value(keys, 1)), status::ok);
    EXPECT_EQ(copy.close(), status::ok);
    EXPECT_EQ(l.complaints(), 0u);
  }

  scratch_folder folder_{folder_for(subject())};
  const std::size_t files_of_pool = subject().logs() ? 2 : 1;
};

TEST_P(BesideBackup, HasWhatWasAcknowledgedBeforeItBegan) {
  ASSERT_EQ(opened(path(), subject().creating()).close(), status::ok);
  const ledger l;
  child_process writer([&] { return write_until_stopped(l); });
  auto numbers = [&](std::atomic<std::uint32_t> key_ledger::*which) {
    std::vector<std::uint32_t> all;
    for (std::uint32_t n = 0; n < keys; ++n) all.push_back((l.of(n).*which).load());
    return all;
  };
  std::uint64_t meanwhile = 0;
  for (int round = 0; round < 5 || (meanwhile == 0 && round < 100); ++round) {
    const std::uint64_t wanted = l.writes() + keys;  // the table grows at first
    while (l.writes() < wanted) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    // A reader that gets little of the processors may be told to try again.
    auto found = table::open(path(), {.mode = open_mode::read_beside});
    for (int tries = 0; !found && found.failure().code == status::busy && tries < 60; ++tries)
      found = table::open(path(), {.mode = open_mode::read_beside});
    ASSERT_TRUE(found) << found.failure().message;
    table reader = std::move(*found);
    auto before = numbers(&key_ledger::done);
    const std::uint64_t writes = l.writes();
    interruption once(l);
    error answer = reader.backup(copy_path());
    for (int tries = 0; answer.code == status::busy && tries < 60; ++tries) {
      before = numbers(&key_ledger::done);
      answer = reader.backup(copy_path());
    }
    meanwhile += l.writes() - writes;
    const auto begun = numbers(&key_ledger::begun);
    ASSERT_EQ(answer.code, status::ok) << answer.message;
    expect_copy(l, before, begun);
    EXPECT_EQ(reader.backup(copy_path()).code, status::exists);
    std::filesystem::remove(copy_path());
    std::filesystem::remove(copy_path() + "-log");
  }
  EXPECT_GT(meanwhile, 0u) << "the writer went on";
  l.stop() = true;
  EXPECT_EQ(writer.wait(), 0);
}

TEST_P(BesideBackup, AKilledOneLeavesNothing) {
  table writer = opened(path(), subject().creating());
  constexpr std::uint32_t many = 20'000;
  put_all(writer, subject(), 0, many, 1);
  const ledger l;
  std::uint64_t cut_off = 0;
  for (unsigned round = 0; round < 10 || (cut_off == 0 && round < 200); ++round) {
    child_process copier([&] {
      table reader = opened(path(), {.mode = open_mode::read_beside});
      l.reads().fetch_add(1);
      return reader.backup(copy_path()).code == status::ok ? 0 : 1;
    });
    while (l.reads() <= round) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(500 * (round % 10)));
    copier.kill();
    if (files() == files_of_pool) {
      ++cut_off;
      continue;
    }
    ASSERT_EQ(files(), files_of_pool + 1);
    EXPECT_EQ(opened(copy_path(), {.mode = open_mode::read_only}).size(), many);
    std::filesystem::remove(copy_path());
  }
  EXPECT_GT(cut_off, 0u);
}

TEST_P(BesideBackup, IsRefusedWhereItCannotBe) {
  table writer = opened(path(), subject().creating());
  for (std::uint32_t n = 0; n < keys; ++n)
    ASSERT_EQ(writer.put(subject().key(n), subject().value(n, 1)), status::ok);
  table reader = opened(path(), {.mode = open_mode::read_beside});
  EXPECT_EQ(reader.backup(path()).code, status::exists);
  EXPECT_EQ(reader.backup("").code, status::invalid_argument);
  const error answer = reader.backup(folder_.file("no/folder"));
  EXPECT_EQ(answer.code, status::unusable);
  EXPECT_NE(answer.message.find("cannot back up to"), std::string::npos) << answer.message;
  EXPECT_EQ(files(), files_of_pool);
}

INSTANTIATE_TEST_SUITE_P(All, BesideBackup, testing::ValuesIn(reader_subjects()),
                         [](const auto& subject) { return subject.param.name(); });

}  // namespace
}  // namespace durahash::test
