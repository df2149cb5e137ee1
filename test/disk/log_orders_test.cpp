// The orders within an append, each met by another thread at its worst moment; and what writers
// may be ahead of a slow disk.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "cut_run.hpp"
#include "disk/disk_mapping.hpp"
#include "disk/planted.hpp"
#include "disk_pool.hpp"
#include "disk_recorder.hpp"

namespace durahash::test {
namespace {

/// An image of a few pages with a log, and two lines of it: D, and S, to which D may refer.
class LogOrders : public testing::Test {
 protected:
  using words = std::array<std::uint64_t, line_bytes / 8>;
  static constexpr std::uint64_t d_offset = 16 * page_bytes, s_offset = 17 * page_bytes;
  static constexpr std::uint64_t bytes = 32 * page_bytes;

  void SetUp() override { open(true); }
  void TearDown() override { planted_disk_bug = nullptr; }

  void open(bool create) {
    error e = try_open(create);
    ASSERT_EQ(e.code, status::ok) << e.message;
  }
  error try_open(bool create) {
    mapping_request request;
    request.path = path_;
    request.medium = medium_kind::disk;
    request.create = create;
    request.address_space_bytes = 1 << 30;
    auto made = disk_mapping::open(request);
    if (!made) return made.failure();
    image_ = std::move(*made);
    if (create) {
      EXPECT_EQ(image_->grow(bytes), status::ok);
      EXPECT_EQ(image_->appear(), status::ok);
    }
    disk_request how;
    how.log_bytes = 512 << 10;
    error e = image_->recover(how, false);
    if (e.code == status::ok) e = image_->begin(how, false);
    return e;
  }
  /// What the next opening finds after a kill, with the log's places from `end` on cut away.
  void cut(std::uint64_t end) {
    ASSERT_TRUE(image_->log()->wait_durable(image_->log()->head()));
    image_.reset();
    std::string log = read_file(path_ + "-log");
    std::uint64_t from = log_entries_offset + end * sizeof(log_entry);
    ASSERT_LT(from, log.size());
    write_file(path_ + "-log", log.substr(0, from) + std::string(log.size() - from, '\0'));
    open(false);
  }

  std::uint64_t& word(std::uint64_t offset, std::size_t n) {
    return reinterpret_cast<std::uint64_t*>(image_->base() + offset)[n];
  }
  void store(std::uint64_t offset, std::size_t n, std::uint64_t value) {
    __atomic_store_n(&word(offset, n), value, __ATOMIC_RELEASE);
    image_->mark(&word(offset, n), 8);
  }
  void flush(std::uint64_t offset) { image_->flush(image_->base() + offset, line_bytes); }

  /// Flushes D; when that comes to the step for the n-th time another thread comes between.
  void flush_d_and_at(std::string_view step, int nth, const std::function<void()>& between) {
    std::thread([&] {
      at_disk_step = [&](std::string_view name) {
        if (name == step && nth-- == 1) std::thread(between).join();
      };
      flush(d_offset);
      at_disk_step = nullptr;
    }).join();
    ASSERT_LT(nth, 1) << "it never comes to that step";
  }
  void begin_anew() {
    image_.reset();
    path_ = folder_.file("again" + std::to_string(++images_) + ".dh");
    open(true);
  }
  /// Runs the scenario, which says whether what it found is right, with the order and without it.
  void expect_needed(const char* bug, const std::function<bool()>& is_right) {
    EXPECT_TRUE(is_right());
    begin_anew();
    planted_disk_bug = bug;
    EXPECT_FALSE(is_right()) << "nothing shows that it is needed: " << bug;
    planted_disk_bug = nullptr;
  }

