// The steps of a reader that follows the log of another process's pool, each met by the writer at
// its worst moment; each left out, and noticed.
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <semaphore>
#include <thread>

#include "disk/followed_mapping.hpp"
#include "disk_recorder.hpp"
#include "logged_image.hpp"

namespace durahash {
extern std::uint64_t most_followed_pages;
}

namespace durahash::test {
namespace {

/// The first word of D and of S, as a reader has them.
struct sight {
  status answer;
  std::uint64_t d = 0, s = 0;
};

class FollowOrders : public LoggedImage {
 protected:
  std::unique_ptr<followed_mapping> follow() {
    const bool waits = how_.waits;
    auto made = followed_mapping::open(
        path_, [waits](const std::byte*) -> result<bool> { return bool(waits); });
    if (!made) throw std::runtime_error(made.failure().message);
    return std::move(*made);
  }
  static std::uint64_t word_of(followed_mapping& reader, std::uint64_t offset) {
    const auto* at = reinterpret_cast<const std::uint64_t*>(reader.base() + offset);
    reader.see(at, sizeof *at);
    return *at;
  }
  /// `between`: comes when the look is about to see D, once.
  static sight look(
      followed_mapping& reader, const std::function<void()>& between = [] {}) {
    sight seen{};
    bool first = true;
    seen.answer = reader.look_at_one_moment([&] {
      if (std::exchange(first, false)) between();
      seen.d = word_of(reader, d_offset), seen.s = word_of(reader, s_offset);
      return looked::hit;
    });
    return seen;
  }
  void set(std::uint64_t offset, std::uint64_t value) {
    store(offset, 0, value);
    flush(offset);
    ASSERT_TRUE(image_->log()->wait_durable(image_->log()->head()));
  }
  void checkpoint() { ASSERT_EQ(image_->write_to_disk(0, bytes), status::ok); }
};

TEST_F(FollowOrders, SeesWhatIsInTheLogAlone) {
  expect_needed("a-page-without-its-log", [&] {
    set(d_offset, 7);
    auto reader = follow();
    const sight seen = look(*reader);
    return seen.answer == status::ok && seen.d == 7 && seen.s == 0;
  });
}

/// A page that comes from the file refers to what the log has behind the place that was read to.
TEST_F(FollowOrders, ALookThatLackedAPageIsBegunAnew) {
  expect_needed("a-page-that-nobody-followed", [&] {
    auto reader = follow();
    EXPECT_EQ(reader->look_at_one_moment(
                  [&] { return word_of(*reader, s_offset) == 0 ? looked::hit : looked::miss; }),
              status::ok);
    const sight seen = look(*reader, [&] {
      set(s_offset, 7);
      set(d_offset, s_offset);
      checkpoint();
    });
    return seen.answer == status::ok && (seen.d == 0 || seen.s == 7);
  });
}

/// The log goes round: where the reader would read on, other places stand.
TEST_F(FollowOrders, AReaderThatWasLeftBehindBeginsAnew) {
  expect_needed("a-follower-that-was-left-behind", [&] {
    auto reader = follow();
    EXPECT_EQ(look(*reader).answer, status::ok);
    const std::uint64_t slots = image_->log()->slots();
    for (std::uint64_t n = 1; n <= 2 * slots; ++n) store(d_offset, 0, n), flush(d_offset);
    set(d_offset, 7);
    checkpoint();
    EXPECT_GT(image_->log()->from(), slots);
    const sight seen = look(*reader);
    return seen.answer == status::ok && seen.d == 7;
  });
}

TEST_F(FollowOrders, AnotherOpeningIsNoticed) {
  expect_needed("a-follower-that-knows-one-record", [&] {
    set(d_offset, 1);
    auto reader = follow();
    bool is_right = look(*reader).d == 1;
    for (std::uint64_t n = 2; n < 20; ++n) {
      const status closed = n % 3 == 0 ? image_->detach() : status::ok;  // else it is killed
      EXPECT_EQ(closed, status::ok);
      image_.reset();
      open(false);
      set(d_offset, n);
      const sight seen = look(*reader);
      is_right = is_right && seen.answer == status::ok && seen.d == n;
    }
    return is_right;
  });
}

/// What was put onto them of the log is put there again.
TEST_F(FollowOrders, PagesThatWereGivenBackAreReadAgain) {
  const std::uint64_t usual = std::exchange(most_followed_pages, 1);
  auto reader = follow();
  for (std::uint64_t n = 1; n <= 20; ++n) {
    set(n % 2 == 0 ? d_offset : s_offset, n);
    if (n % 7 == 0) checkpoint();
    const sight seen = look(*reader);
    ASSERT_EQ(seen.answer, status::ok);
    ASSERT_EQ(std::max(seen.d, seen.s), n);
    ASSERT_EQ(std::min(seen.d, seen.s), n - 1);
  }
  most_followed_pages = usual;
}

TEST_F(FollowOrders, ADiskThatRefusesASyncIsTold) {
  auto reader = follow();
  EXPECT_EQ(look(*reader).answer, status::ok);
  set(d_offset, 7);
  {
    disk_fault refuses(1, EIO, false);
    EXPECT_EQ(look(*reader).answer, status::io_error);
    EXPECT_EQ(disk_fault::failed(), 1u);
  }
  EXPECT_EQ(look(*reader).d, 7u);
}

/// Two threads that take places and stop there.
class stopped_flush {
 public:
  template <class Flush>
  stopped_flush(std::string_view step, Flush&& flush) {
    thread_ = std::thread([=, this] {
      at_disk_step = [=, this](std::string_view name) {
        if (name != step || std::exchange(met_, true)) return;
        there_.release();
        go_on_.acquire();
      };
      flush();
      at_disk_step = nullptr;
    });
    there_.acquire();
  }
  void finish() {
    if (!thread_.joinable()) return;
    go_on_.release();
    thread_.join();
  }
  ~stopped_flush() { finish(); }

