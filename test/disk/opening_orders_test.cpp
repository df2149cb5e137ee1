// What an opening puts on the disk before it goes on: each such step is left out, and noticed.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "disk/log_format.hpp"
#include "disk/planted.hpp"
#include "disk_pool.hpp"
#include "disk_recorder.hpp"

namespace durahash::test {
namespace {

constexpr disk_setup with{engine_kind::turbo, data_kind::bytes, durability_level::power};

bool put(table& pool, std::uint64_t n) {
  return pool.put(key_of(n), value_of(with, n + 1)) == status::ok;
}

/// A process that opens the pool, writes one record, and is gone.
bool put_and_die(const std::string& path, std::uint64_t n) {
  pid_t child = ::fork();
  if (child == 0) {
    auto pool = table::open(path, with.how());
    ::_exit(pool && put(*pool, n) ? 0 : 1);
  }
  int how = 0;
  ::waitpid(child, &how, 0);
  return WIFEXITED(how) && WEXITSTATUS(how) == 0;
}

struct acknowledged {
  std::uint64_t key, moment;
};

/// What a cut has left: `opened` with that of what nobody had waited for.
struct left_by_cut {
  result<table>& opened;
  const std::vector<acknowledged>& so_far;
  disk_recorder::unwaited unwaited;
};
using judge_of_cuts = std::function<std::string(const left_by_cut&)>;

/// Opens the pool, writes records from `first_key` on, and closes it; then each moment of that is
/// cut. `judge` says what is wrong with what the cut leaves, or nothing. Without `first_key` the
/// opening makes a new log: the cuts end with the opening, and the log is as it left it.
std::string cut_an_opening(const std::string& path, const options& how,
                           std::optional<std::uint64_t> first_key, const judge_of_cuts& judge) {
  random_stream draw(stream_seed("OpeningOrders"));
  std::vector<acknowledged> all;
  std::vector<std::string> files{path};
  if (first_key) files.push_back(path + "-log");
  disk_recorder disk(files);
  std::string log;
  {
    auto pool = table::open(path, how);
    if (!pool) return pool.failure().message;
    if (!first_key) {
      disk.stop();
      log = read_file(path + "-log");
    }
    for (std::uint64_t n = 0; first_key && n < 5; ++n) {
      if (!put(*pool, *first_key + n)) return "a record cannot be written";
      all.push_back({*first_key + n, disk.now()});
    }
  }
  disk.stop();
  for (std::uint64_t moment = 0; moment <= disk.now(); ++moment)
    for (auto unwaited : {disk_recorder::unwaited::all_old, disk_recorder::unwaited::all_new,
                          disk_recorder::unwaited::drawn}) {
      write_file(path + "-log", log);
      for (const auto& [name, bytes] : disk.after_cut(moment, unwaited, draw))
        write_file(name, bytes);
      std::vector<acknowledged> so_far;
      for (const acknowledged& a : all)
        if (a.moment <= moment) so_far.push_back(a);
      auto pool = table::open(path, with.how());
      std::string wrong = judge({pool, so_far, unwaited});
      for (std::size_t i = 0; pool && wrong.empty() && i < so_far.size(); ++i)
        if (!pool->contains(key_of(so_far[i].key)))
          wrong = "key " + std::to_string(so_far[i].key) + " is lost";
      if (!wrong.empty()) return wrong + ", cut at " + std::to_string(moment);
    }
  return {};
}

class OpeningOrders : public testing::Test {
 protected:
  void TearDown() override { planted_disk_bug = nullptr; }
  static std::string with_bug(const char* bug, std::string (*life)()) {
    planted_disk_bug = bug;
    std::string complaint = life();
    planted_disk_bug = nullptr;
    return complaint;
  }
};

/// Until it has ended the pool is refused, or as it was before. Then it is sound, and has so many
/// of the records that it had.
judge_of_cuts judge_of_a_salvage(std::uint64_t keys) {
  return [keys, begun = false](const left_by_cut& left) mutable {
    if (!left.opened) {
      const std::string& why = left.opened.failure().message;
      bool unfinished = why.find("a salvage of it") != std::string::npos;
      bool as_before = !begun && why.find("check --salvage") != std::string::npos;
      if (unfinished && left.unwaited == disk_recorder::unwaited::all_old) begun = true;
      return left.so_far.empty() && (unfinished || as_before) ? std::string() : why;
    }
    if (check_report report = left.opened->check(); !report.ok)
      return begun ? report.violations.front() : std::string();
    return std::string(left.opened->size() >= keys ? "" : "records are lost");
  };
}

/// A pool of which a record was damaged, and which was open when its process died: salvaged.
std::string salvage_of_damage() {
  scratch_folder folder(disk_folder());
  std::string path = folder.file("pool.dh");
  constexpr std::uint64_t keys = 20;
  {
    auto pool = table::open(path, with.how());
    for (std::uint64_t n = 0; n < keys; ++n)
      if (!pool || !put(*pool, n)) return "there is no pool";
  }
  std::string bytes = read_file(path), longest;
  for (std::uint64_t n = 0; n < keys; ++n)
    if (std::string value = value_of(with, n + 1); value.size() > longest.size()) longest = value;
  std::size_t at = bytes.find(longest);
  if (at == std::string::npos) return "the value is not in the pool";
  bytes[at + longest.size() - 1] ^= 1;
  write_file(path, bytes);
  if (!put_and_die(path, keys)) return "nothing was written";
  options how = with.how();
  how.salvage = true;
  return cut_an_opening(path, how, keys + 1, judge_of_a_salvage(keys));
}

/// Of a log of four openings that is damaged in the third one's entries: it is given up.
std::string salvage_without_log() {
  scratch_folder folder(disk_folder());
  std::string path = folder.file("pool.dh");
  for (std::uint64_t n = 0; n < 4; ++n)
    if (!put_and_die(path, n)) return "nothing was written";
  std::string log = read_file(path + "-log");
  log[log_entries_offset + 2 * page_of_entries * sizeof(log_entry) + 30] ^= 1;
  write_file(path + "-log", log);
  options how = with.how();
  how.salvage = true;
  return cut_an_opening(path, how, std::nullopt, judge_of_a_salvage(2));
}

TEST_F(OpeningOrders, ASalvageIsOnTheDiskBeforeItEnds) {
  EXPECT_EQ(salvage_of_damage(), "");
  EXPECT_EQ(salvage_without_log(), "");
  EXPECT_NE(with_bug("a-salvage-ends-before-its-log", salvage_of_damage), "");
  EXPECT_NE(with_bug("a-salvage-ends-before-its-record", salvage_of_damage), "");
  EXPECT_NE(with_bug("pages-of-a-given-up-log-are-not-synced", salvage_without_log), "");
}

/// The record has room for eight openings. The ninth writes their pages, and forgets them.
std::string ninth_opening() {
  scratch_folder folder(disk_folder());
  std::string path = folder.file("pool.dh");
  constexpr std::uint64_t openings = 8;
  for (std::uint64_t n = 0; n < openings; ++n)
    if (!put_and_die(path, n)) return "an opening was refused";
  return cut_an_opening(path, with.how(), openings, [](const left_by_cut& left) {
    if (!left.opened) return left.opened.failure().message;
    if (check_report report = left.opened->check(); !report.ok) return report.violations.front();
    for (std::uint64_t n = 0; n < openings; ++n)
      if (!left.opened->contains(key_of(n))) return "key " + std::to_string(n) + " is lost";
    return std::string();
  });
}

TEST_F(OpeningOrders, TheNinthHasThePagesOfTheOthersOnTheDisk) {
  EXPECT_EQ(ninth_opening(), "");
  EXPECT_NE(with_bug("pages-of-a-given-up-log-are-not-synced", ninth_opening), "")
      << "nothing shows that it is needed";
}

}  // namespace
}  // namespace durahash::test