  scratch_folder folder_{disk_folder()};
  std::string path_ = folder_.file("image.dh");
  int images_ = 0;
  std::unique_ptr<disk_mapping> image_;
};

TEST_F(LogOrders, TheEndIsReadBehindTheCopy) {
  expect_needed("an-end-before-its-copy", [&] {
    std::uint64_t behind_d = 0;
    flush_d_and_at("a place is taken", 1, [&] {
      behind_d = image_->log()->head();
      store(s_offset, 0, 7);
      flush(s_offset);
      store(d_offset, 0, s_offset);  // a commit word
    });
    cut(behind_d);
    return word(d_offset, 0) == 0 || word(s_offset, 0) == 7;
  });
}

TEST_F(LogOrders, TheCopyIsMadeBehindThePlace) {
  expect_needed("a-copy-before-its-place", [&] {
    flush_d_and_at("a place is to be taken", 1, [&] {
      store(d_offset, 0, 7);
      flush(d_offset);
    });
    cut(image_->log()->head());
    return word(d_offset, 0) == 7;
  });
}

TEST_F(LogOrders, ALineIsReadUntilTwoReadingsAgree) {
  expect_needed("a-line-read-once", [&] {
    flush_d_and_at("a part is read", 3, [&] {
      store(d_offset, 0, 1);
      store(d_offset, 7, 1);
    });
    cut(image_->log()->head());
    return word(d_offset, 0) >= word(d_offset, 7);
  });
}

TEST_F(LogOrders, AReplayLeavesOutWhatRefersBehindItsEnd) {
  expect_needed("replay-of-what-refers-behind-the-end", [&] {
    std::uint64_t behind_d = 0;
    flush_d_and_at("a place is taken", 1, [&] {
      behind_d = image_->log()->head();
      store(s_offset, 0, 7);
      flush(s_offset);
      store(d_offset, 0, s_offset);
    });
    cut(behind_d);
    return word(d_offset, 0) == 0 || word(s_offset, 0) == 7;
  });
}

/// Up to the end that it has waited for, all that the operation has stored is there.
TEST_F(LogOrders, AnOperationWaitsForTheEndsOfItsEntries) {
  expect_needed("a-wait-for-places-alone", [&] {
    store(d_offset, 1, 5);
    std::uint64_t needed = 0;
    bool met = false;
    std::thread([&] {
      at_disk_step = [&](std::string_view name) {
        if (name != "a place is taken" || std::exchange(met, true)) return;
        std::thread([&] {
          store(s_offset, 0, 7);
          flush(s_offset);
          store(d_offset, 0, s_offset);
        }).join();
      };
      flush(d_offset);
      at_disk_step = nullptr;
      needed = disk_log::needed();
    }).join();
    cut(needed);
    return word(d_offset, 1) == 5;
  });
}

/// A store that comes between the copy and the mark is in no checkpoint: its entry is recycled.
TEST_F(LogOrders, AMarkIsClearedBeforeThePageIsCopied) {
  expect_needed("a-mark-cleared-behind-its-copy", [&] {
    store(d_offset, 1, 5);
    flush(d_offset);
    std::thread([&] {
      // the lines of the page: D is its first one
      int parts_read = 0;
      constexpr int parts = line_bytes / 16;
      at_disk_step = [&](std::string_view name) {
        if (name != "a part is read" || parts_read++ != 2 * parts) return;
        std::thread([&] {
          store(d_offset, 0, 7);
          flush(d_offset);
        }).join();
      };
      EXPECT_EQ(image_->write_to_disk(0, bytes), status::ok);
      at_disk_step = nullptr;
      EXPECT_GT(parts_read, 2 * parts);
    }).join();
    EXPECT_EQ(image_->write_to_disk(0, bytes), status::ok);
    cut(image_->log()->head());
    return word(d_offset, 0) == 7;
  });
}

/// What an opening behind a kill has shown stays, if the power goes next: of stores that reached
/// the pool's file and no log, and of entries that were written and not waited for.
TEST_F(LogOrders, WhatAKilledProcessWroteIsOnTheDiskBeforeItIsShown) {
  auto is_right = [&] {
    store(d_offset, 0, 7);  // a commit word, of which the thread has not written back the line yet
    store(s_offset, 0, 7);
    flush(s_offset);
    disk_recorder killed({path_, path_ + "-log"});
    EXPECT_EQ(image_->write_to_disk(0, bytes), status::ok);
    const std::uint64_t last = killed.now();
    killed.stop();
    image_.reset();
    for (std::uint64_t moment = 0; moment <= last; ++moment) {
      auto put_back = [&](const disk_recorder& disk, std::uint64_t at, bool is_new) {
        for (const auto& [name, content] :
             disk.after_cut(at, std::vector<bool>(disk.unwaited_at(at), is_new)))
          write_file(name, content);
      };
      put_back(killed, moment, true);
      disk_recorder next(killed, moment);
      open(false);
      const std::uint64_t d = word(d_offset, 0), s = word(s_offset, 0), shown = next.now();
      next.stop();
      image_.reset();
      put_back(next, shown, false);
      if (try_open(false).code != status::ok) return false;
      if (word(d_offset, 0) != d || word(s_offset, 0) != s) return false;
      image_.reset();
    }
    open(false);
    return true;
  };
  expect_needed("the-log-of-a-killed-process-is-not-synced", is_right);
  begin_anew();
  expect_needed("the-pool-of-a-killed-process-is-not-synced", is_right);
}

/// Lines that the disk did not have yet, at most, while a slow disk was written to.
std::uint64_t max_lines_ahead() {
  const disk_setup with{engine_kind::turbo, data_kind::u64, durability_level::power_buffered,
                        8 << 20};
  small_first_logs none;
  planted_first_slots = 100 * min_slots;  // it does not depend on growth
  scratch_folder folder(disk_folder());
  auto pool = table::open(folder.file("pool.dh"), with.how());
  if (!pool) return 0;
  slow_disk slow(16 << 10);
  std::uint64_t most = 0;
  for (std::uint64_t n = 0; n < 60'000; ++n) {
    EXPECT_EQ(pool->put(key_of(n % 1000), value_of(with, n)), status::ok);
    if (n < 30'000 || n % 100 != 0) continue;
    for (const auto& [name, figure] : pool->stats().figures)
      if (name == "log_lines_not_durable")
        most = std::max(most, static_cast<std::uint64_t>(figure));
  }
  return most;
}

/// 16 KiB a millisecond are 512 lines in a quarter of ten. Yet a write of less than a page of
/// entries takes as long as one of it.
TEST(DiskLag, WritersWaitForASlowDisk) {
#ifdef DURAHASH_SANITIZED
  GTEST_SKIP() << "a writer in a sanitizer is no faster than the slow disk";
#endif
  EXPECT_LE(max_lines_ahead(), 3 * min_slots);
  planted_disk_bug = "writers-run-away";
  EXPECT_GT(max_lines_ahead(), 6 * min_slots);
  planted_disk_bug = nullptr;
}

}  // namespace
}  // namespace durahash::test
