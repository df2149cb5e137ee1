// Files that hold pages of two moments: copies of a pool that was being written, and what salvage
// makes of what a machine that went down left.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "test/store/patched_pool.hpp"
#include "world.hpp"

namespace durahash::test {
namespace {

// -------------------------------------------------------------------------------------------------
// salvage

constexpr std::uint64_t at_first = 3000, others = 6000, first_other = 1'000'000;

std::vector<setup> disk_byte_setups() {
  std::vector<setup> all = disk_setups();
  std::erase_if(all, [](const setup& s) { return s.key() != data_kind::bytes; });
  return all;
}

/// The bytes of two moments, and every value that a key had up to the second one.
struct two_moments {
  std::set<std::pair<std::string, std::string>> history;
  std::string early_bytes, late_bytes;
};

constexpr const char* note = "user.durahash.root";

/// As a file system has it that keeps no extended attributes.
void forget_note(const std::string& path) { ::removexattr(path.c_str(), note); }
bool has_note(const std::string& path) { return ::getxattr(path.c_str(), note, nullptr, 0) > 0; }

class TwoMoments : public testing::TestWithParam<setup> {
 protected:
  using puts = std::function<void(std::uint64_t n, std::uint64_t version, std::uint64_t length)>;
  using between = std::function<void(subject&, const puts&)>;

  /// Records are put, of that many bytes each; a moment; what lies between; another moment. The
  /// process lives on through both.
  two_moments taken(const std::function<std::uint64_t(std::uint64_t n)>& length,
                    const between& changes) {
    std::string path = folder_.file("written");
    std::filesystem::remove(path);
    two_moments made;
    options how = GetParam().create_options();
    // Small segments come and go, and lie where records lie later.
    if (GetParam().engine == engine_kind::cceh) how.settings["segment"] = 3;
    auto opened = open_subject(GetParam(), path, how);
    if (!opened) throw std::runtime_error(opened.failure().message);
    puts put = [&](std::uint64_t n, std::uint64_t version, std::uint64_t bytes) {
      std::string value = long_value(GetParam(), n + version, bytes);
      EXPECT_EQ((*opened)->put(nth_key(GetParam(), n), value), status::ok);
      made.history.emplace(nth_key(GetParam(), n), value);
    };
    for (std::uint64_t n = 0; n < at_first; ++n) put(n, 0, length(n));
    made.early_bytes = read_file(path);
    changes(**opened, put);
    made.late_bytes = read_file(path);
    return made;
  }

  /// Puts, updates and erases between the moments. Values are of many lengths, so that a shard's
  /// old array becomes records.
  two_moments of_a_busy_table(random_stream& random) {
    auto any_length = [](std::uint64_t n) { return mixed(n) % 600; };
    return taken(any_length, [&](subject& pool, const puts& put) {
      for (std::uint64_t i = 0, changes = 2000 + random.below(8000); i < changes; ++i) {
        std::uint64_t n = random.below(at_first), version = 1 + random.below(1000);
        switch (random.below(4)) {
          case 0: n = at_first + random.below(3 * at_first), put(n, 0, any_length(n)); break;
          case 1: (void)pool.erase(nth_key(GetParam(), n)); break;
          default: put(n, version, any_length(n + version));
        }
      }
    });
  }

  /// Between the moments most records go, and longer ones come: their slabs lie where slabs of the
  /// first ones lay. With pages of both moments a slab has whole records in cells of two lengths.
  two_moments of_slabs_with_other_cells(random_stream& random) {
    return taken([](std::uint64_t) { return 90; },
                 [&](subject& pool, const puts& put) {
                   for (std::uint64_t n = random.below(at_first / 2); n < at_first; ++n)
                     (void)pool.erase(nth_key(GetParam(), n));
                   std::uint64_t bytes = 200 + random.below(500);
                   for (std::uint64_t n = at_first; n < 2 * at_first; ++n) put(n, 0, bytes);
                 });
  }

