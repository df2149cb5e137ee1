// What tells a pool that was killed from a copy of it: the file's time of birth, or where a file
// system knows none, its inode. Where neither can be asked, the file is unknown, and unknown is not
// equal: a pool that was killed while it was open is refused.
#include "environment.hpp"

namespace durahash::test {
namespace {

constexpr fault_plan unknown{.which = call::statx, .error_number = EIO, .times = fault_plan::all};
constexpr fault_plan of_no_birth{
    .which = call::statx, .times = fault_plan::all, .hides_birth = true};

class FileMark : public fault_test {
 protected:
  void write_and_die(const fault_plan* fault) {
    start_anew();
    call which = fault == nullptr ? call::statx : fault->which;
    std::string why = lived(which, [&] {
      if (fault != nullptr) arm(*fault);
      auto opened = numbered_pool::open(with(), path(), creating());
      if (!opened) complain(opened.failure().message);
      put_records(*opened, 0, 300);
      report_faults(which, disarm());
      die();
    });
    ASSERT_EQ(why, "");
  }

  /// Why it does not open, or nothing. What opened is left as a kill leaves it.
  std::string refusal(const std::string& at, const fault_plan* fault,
                      open_mode mode = open_mode::open_existing) {
    call which = fault == nullptr ? call::statx : fault->which;
    std::string why = lived(which, [&] {
      step("opens");
      options how = reopening(with());
      how.mode = mode;
      if (fault != nullptr) arm(*fault);
      auto opened = numbered_pool::open(with(), at, how);
      report_faults(which, disarm());
      std::string text = opened ? "" : opened.failure().message;
      text.resize(message_bytes - 1);
      text.copy(message_, text.size());
      die();
    });
    EXPECT_EQ(why, "");
    return message_;
  }
  void must_be_refused(const std::string& at, const fault_plan* fault) {
    for (open_mode mode :
         {open_mode::open_existing, open_mode::create_or_open, open_mode::read_only})
      ASSERT_NE(refusal(at, fault, mode).find("salvage"), std::string::npos)
          << "a pool that may be a copy opens as if it were whole";
  }

  static constexpr std::size_t message_bytes = 1000;
  char* message_ = static_cast<char*>(shared_memory(message_bytes));
};
INSTANTIATE_TEST_SUITE_P(Every, FileMark, testing::ValuesIn(setups_at(place_kind::shm)),
                         setup_name());

TEST_P(FileMark, ThatNobodyCanTellIsNotTheSame) {
  ASSERT_NO_FATAL_FAILURE(write_and_die(&unknown));
  ASSERT_NO_FATAL_FAILURE(must_be_refused(path(), &unknown));
  must_be_refused(path(), nullptr);
}

TEST_P(FileMark, ThatCannotBeToldLaterIsNotTheSame) {
  ASSERT_NO_FATAL_FAILURE(write_and_die(nullptr));
  ASSERT_NO_FATAL_FAILURE(must_be_refused(path(), &unknown));
  must_be_all_there();  // it can be told again
}

/// One that could not be told at the open is asked for again before anything is written.
TEST_P(FileMark, ThatCouldNotBeToldAtFirstIsAskedForAgain) {
  fault_plan once = unknown;
  once.times = 1;
  ASSERT_NO_FATAL_FAILURE(write_and_die(&once));
  must_be_all_there();
}

TEST_P(FileMark, ThatNobodyCanTellIsNoReasonToRefuseACleanPool) {
  ASSERT_NO_FATAL_FAILURE(make_pool(300));
  EXPECT_EQ(refusal(path(), &unknown), "");
}

/// Without a time of birth the inode tells the file, wherever it is moved to, from its copies.
TEST_P(FileMark, OfAFileWithoutATimeOfBirthIsItsInode) {
  ASSERT_NO_FATAL_FAILURE(write_and_die(&of_no_birth));
  std::string copy = folder_.file("copy"), moved = folder_.file("moved");
  write_file(copy, read_file(path()));
  ASSERT_NO_FATAL_FAILURE(must_be_refused(copy, &of_no_birth));
  std::filesystem::rename(path(), moved);
  EXPECT_EQ(refusal(moved, &of_no_birth), "");
}

/// What the inode remembers of its pool (locked_file::noted_root).
class FileNote : public FileMark {
 protected:
  static bool is_killed(const std::string& why) { return why.starts_with("it ended by: Killed"); }
};
INSTANTIATE_TEST_SUITE_P(Every, FileNote, testing::ValuesIn(setups_at(place_kind::shm)),
                         setup_name());

/// An older pool that is whole is written over a newer one, and killed at each of its notes: before
/// anything is built on the older root, that is noted.
TEST_P(FileNote, OfANewerRootIsLoweredBeforeAnOlderOneIsBuiltOn) {
  for (std::uint64_t nth = 1; nth <= 4; ++nth) {
    SCOPED_TRACE("killed at note " + std::to_string(nth));
    ASSERT_NO_FATAL_FAILURE(make_pool(300));
    std::string older = read_file(path());
    for (int lives = 0; lives < 3; ++lives)
      must_end_well([&] {
        numbered_pool pool = open_or_report(with(), path(), reopening(with()));
        require(pool.put(known_.now(0)) == status::ok, "a put without a fault is answered ok");
        require(pool.pool().close() == status::ok, "a close without a fault is answered ok");
      });
    write_file(path(), older);
    std::string why = live([&] {
      arm({.which = call::fsetxattr, .nth = nth, .kills = true});
      numbered_pool pool = open_or_report(with(), path(), reopening(with()));
      put_records(pool, 0, 50);
      require(pool.pool().sync() == status::ok, "a sync without a fault is answered ok");
      put_records(pool, 50, 100);
      die();
    });
    ASSERT_TRUE(why.empty() || is_killed(why)) << why;
    injected_ += is_killed(why);
    must_be_all_there();
  }
}

/// A note that cannot be read may be of a newer root; it can be read again.
TEST_P(FileNote, ThatCannotBeReadIsNotTheSame) {
  constexpr fault_plan unreadable{
      .which = call::fgetxattr, .error_number = EIO, .times = fault_plan::all};
  ASSERT_NO_FATAL_FAILURE(write_and_die(nullptr));
  ASSERT_NO_FATAL_FAILURE(must_be_refused(path(), &unreadable));
  must_be_all_there();
}

/// Where none can be kept a pool is as it was before there were notes.
TEST_P(FileNote, ThatCannotBeKeptKeepsNothingFromWork) {
  constexpr fault_plan none{
      .which = call::fsetxattr, .error_number = EOPNOTSUPP, .times = fault_plan::all};
  ASSERT_NO_FATAL_FAILURE(write_and_die(&none));
  must_be_all_there();
}

}  // namespace
}  // namespace durahash::test
