// A boot id that cannot be read is unknown, and unknown is not equal: a pool that was killed while
// it was open on a plain file may be torn for all that is known, and is refused.
#include "environment.hpp"

namespace durahash::test {
namespace {

class BootId : public fault_test {
 protected:
  static constexpr const char* boot_id = "random/boot_id";

  void SetUp() override {
    write_file(folder_.file("empty"), "");
    write_file(folder_.file("malformed"), "not an id of this or of any other run\n");
    write_file(folder_.file("short"), "0a1b2c3d-0a1b\n");
    write_file(folder_.file("long"), "0a1b2c3d-0a1b-2c3d-4e5f-0a1b2c3d4e5f6a7b\n");
    for (int error_number : {EACCES, ENOENT, EIO, EMFILE})
      faults_.push_back(plan({.error_number = error_number}));
    for (const char* name : {"empty", "malformed", "short", "long"})
      names_.push_back(folder_.file(name));
    for (const std::string& name : names_) faults_.push_back(plan({.open_instead = name.c_str()}));
  }
  static fault_plan plan(fault_plan p) {
    p.which = call::open;
    p.times = fault_plan::all;
    p.path_part = boot_id;
    return p;
  }

  /// A life that writes and is killed. `nothing`: the boot id can be read.
  void write_and_die(const fault_plan* fault) {
    start_anew();
    std::string why = lived(call::open, [&] {
      if (fault != nullptr) arm(*fault);
      auto opened = numbered_pool::open(with(), path(), creating());
      if (!opened) complain(opened.failure().message);
      put_records(*opened, 0, 300);
      report_faults(call::open, disarm());
      die();
    });
    ASSERT_EQ(why, "");
  }

  void must_be_refused(const fault_plan* fault) {
    for (open_mode mode :
         {open_mode::open_existing, open_mode::create_or_open, open_mode::read_only}) {
      std::string why = lived(call::open, [&] {
        step("opens");
        options how = reopening(with());
        how.mode = mode;
        if (fault != nullptr) arm(*fault);
        auto opened = numbered_pool::open(with(), path(), how);
        report_faults(call::open, disarm());
        if (opened) complain("a pool that may be torn opens as if it were whole");
        require(opened.failure().code == status::unusable, "the refusal is: unusable");
        if (opened.failure().message.find("salvage") == std::string::npos)
          complain("the refusal names no way out: " + opened.failure().message);
      });
      ASSERT_EQ(why, "");
    }
  }

  std::vector<fault_plan> faults_;
  std::vector<std::string> names_;
};
INSTANTIATE_TEST_SUITE_P(Every, BootId, testing::ValuesIn(setups_at(place_kind::disk)),
                         setup_name());

TEST_P(BootId, ThatCannotBeReadByTheWriterNorLaterIsNotTheSame) {
  for (const fault_plan& fault : faults_) {
    SCOPED_TRACE(fault.name());
    ASSERT_NO_FATAL_FAILURE(write_and_die(&fault));
    ASSERT_NO_FATAL_FAILURE(must_be_refused(&fault));
  }
}

TEST_P(BootId, ThatCouldNotBeReadByTheWriterIsNotTheSame) {
  for (const fault_plan& fault : faults_) {
    SCOPED_TRACE(fault.name());
    ASSERT_NO_FATAL_FAILURE(write_and_die(&fault));
    ASSERT_NO_FATAL_FAILURE(must_be_refused(nullptr));
  }
}

TEST_P(BootId, ThatCannotBeReadLaterIsNotTheSame) {
  ASSERT_NO_FATAL_FAILURE(write_and_die(nullptr));
  for (const fault_plan& fault : faults_) {
    SCOPED_TRACE(fault.name());
    ASSERT_NO_FATAL_FAILURE(must_be_refused(&fault));
  }
  must_be_all_there();  // it can be read again
}

/// What was closed cleanly is whole, whoever runs.
TEST_P(BootId, ThatCannotBeReadIsNoReasonToRefuseACleanPool) {
  for (const fault_plan& fault : faults_) {
    SCOPED_TRACE(fault.name());
    ASSERT_NO_FATAL_FAILURE(make_pool(300));
    std::string why = lived(call::open, [&] {
      step("opens");
      arm(fault);
      auto opened = numbered_pool::open(with(), path(), reopening(with()));
      if (!opened) complain(opened.failure().message);
      put_records(*opened, 0, 10);
      require(opened->pool().close() == status::ok, "a close without a fault is answered ok");
      report_faults(call::open, disarm());
    });
    ASSERT_EQ(why, "");
    ASSERT_NO_FATAL_FAILURE(must_be_all_there());
  }
}

}  // namespace
}  // namespace durahash::test