  /// Pages of both, in the shape of the second one.
  static std::string mixed_pages(const two_moments& moments, random_stream& random) {
    std::string mixed = moments.late_bytes;
    std::uint64_t late_share = 1 + random.below(9);  // of ten pages
    for (std::size_t page = 0;
         page + page_bytes <= std::min(mixed.size(), moments.early_bytes.size());
         page += page_bytes)
      if (random.below(10) >= late_share)
        mixed.replace(page, page_bytes, moments.early_bytes, page, page_bytes);
    return mixed;
  }
  void expect_only_what_was_there(subject& pool, const two_moments& moments) const {
    if (!has_checksums()) return;
    for (const auto& [key, value] : contents_of(pool))
      ASSERT_TRUE(moments.history.contains({key, value})) << "a value that the key never had";
  }
  void expect_salvage_keeps_what_it_keeps(const std::string& path, const two_moments& moments);
  /// Another run of the machine finds them.
  void expect_salvage_behind_a_reboot(const two_moments& moments, random_stream& random) {
    write_file(folder_.file("mixed"),
               after_reboot(mixed_pages(moments, random), pool_state::changing));
    expect_salvage_keeps_what_it_keeps(folder_.file("mixed"), moments);
  }

  bool has_checksums() const { return GetParam().key() == data_kind::bytes; }

  scratch_folder folder_{GetParam().folder()};
};
INSTANTIATE_TEST_SUITE_P(Every, TwoMoments, testing::ValuesIn(disk_setups()), setup_name());

TEST_P(TwoMoments, WhatSalvageKeepsStaysThroughLaterWrites) {
  for (int round = 0; round < 4 && !HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round) + ", again with --seed " +
                 std::to_string(run_seed()));
    random_stream random(stream_seed(GetParam().name() + "/moments/" + std::to_string(round)));
    ASSERT_NO_FATAL_FAILURE(expect_salvage_behind_a_reboot(of_a_busy_table(random), random));
  }
}

/// Words lie in their buckets, and have no cells.
class TwoMomentsOfRecords : public TwoMoments {};
INSTANTIATE_TEST_SUITE_P(Every, TwoMomentsOfRecords, testing::ValuesIn(disk_byte_setups()),
                         setup_name());

/// Salvage asks the heap of each cell whether it is another's: of two that overlap it keeps one.
TEST_P(TwoMomentsOfRecords, OfASlabThatHadOtherCellsSalvageKeepsNoTwoThatOverlap) {
  for (int round = 0; round < 6 && !HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round) + ", again with --seed " +
                 std::to_string(run_seed()));
    random_stream random(stream_seed(GetParam().name() + "/slabs/" + std::to_string(round)));
    ASSERT_NO_FATAL_FAILURE(
        expect_salvage_behind_a_reboot(of_slabs_with_other_cells(random), random));
  }
}

void TwoMoments::expect_salvage_keeps_what_it_keeps(const std::string& path,
                                                    const two_moments& moments) {
  options how = plain_options(GetParam());
  how.salvage = true;
  auto opened = open_subject(GetParam(), path, how);
  ASSERT_TRUE(opened) << opened.failure().message;
  EXPECT_FALSE((*opened)->pool().salvage_report().empty());
  expect_sound(**opened);
  ASSERT_NO_FATAL_FAILURE(expect_only_what_was_there(**opened, moments));
  model kept = contents_of(**opened);
  auto expect_kept = [&](const char* when) {
    std::uint64_t lost = 0, wrong = 0;
    for (const auto& [key, value] : kept) {
      auto found = (*opened)->get(key);
      if (!found) ++lost;
      else wrong += *found != value;
    }
    EXPECT_EQ(lost, 0u) << when << ", of " << kept.size() << " records that salvage kept";
    EXPECT_EQ(wrong, 0u) << when << ", of " << kept.size() << " records that salvage kept";
  };
  for (std::uint64_t n = first_other; n < first_other + others; ++n)
    ASSERT_EQ((*opened)->put(nth_key(GetParam(), n), nth_value(GetParam(), n)), status::ok);
  expect_kept("after puts of other keys");
  EXPECT_EQ((*opened)->pool().size(), kept.size() + others);
  expect_sound(**opened);
  ASSERT_EQ((*opened)->pool().close(), status::ok);

  opened = open_subject(GetParam(), path, plain_options(GetParam()));
  ASSERT_TRUE(opened) << opened.failure().message;
  EXPECT_TRUE((*opened)->pool().info().clean);
  expect_kept("after close and reopen");
  std::uint64_t lost = 0;
  for (std::uint64_t n = first_other; n < first_other + others; ++n)
    lost += (*opened)->get(nth_key(GetParam(), n)) != nth_value(GetParam(), n);
  EXPECT_EQ(lost, 0u) << "of the records that were put after salvage";
  expect_sound(**opened);
}

