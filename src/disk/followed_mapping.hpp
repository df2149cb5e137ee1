// A pool on a disk as a reader beside its writer has it: an image of its own, which it brings to
// where the log is before each look. Nobody stores to the image during a look. So one that lacked
// no page saw the pool at one moment. docs/explanation/readers.md says why that is right.
//
//   look    1 follow the log to its end   2 search; a page that is not there is read from the file,
//           with what the log says of it  3 if one was, begin again with 1   4 at the level power,
//           what was read is made durable
//
// Invariants
//   F5  The file holds a page only when the log has all that the page refers to (C2). So a page is
//       right once the log has been followed to an end that was read behind the page.
//   F6  What a page has that no entry says yet was stored, and not flushed. A later entry of that
//       line has it, too. One before that does not count yet is waited for. So at the level power
//       it is durable when the file is.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <string>

#include "base/zeroed_array.hpp"
#include "disk/log_follower.hpp"
#include "media/beside_mapping.hpp"
#include "media/looked.hpp"

namespace durahash {

class followed_mapping final : public beside_mapping {
 public:
  static result<std::unique_ptr<followed_mapping>> open(const std::string& path,
                                                        log_follower::header_judge judge);
  ~followed_mapping() override;

  /// Calls look() until it saw the pool at one moment behind this call's beginning. One thread at a
  /// time; the others wait.
  /// Returns   ok, not_found, damaged, io_error, out_of_memory; busy where that took a second
  ///           without getting on; unusable where the pool is not to be followed any more.
  template <class Look>
  status look_at_one_moment(Look&& look);

  /// Within a look: what is read there is there.
  void see(const void* at, std::size_t bytes) noexcept {
    const auto first = static_cast<std::uint64_t>(static_cast<const std::byte*>(at) - base_);
    for (std::uint64_t page = first / page_bytes; page <= (first + bytes - 1) / page_bytes; ++page)
      if (!is_in(pages_, page)) [[unlikely]]
        fetch(page);
  }

  /// Why a look was answered unusable.
  error refusal();

 protected:
  bool holds_now(std::uint64_t offset, std::uint64_t bytes) noexcept override;

 private:
  struct follower;
  class turn;
  enum class worth { stands, lacked_pages, not_yet, refused, failed };

  followed_mapping() = default;
  static bool is_in(const zeroed_array<std::uint64_t>& bits, std::uint64_t page) noexcept {
    return (bits[page / 64] >> page % 64 & 1) != 0;
  }
  bool make_room() noexcept;
  void fetch(std::uint64_t page) noexcept;
  void forget_fresh() noexcept;

  /// Of this process: what a parent was doing when it forked, nobody goes on with.
  follower& mine();

  std::string path_;
  log_follower::header_judge judge_;
  std::atomic<follower*> follower_{nullptr};
  // Guarded by the turn, a bit for each page:
  zeroed_array<std::uint64_t> pages_;  // it is there
  zeroed_array<std::uint64_t> fresh_;  // it has come since a look was worth something
  std::uint64_t reserved_pages_ = 0;
};

/// One look under way.
class followed_mapping::turn {
 public:
  explicit turn(followed_mapping& image);  // throws std::bad_alloc
  ~turn();
  turn(const turn&) = delete;

  worth follow();
  /// What a look behind that is worth.
  worth judge();
  /// Returns false where the patience is over.
  bool pause() noexcept;
  bool writer_is_there() const noexcept;
  /// What was waited for some times, and no writer is there to do it.
  bool nobody_ends_that() const noexcept;

 private:
  followed_mapping& image_;
  follower& f_;
  std::unique_lock<std::mutex> lock_;
  std::uint64_t began_;
  std::uint64_t most_there_ = 0;  // pages, in this turn
  unsigned round_ = 0;
};

template <class Look>
status followed_mapping::look_at_one_moment(Look&& look) try {
  turn now(*this);
  while (true) {  // ends: with patience, or when all pages are there that it looks at
    worth w = now.follow();
    looked answer = looked::again;
    if (w == worth::stands) answer = look(), w = now.judge();
    if (w == worth::refused || (w == worth::not_yet && now.nobody_ends_that()))
      return status::unusable;
    if (w == worth::failed) return status::io_error;
    if (w == worth::lacked_pages) continue;
    if (w == worth::stands && answer == looked::hit) return status::ok;
    if (w == worth::stands && answer == looked::miss) return status::not_found;
    const bool suspect = w == worth::stands && answer == looked::suspect;
    if (suspect && !now.writer_is_there()) return status::damaged;
    if (!now.pause()) return suspect ? status::damaged : status::busy;
  }
} catch (const std::bad_alloc&) {
  return status::out_of_memory;
}

}  // namespace durahash
