// Operations that do not wait for the disk, and calls that come when it has what they need.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <future>
#include <thread>

#include "disk_pool.hpp"
#include "disk_recorder.hpp"
#include "durahash/deferred_wait.hpp"
#include "durahash/map.hpp"

namespace durahash::test {
namespace {

constexpr disk_setup strict{engine_kind::turbo, data_kind::u64, durability_level::power, 8 << 20};
constexpr disk_setup lenient{engine_kind::cceh, data_kind::bytes, durability_level::power_buffered,
                             8 << 20};

TEST(DeferredWait, OperationsWaitForNothing) {
  scratch_folder folder(disk_folder());
  auto pool = table::open(folder.file("pool.dh"), strict.how());
  ASSERT_TRUE(pool);
  double groups = figure_of(*pool, "log_groups");
  std::uint64_t end = 0;
  {
    deferred_wait later(*pool);
    EXPECT_EQ(later.position(), 0u);
    for (std::uint64_t n = 0; n < 200; ++n) {
      ASSERT_EQ(pool->put(key_of(n), value_of(strict, n)), status::ok);
      EXPECT_GT(later.position(), end);
      end = later.position();
    }
    EXPECT_EQ(figure_of(*pool, "log_groups"), groups) << "somebody has waited";
    EXPECT_LT(pool->durable_position(), end);
  }
  ASSERT_EQ(pool->wait_durable(end), status::ok);
  EXPECT_GE(pool->durable_position(), end);
  EXPECT_LE(figure_of(*pool, "log_groups"), groups + 2) << "one group has all of them";
  ASSERT_EQ(pool->put(key_of(0), value_of(strict, 1)), status::ok);
  EXPECT_EQ(pool->durable_position(), pool->position()) << "without it operations wait again";
}

TEST(DeferredWait, AReadNeedsWhatItSaw) {
  scratch_folder folder(disk_folder());
  auto pool = table::open(folder.file("pool.dh"), strict.how());
  ASSERT_TRUE(pool);
  ASSERT_EQ(pool->put(key_of(2), value_of(strict, 1)), status::ok);
  deferred_wait all(*pool);
  ASSERT_EQ(pool->put(key_of(1), value_of(strict, 7)), status::ok);
  {
    deferred_wait mine(*pool);
    EXPECT_EQ(pool->get(key_of(1)), value_of(strict, 7));
    EXPECT_GT(mine.position(), pool->durable_position()) << "of a value that is not durable";
  }
  {
    deferred_wait mine(*pool);
    EXPECT_EQ(pool->get(key_of(2)), value_of(strict, 1));
    EXPECT_LE(mine.position(), pool->durable_position()) << "of one that is";
  }
}

TEST(DeferredWait, IsOfOnePoolAndOneThread) {
  scratch_folder folder(disk_folder());
  auto pool = table::open(folder.file("pool.dh"), strict.how());
  auto other = table::open(folder.file("other.dh"), strict.how());
  auto plain = table::open(folder.file("plain.dh"));
  ASSERT_TRUE(pool && other && plain);
  deferred_wait later(*pool), of_plain(*plain);
  ASSERT_EQ(other->put(key_of(1), value_of(strict, 1)), status::ok);
  EXPECT_EQ(other->durable_position(), other->position());
  std::thread([&] { EXPECT_EQ(pool->put(key_of(1), value_of(strict, 1)), status::ok); }).join();
  EXPECT_EQ(pool->durable_position(), pool->position());
  EXPECT_EQ(later.position(), 0u);
  EXPECT_EQ(plain->put(key_of(1), "v"), status::ok);
  EXPECT_EQ(of_plain.position(), 0u);
  bool called = false;
  EXPECT_EQ(plain->when_durable(of_plain.position(), [&](status s) { called = s == status::ok; }),
            status::ok);
  EXPECT_TRUE(called) << "there is nothing to wait for";
}

/// What a call said is durable is there after a cut at that moment.
TEST(DeferredWait, CallsComeWhenTheDiskHasAll) {
  for (const disk_setup& with : {strict, lenient}) {
    scratch_folder folder(disk_folder());
    std::string path = folder.file("pool.dh");
    ASSERT_TRUE(table::open(path, with.how()));
    constexpr std::uint64_t keys = 300;
    std::vector<std::uint64_t> told(keys);  // moments
    disk_recorder disk({path, path + "-log"});
    {
      auto pool = table::open(path, with.how());
      ASSERT_TRUE(pool);
      std::uint64_t calls = 0;  // of one thread, in order
      for (std::uint64_t n = 0; n < keys; ++n) {
        deferred_wait later(*pool);
        ASSERT_EQ(pool->put(key_of(n), value_of(with, n)), status::ok);
        ASSERT_GT(later.position(), 0u);
        ASSERT_EQ(pool->when_durable(later.position(),
                                     [&, n](status s) {
                                       EXPECT_EQ(s, status::ok);
                                       ++calls;
                                       told[n] = disk.now();
                                     }),
                  status::ok);
      }
      ASSERT_EQ(pool->close(), status::ok);
      EXPECT_EQ(calls, keys) << "close has called all";
    }
    disk.stop();
    random_stream draw(stream_seed("DeferredWait"));
    for (int i = 0; i < 10; ++i) {
      std::uint64_t n = draw.below(keys);
      for (const auto& [name, bytes] :
           disk.after_cut(told[n], disk_recorder::unwaited::all_old, draw))
        write_file(name, bytes);
      auto pool = table::open(path, with.how());
      ASSERT_TRUE(pool) << pool.failure().message;
      EXPECT_EQ(pool->get(key_of(n)), value_of(with, n));
    }
  }
}

TEST(DeferredWait, CallsAreToldOfADiskThatRefuses) {
  scratch_folder folder(disk_folder());
  auto pool = table::open(folder.file("pool.dh"), strict.how());
  ASSERT_TRUE(pool);
  ASSERT_EQ(pool->put(key_of(1), value_of(strict, 0)), status::ok);
  std::promise<status> told;
  {
    disk_fault fault(1, EIO, true);
    deferred_wait later(*pool);
    ASSERT_EQ(pool->put(key_of(1), value_of(strict, 1)), status::ok);
    ASSERT_EQ(pool->when_durable(later.position(), [&](status s) { told.set_value(s); }),
              status::ok);
    EXPECT_EQ(told.get_future().get(), status::io_error);
  }
  EXPECT_EQ(pool->put(key_of(2), value_of(strict, 1)), status::io_error);
}

/// Threads that defer, call back and wait, all at once; each call comes once.
TEST(DeferredWait, FromManyThreads) {
  scratch_folder folder(disk_folder());
  auto pool = map<std::uint64_t, std::uint64_t>::open(folder.file("pool.dh"), [] {
    options how = strict.how();
    how.durability = durability_level::power;
    return how;
  }());
  ASSERT_TRUE(pool) << pool.failure().message;
  constexpr std::uint64_t each = 300;
  std::array<std::atomic<int>, 4 * each> calls{};
  std::vector<std::thread> all;
  for (std::uint64_t t = 0; t < 4; ++t)
    all.emplace_back([&, t] {
      for (std::uint64_t n = t * each; n < (t + 1) * each; ++n) {
        if (n % 50 == 0) {
          EXPECT_EQ(pool->put(n, n), status::ok);
        }
        deferred_wait later(*pool);
        EXPECT_EQ(pool->put(n, n), status::ok);
        EXPECT_EQ(pool->when_durable(later.position(),
                                     [&, n](status s) {
                                       EXPECT_EQ(s, status::ok);
                                       ++calls[n];
                                     }),
                  status::ok);
      }
    });
  for (std::thread& t : all) t.join();
  ASSERT_EQ(pool->close(), status::ok);
  for (auto& count : calls) EXPECT_EQ(count, 1);
  EXPECT_EQ(pool->when_durable(0, [](status) { FAIL(); }), status::closed);
}

/// A call may write: close waits for it, and then for what it wrote.
TEST(DeferredWait, ACallThatWritesWhileThePoolIsClosedIsKept) {
  const disk_setup with{engine_kind::turbo, data_kind::u64, durability_level::power_buffered};
  scratch_folder folder(disk_folder());
  std::string path = folder.file("pool.dh");
  for (std::uint64_t round = 0; round < 20; ++round) {
    {
      auto pool = table::open(path, with.how());
      ASSERT_TRUE(pool);
      ASSERT_EQ(pool->put(key_of(1000), value_of(with, round)), status::ok);
      status written = status::closed;
      ASSERT_EQ(pool->when_durable(
                    pool->position(),
                    [&](status) { written = pool->put(key_of(round), value_of(with, round)); }),
                status::ok);
      ASSERT_EQ(pool->close(), status::ok);
      ASSERT_EQ(written, status::ok);
    }
    auto pool = table::open(path, with.how());
    ASSERT_TRUE(pool);
    for (std::uint64_t n = 0; n <= round; ++n) ASSERT_TRUE(pool->get(key_of(n))) << "key " << n;
  }
}

}  // namespace
}  // namespace durahash::test