 private:
  bool met_ = false;
  std::binary_semaphore there_{0}, go_on_{0};
  std::thread thread_;
};

class FollowedRing : public FollowOrders {
 protected:
  FollowedRing() { how_.waits = false; }
};

/// S is sealed behind the look at its place, and D, which refers to it, before that at its own.
TEST_F(FollowedRing, HolesAreLookedAtAgainBehindAllElse) {
  expect_needed("holes-are-looked-at-first", [&] {
    auto reader = follow();
    EXPECT_EQ(look(*reader).answer, status::ok);
    store(s_offset, 0, 7);
    stopped_flush of_s("a place is taken", [&] { flush(s_offset); });
    stopped_flush of_d("a place is taken", [&] { flush(d_offset); });
    int places = 0;
    std::optional<sight> seen;
    at_disk_step = [&](std::string_view name) {
      if (name != "a place of the ring is looked at" || places++ != 1) return;
      of_s.finish();
      store(d_offset, 0, s_offset);
      of_d.finish();
    };
    seen = look(*reader);
    at_disk_step = nullptr;
    EXPECT_GT(places, 1);
    return seen->answer == status::ok && (seen->d == 0 || seen->s == 7);
  });
}

/// An entry that is sealed late, with an older copy of its line.
TEST_F(FollowedRing, OfTwoEntriesTheLaterPlaceCounts) {
  expect_needed("a-late-seal-counts", [&] {
    auto reader = follow();
    EXPECT_EQ(look(*reader).answer, status::ok);
    stopped_flush early("a line is copied", [&] { flush(d_offset); });
    store(d_offset, 0, 7);
    flush(d_offset);  // acknowledged
    const sight beside = look(*reader);
    early.finish();
    const sight behind = look(*reader);
    return beside.answer == status::ok && beside.d == 7 && behind.answer == status::ok &&
           behind.d == 7;
  });
}

TEST_F(FollowedRing, AKilledWritersLastMomentsAreSeen) {
  auto reader = follow();
  for (std::uint64_t n = 1; n < 5000; ++n) {
    store(d_offset, 0, n), flush(d_offset);
    if (n % 7 != 0) continue;
    const sight seen = look(*reader);
    ASSERT_EQ(seen.answer, status::ok) << reader->refusal().message;
    ASSERT_EQ(seen.d, n);
  }
  image_.reset();  // the ring stays
  EXPECT_EQ(look(*reader).d, 4999u);
  auto another = follow();
  EXPECT_EQ(look(*another).d, 4999u);
  open(false);
  set(s_offset, 3);
  EXPECT_EQ(look(*reader).s, 3u);
  EXPECT_EQ(look(*reader).d, 4999u);
}

/// What a reader is given of a page is durable: though its store was not flushed, and the
/// checkpoint that wrote it has not synced the file.
TEST_F(FollowOrders, APageThatIsReadIsMadeDurable) {
  expect_needed("a-follower-that-believes-pages", [&] {
    set(s_offset, 1);
    checkpoint();
    disk_recorder disk({path_, path_ + "-log"});
    store(d_offset, 0, 7);  // and its thread is stopped
    std::optional<sight> seen;
    std::uint64_t moment = 0;
    at_disk_step = [&](std::string_view name) {
      if (name != "pages are written" || seen) return;
      seen = look(*follow());
      moment = disk.now();
    };
    checkpoint();
    at_disk_step = nullptr;
    disk.stop();
    image_.reset();
    random_stream draw(1);
    for (const auto& [name, content] :
         disk.after_cut(moment, disk_recorder::unwaited::all_old, draw))
      write_file(name, content);
    open(false);
    EXPECT_EQ(seen->answer, status::ok);
    EXPECT_EQ(seen->d, 7u) << "the page was read";
    return word(d_offset, 0) == seen->d;
  });
}

/// An entry that was copied before a store, and whose end is told of behind a checkpoint that has
/// the store: it counts later, and takes the store back.
TEST_F(FollowOrders, APageWaitsForEntriesThatDoNotCountYet) {
  expect_needed("a-page-that-waits-for-nothing", [&] {
    std::optional<stopped_flush> hole;
    stopped_flush early("a line is copied", [&] { flush(d_offset); });
    store(d_offset, 0, 7);  // and its thread is stopped
    sight seen{}, behind{};
    at_disk_step = [&](std::string_view name) {
      if (name == "pages wait for the log" && !hole) {
        hole.emplace("a place is taken", [&] { flush(s_offset); });
        early.finish();
      }
      if (name != "pages are written" || !hole) return;
      seen = look(*follow());
      hole->finish();
      EXPECT_TRUE(image_->log()->wait_durable(image_->log()->head()));
      behind = look(*follow());  // as after a cut: the early entry counts now
    };
    checkpoint();
    at_disk_step = nullptr;
    EXPECT_EQ(behind.answer, status::ok);
    EXPECT_EQ(behind.d, 0u);
    return seen.answer == status::busy;
  });
}

/// What was written to the log, and nobody has waited for yet: of a group that ends in another part
/// of the file than it begins.
TEST_F(FollowOrders, WhatIsReadOfTheLogIsMadeDurable) {
  expect_needed("a-follower-that-answers-at-once", [&] {
    auto reader = follow();
    EXPECT_EQ(look(*reader).answer, status::ok);
    disk_recorder disk({path_, path_ + "-log"});
    sight seen{};
    std::uint64_t moment = 0, value = 0;
    at_disk_step = [&](std::string_view name) {
      if (name != "a group is written" || moment != 0) return;
      seen = look(*reader);
      moment = disk.now();
    };
    while (moment == 0 && value < 100'000) {
      for (int lines = 0; lines < 300; ++lines) store(d_offset, 0, ++value), flush(d_offset);
      EXPECT_TRUE(image_->log()->wait_durable(image_->log()->head()));
    }
    at_disk_step = nullptr;
    disk.stop();
    image_.reset();
    random_stream draw(1);
    for (const auto& [name, content] :
         disk.after_cut(moment, disk_recorder::unwaited::all_old, draw))
      write_file(name, content);
    open(false);
    EXPECT_EQ(seen.answer, status::ok);
    EXPECT_EQ(seen.d, value);
    return word(d_offset, 0) >= seen.d;
  });
}

}  // namespace
}  // namespace durahash::test
