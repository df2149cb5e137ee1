// A mapping of a few pages with a log, without a table on it; and what is planted in it is needed.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "disk/disk_mapping.hpp"
#include "disk/planted.hpp"
#include "disk_pool.hpp"
#include "store/scratch.hpp"

namespace durahash::test {

/// An image of a few pages with a log, and two lines of it: D, and S, to which D may refer.
class LoggedImage : public testing::Test {
 protected:
  using words = std::array<std::uint64_t, line_bytes / 8>;
  static constexpr std::uint64_t d_offset = 16 * page_bytes, s_offset = 17 * page_bytes;
  static constexpr std::uint64_t bytes = 32 * page_bytes;

  void SetUp() override { open(true); }
  void TearDown() override {
    planted_disk_bug = nullptr;
    close();
  }
  /// Leaves no ring behind.
  void close() {
    if (image_ != nullptr && !how_.waits) {
      EXPECT_EQ(image_->detach(), status::ok);
    }
    image_.reset();
  }

  void open(bool create) {
    error e = try_open(create);
    ASSERT_EQ(e.code, status::ok) << e.message;
  }
  /// At the level power, unless another one is asked for.
  disk_request how_ = {
      .waits = true, .delay = std::chrono::milliseconds(10), .log_bytes = 512 << 10};
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
    error e = image_->recover(how_, false);
    if (e.code == status::ok) e = image_->begin(how_, false);
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
    close();
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

}  // namespace durahash::test