/// A copy that is written over the pool itself (cp, dd or rsync --inplace) has the inode of the
/// file that was being changed. Where nothing is noted with that, a plain open believes it. Then
/// check finds what does not fit, and salvage keeps what is whole.
TEST_P(TwoMoments, InTheFileItselfAreFoundByCheckAndSalvaged) {
  for (int round = 0; round < 4 && !HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round) + ", again with --seed " +
                 std::to_string(run_seed()));
    random_stream random(stream_seed(GetParam().name() + "/in place/" + std::to_string(round)));
    two_moments moments = of_a_busy_table(random);
    std::string path = folder_.file("written"), mixed = mixed_pages(moments, random);
    forget_note(path);
    write_file(path, mixed);
    if (auto opened = open_subject(GetParam(), path, plain_options(GetParam())))
      if ((*opened)->pool().check().ok) {
        ASSERT_NO_FATAL_FAILURE(expect_only_what_was_there(**opened, moments));
      }
    write_file(path, mixed);
    ASSERT_NO_FATAL_FAILURE(expect_salvage_keeps_what_it_keeps(path, moments));
  }
}

/// The page that names the pool's length is of the first moment, all that lies behind it is not.
TEST_P(TwoMoments, ALengthOfTheFirstMomentHidesNothing) {
  constexpr std::uint64_t records = 20'000;
  std::string path = folder_.file("written");
  auto opened = open_subject(GetParam(), path, GetParam().create_options());
  ASSERT_TRUE(opened) << opened.failure().message;
  auto put = [&](std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t n = first; n < last; ++n)
      ASSERT_EQ((*opened)->put(nth_key(GetParam(), n), nth_value(GetParam(), n)), status::ok);
  };
  put(0, 100);
  std::string early = read_file(path);
  put(100, records);
  std::string mixed = read_file(path);
  ASSERT_GT(mixed.size(), early.size()) << "the pool has grown";
  mixed.replace(0, engine_area_offset, early, 0, engine_area_offset);
  write_file(folder_.file("mixed"), after_reboot(mixed, pool_state::changing));

  options how = plain_options(GetParam());
  how.salvage = true;
  auto salvaged = open_subject(GetParam(), folder_.file("mixed"), how);
  ASSERT_TRUE(salvaged) << salvaged.failure().message;
  for (std::uint64_t n = records; n < 2 * records; ++n)
    ASSERT_EQ((*salvaged)->put(nth_key(GetParam(), n), nth_value(GetParam(), n)), status::ok);
  std::uint64_t lost = 0;
  for (std::uint64_t n = 0; n < 2 * records; ++n)
    lost += (*salvaged)->get(nth_key(GetParam(), n)) != nth_value(GetParam(), n);
  EXPECT_EQ(lost, 0u) << "of records that were whole";
  expect_sound(**salvaged);
}

// -------------------------------------------------------------------------------------------------
// copies

std::vector<setup> here_and_on_disk() {
  std::vector<setup> all = world_setups();
  for (const setup& s : disk_setups()) all.push_back(s);
  return all;
}

void copy_by_reading(const std::string& from, const std::string& to) {
  write_file(to, read_file(from));
}
void copy_by_cp(const std::string& from, const std::string& to) {
  std::string command = "cp " + from + " " + to;
  ASSERT_EQ(std::system(command.c_str()), 0);
}
void copy_by_cp_with_times(const std::string& from, const std::string& to) {
  std::string command = "cp --preserve=all " + from + " " + to;
  ASSERT_EQ(std::system(command.c_str()), 0);
}

class Copy : public testing::TestWithParam<setup> {
 protected:
  static constexpr std::uint64_t records = 1500;

