// A disk that refuses.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <thread>
#include <utility>

#include "disk/planted.hpp"
#include "disk_pool.hpp"
#include "disk_recorder.hpp"
#include "durahash/diagnostics.hpp"
#include "dying_process.hpp"

namespace durahash::test {
namespace {

class DiskErrors : public testing::TestWithParam<disk_setup> {};
INSTANTIATE_TEST_SUITE_P(All, DiskErrors, testing::ValuesIn(tried_disk_setups()),
                         disk_setup_name());

TEST_P(DiskErrors, LoseNothingThatWasAcknowledged) {
  const disk_setup with = GetParam();
  constexpr std::uint64_t keys = 200;
  std::uint64_t refusals = 0;
  const bool strict = with.durability == durability_level::power;
  for (std::uint64_t nth = 1; nth < (strict ? 700 : 300); nth = nth < 12 ? nth + 2 : nth * 3) {
    SCOPED_TRACE("call " + std::to_string(nth) + " fails");
    scratch_folder folder(disk_folder());
    std::string path = folder.file("pool.dh");
    pool_state acknowledged, perhaps;
    random_stream draw(stream_seed("DiskErrors") + nth);
    {
      auto pool = table::open(path, with.how());
      ASSERT_TRUE(pool) << pool.failure().message;
      disk_fault fault(nth, EIO, draw.one_in(2));
      bool refused = false;
      for (std::uint64_t version = 1; version <= (strict ? 250u : 20'000u) && !refused; ++version) {
        std::uint64_t n = draw.below(keys);
        std::string value = value_of(with, version);
        status answer = pool->put(key_of(n), value);
        refused = answer != status::ok;
        if (!refused) acknowledged[n] = value, perhaps.erase(n);
        else perhaps[n] = value;
        if (refused) {
          EXPECT_TRUE(answer == status::io_error || answer == status::no_space);
        }
        if (answer == status::no_space) refused = false;
      }
      // Of a log that is written beside its writers few calls may have been made by now; a
      // sync behind a change makes one at least.
      for (std::uint64_t version = 30'000; !refused && disk_fault::failed() == 0; ++version) {
        std::string value = value_of(with, version);
        status answer = pool->put(key_of(0), value);
        if (answer == status::ok) acknowledged[0] = value, perhaps.erase(0);
        else perhaps[0] = value;
        refused = answer == status::io_error || pool->sync() == status::io_error;
      }
      if (refused) {
        ++refusals;
        EXPECT_EQ(pool->put(key_of(0), value_of(with, 1)), status::io_error);
        EXPECT_EQ(pool->erase(key_of(0)), status::io_error);
        EXPECT_EQ(pool->sync(), status::io_error);
        EXPECT_EQ(pool->close(), status::io_error);
      }
    }
    auto pool = table::open(path, with.how());
    ASSERT_TRUE(pool) << pool.failure().message;
    for (const auto& [n, value] : acknowledged) {
      auto found = pool->get(key_of(n));
      ASSERT_TRUE(found) << "key " << n << " is lost";
      auto other = perhaps.find(n);
      EXPECT_TRUE(*found == value || (other != perhaps.end() && *found == other->second));
    }
    EXPECT_TRUE(pool->check().ok);
    EXPECT_EQ(pool->put(key_of(0), value_of(with, 1)), status::ok);
  }
  EXPECT_GE(refusals, 3u);
}

/// A growth may fail when the log has all that was written.
TEST_P(DiskErrors, NoSyncBehindARefusalIsOk) {
  const disk_setup with = GetParam();
  if (with.durability != durability_level::power) GTEST_SKIP() << "nobody waits there but sync";
  int refusals = 0;
  for (std::uint64_t nth = 1; nth <= 12; ++nth)
    for (bool for_good : {false, true}) {
      SCOPED_TRACE("call " + std::to_string(nth) + " fails");
      scratch_folder folder(disk_folder());
      auto pool = table::open(folder.file("pool.dh"), with.how());
      ASSERT_TRUE(pool) << pool.failure().message;
      disk_fault fault(nth, EIO, for_good);
      status answer = status::ok;
      for (std::uint64_t n = 0; n < 60 && answer != status::io_error; ++n)
        answer = pool->put(key_of(n), value_of(with, n + 1));
      if (answer != status::io_error) continue;
      ++refusals;
      EXPECT_EQ(pool->sync(), status::io_error);
    }
  EXPECT_GE(refusals, 3);
}

std::atomic<int> failures_told{0};

/// Nobody may be there to be answered: the log is written in a thread of its own.
TEST(DiskFailure, IsToldOnce) {
  scratch_folder folder(disk_folder());
  static std::string told;
  tell_diagnostics_to([](const char* sentence) noexcept { ++failures_told, told = sentence; });
  {
    auto pool = table::open(folder.file("pool.dh"), usual.how());
    ASSERT_TRUE(pool) << pool.failure().message;
    ASSERT_EQ(pool->put(key_of(0), value_of(usual, 1)),
              status::ok);  // has grown: the next call is the log's
    disk_fault fault(1, EIO, true);
    EXPECT_EQ(pool->put(key_of(0), value_of(usual, 2)), status::io_error);
    EXPECT_EQ(pool->put(key_of(0), value_of(usual, 2)), status::io_error);
  }
  tell_diagnostics_to(nullptr);
  EXPECT_EQ(failures_told, 1);
  EXPECT_NE(told.find("disk has failed under " + folder.file("pool.dh") + "-log"), told.npos)
      << told;
}

/// A write that takes its place when the disk has failed for another one is not acknowledged.
status answer_beside_a_failure() {
  const disk_setup with{engine_kind::turbo, data_kind::u64, durability_level::power};
  scratch_folder folder(disk_folder());
  auto pool = table::open(folder.file("pool.dh"), with.how());
  for (std::uint64_t n = 0; n < 10; ++n)
    EXPECT_EQ(pool->put(key_of(n), value_of(with, 1)), status::ok);
  bool failed = false;
  at_disk_step = [&](std::string_view name) {
    if (name != "a place is to be taken" || std::exchange(failed, true)) return;
    std::thread other([&] {
      disk_fault fault(1, EIO, true);
      EXPECT_EQ(pool->put(key_of(7), value_of(with, 2)), status::io_error);
    });
    other.join();
  };
  status answer = pool->put(key_of(3), value_of(with, 2));
  at_disk_step = nullptr;
  EXPECT_TRUE(failed);
  return answer;
}

TEST(DiskFiles, AWriteBesideOneThatFailsIsNotAcknowledged) {
  EXPECT_EQ(answer_beside_a_failure(), status::io_error);
  planted_disk_bug = "a-failed-append-needs-nothing";
  EXPECT_EQ(answer_beside_a_failure(), status::ok) << "its place need not be waited for";
  planted_disk_bug = nullptr;
}

TEST(DiskPositions, WaitForWhatWasWritten) {
  scratch_folder folder(disk_folder());
  std::string path = folder.file("pool.dh");
  const disk_setup with{engine_kind::turbo, data_kind::u64, durability_level::power_buffered};
  auto pool = table::open(path, with.how());
  ASSERT_TRUE(pool);
  std::uint64_t before = pool->position();
  ASSERT_EQ(pool->put(key_of(1), value_of(with, 1)), status::ok);
  EXPECT_GT(pool->position(), before);
  EXPECT_EQ(pool->wait_durable(pool->position()), status::ok);
  EXPECT_EQ(pool->wait_durable(~std::uint64_t{0}), status::ok) << "no further than the log goes";
  ASSERT_EQ(pool->close(), status::ok);
  EXPECT_EQ(pool->wait_durable(0), status::closed);
}

}  // namespace
}  // namespace durahash::test
