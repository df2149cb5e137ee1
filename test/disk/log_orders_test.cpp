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
#include "disk/planted.hpp"
#include "disk_pool.hpp"
#include "disk_recorder.hpp"
#include "logged_image.hpp"

namespace durahash::test {
namespace {

class LogOrders : public LoggedImage {};

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