  std::string path() const { return folder_.file("pool"); }
  result<std::unique_ptr<subject>> open(const std::string& at, bool salvage = false) {
    options how = plain_options(GetParam());
    how.salvage = salvage;
    return open_subject(GetParam(), at, how);
  }
  std::unique_ptr<subject> written() {
    auto made = open_subject(GetParam(), path(), GetParam().create_options());
    if (!made) throw std::runtime_error(made.failure().message);
    for (std::uint64_t n = 0; n < records; ++n)
      EXPECT_EQ((*made)->put(nth_key(GetParam(), n), nth_value(GetParam(), n)), status::ok);
    return std::move(*made);
  }
  void expect_refused_then_salvaged(const std::string& copy) {
    std::string before = read_file(copy);
    for (open_mode mode :
         {open_mode::create_or_open, open_mode::open_existing, open_mode::read_only}) {
      options how = plain_options(GetParam());
      how.mode = mode;
      auto refused = open_subject(GetParam(), copy, how);
      ASSERT_FALSE(refused) << "a copy of a pool that was being written opened as if it were whole";
      EXPECT_NE(refused.failure().message.find("check --salvage"), std::string::npos)
          << refused.failure().message;
      EXPECT_NE(refused.failure().message.find(copy), std::string::npos)
          << refused.failure().message;
    }
    EXPECT_TRUE(read_file(copy) == before) << "the refused open changed the file";
    auto opened = open(copy, true);
    ASSERT_TRUE(opened) << opened.failure().message;
    EXPECT_FALSE((*opened)->pool().salvage_report().empty());
    expect_sound(**opened);
    EXPECT_EQ((*opened)->pool().size(), records) << "nothing was written while it was copied";
    ASSERT_EQ((*opened)->pool().close(), status::ok);
    auto again = open(copy);
    ASSERT_TRUE(again) << again.failure().message;
    expect_sound(**again);
  }
  void expect_whole(const std::string& at, bool clean) {
    auto opened = open(at);
    ASSERT_TRUE(opened) << opened.failure().message;
    EXPECT_EQ((*opened)->pool().info().clean, clean);
    std::uint64_t lost = 0;
    for (std::uint64_t n = 0; n < records; ++n)
      lost += (*opened)->get(nth_key(GetParam(), n)) != nth_value(GetParam(), n);
    EXPECT_EQ(lost, 0u);
    expect_sound(**opened);
  }

  scratch_folder folder_{GetParam().folder()};
};
INSTANTIATE_TEST_SUITE_P(Every, Copy, testing::ValuesIn(here_and_on_disk()), setup_name());

TEST_P(Copy, OfAPoolThatIsBeingWrittenIsRefusedAndNamesSalvage) {
  auto pool = written();
  copy_by_reading(path(), folder_.file("copy"));
  ASSERT_NO_FATAL_FAILURE(copy_by_cp(path(), folder_.file("copy_of_cp")));
  ASSERT_NO_FATAL_FAILURE(copy_by_cp_with_times(path(), folder_.file("copy_with_times")));
  ASSERT_NO_FATAL_FAILURE(expect_refused_then_salvaged(folder_.file("copy")));
  ASSERT_NO_FATAL_FAILURE(expect_refused_then_salvaged(folder_.file("copy_of_cp")));
  ASSERT_NO_FATAL_FAILURE(expect_refused_then_salvaged(folder_.file("copy_with_times")));
  EXPECT_EQ(pool->put(nth_key(GetParam(), records), nth_value(GetParam(), records)), status::ok)
      << "the original goes on";
}

int write_and_die(const child_arguments& arguments) {
  setup with = world_setup(arguments.at(0));
  auto pool = make_or_end(with, arguments.at(1));
  put_records(*pool, with, 0, std::stoull(arguments.at(2)));
  die();
}
const child_role role("write_and_die", write_and_die);

TEST_P(Copy, OfAKilledPoolIsRefusedWhileTheOriginalOpens) {
  ASSERT_NO_FATAL_FAILURE(
      play_until_death("write_and_die", {GetParam().name(), path(), std::to_string(records)}));
  copy_by_reading(path(), folder_.file("copy"));
  ASSERT_NO_FATAL_FAILURE(expect_whole(path(), false));
  ASSERT_NO_FATAL_FAILURE(expect_refused_then_salvaged(folder_.file("copy")));
  expect_whole(path(), true);
}

TEST_P(Copy, ThatTakesTheNameOfItsOriginalIsRefused) {
  ASSERT_NO_FATAL_FAILURE(
      play_until_death("write_and_die", {GetParam().name(), path(), std::to_string(records)}));
  copy_by_reading(path(), folder_.file("copy"));
  std::filesystem::rename(folder_.file("copy"), path());
  expect_refused_then_salvaged(path());
}

TEST_P(Copy, IsNotWhatARenamedOrLinkedPoolIs) {
  ASSERT_NO_FATAL_FAILURE(
      play_until_death("write_and_die", {GetParam().name(), path(), std::to_string(records)}));
  std::filesystem::create_directory(folder_.file("another"));
  std::filesystem::create_hard_link(path(), folder_.file("link"));
  std::filesystem::rename(path(), folder_.file("another/name"));
  ASSERT_NO_FATAL_FAILURE(expect_whole(folder_.file("another/name"), false));
  expect_whole(folder_.file("link"), true);
}

void copy_in_place(const std::string& from, const std::string& to) {
  std::string command = "dd bs=1M conv=notrunc status=none if=" + from + " of=" + to;
  ASSERT_EQ(std::system(command.c_str()), 0);
}
ino_t inode_of(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 ? facts.st_ino : 0;
}

/// The inode remembers a root that the copy is too old to have.
TEST_P(Copy, ThatIsOlderIsRefusedWhereItIsWrittenOverThePoolItself) {
  for (const char* between : {"reopen", "sync", "grow"})
    for (auto write_over : {copy_by_reading, copy_by_cp, copy_by_cp_with_times, copy_in_place}) {
      SCOPED_TRACE(between);
      std::filesystem::remove(path());
      ASSERT_NO_FATAL_FAILURE(play_until_death(
          "write_copy_and_die", {GetParam().name(), path(), std::to_string(records), between}));
      if (between == std::string("reopen")) {
        ASSERT_NO_FATAL_FAILURE(play_until_death(
            "write_again_and_die", {GetParam().name(), path(), std::to_string(records)}));
      }
      if (!has_note(path())) GTEST_SKIP() << "this file system keeps no notes";
      ino_t inode = inode_of(path());
      ASSERT_NO_FATAL_FAILURE(write_over(path() + "-copy", path()));
      ASSERT_EQ(inode_of(path()), inode);
      ASSERT_NO_FATAL_FAILURE(expect_refused_then_salvaged(path()));
    }
}
int write_copy_and_die(const child_arguments& arguments) {
  setup with = world_setup(arguments.at(0));
  const std::string &path = arguments.at(1), &between = arguments.at(3);
  std::uint64_t records = std::stoull(arguments.at(2));
  auto pool = make_or_end(with, path);
  put_records(*pool, with, 0, records);
  copy_by_reading(path, path + "-copy");
  if (between == "reopen") die();
  if (between == "sync") require_ok(pool->pool().sync(), "sync");
  if (between == "grow") require_ok(pool->pool().reserve(20 * records), "reserve");
  put_records(*pool, with, records, records + 100);
  die();
}
const child_role copier("write_copy_and_die", write_copy_and_die);

/// An older pool that is whole is the pool from here on, whatever the inode remembers.
TEST_P(Copy, OfAClosedPoolWrittenOverANewerOneIsThePool) {
  { written(); }
  copy_by_reading(path(), folder_.file("copy"));
  for (int n = 0; n < 3; ++n) {
    auto pool = open(path());
    ASSERT_TRUE(pool) << pool.failure().message;
    ASSERT_EQ((*pool)->put(nth_key(GetParam(), n), nth_value(GetParam(), n)), status::ok);
    ASSERT_EQ((*pool)->pool().close(), status::ok);
  }
  ASSERT_NO_FATAL_FAILURE(copy_by_cp(folder_.file("copy"), path()));
  for (int lives = 0; lives < 3; ++lives) {
    ASSERT_NO_FATAL_FAILURE(play_until_death("write_again_and_die",
                                             {GetParam().name(), path(), std::to_string(records)}));
    ASSERT_NO_FATAL_FAILURE(expect_whole(path(), false));
  }
}

TEST_P(Copy, OfAClosedOrSyncedPoolOpens) {
  auto pool = written();
  ASSERT_EQ(pool->pool().sync(), status::ok);
  copy_by_reading(path(), folder_.file("copy of synced"));
  ASSERT_EQ(pool->pool().close(), status::ok);
  copy_by_reading(path(), folder_.file("copy of closed"));
  ASSERT_NO_FATAL_FAILURE(expect_whole(folder_.file("copy of synced"), true));
  ASSERT_NO_FATAL_FAILURE(expect_whole(folder_.file("copy of closed"), true));
}

/// A copy of a closed pool is a pool of its own: it is changed, killed, and opens.
TEST_P(Copy, OfAClosedPoolIsAPoolOfItsOwn) {
  { written(); }
  copy_by_reading(path(), folder_.file("copy"));
  for (const std::string& at : {folder_.file("copy"), path()}) {
    ASSERT_NO_FATAL_FAILURE(
        play_until_death("write_again_and_die", {GetParam().name(), at, std::to_string(records)}));
    ASSERT_NO_FATAL_FAILURE(expect_whole(at, false));
  }
}
int write_again_and_die(const child_arguments& arguments) {
  setup with = world_setup(arguments.at(0));
  auto pool = open_or_end(with, arguments.at(1));
  put_records(*pool, with, 0, std::stoull(arguments.at(2)));
  die();
}
const child_role again("write_again_and_die", write_again_and_die);

}  // namespace
}  // namespace durahash::test
