// The log of a pool that another process may be writing to, followed as it grows: what a reader
// beside that writer knows beyond the pool's file. It is read alone; the writer knows of nobody.
//
// At the level power all that was acknowledged is in the log's file, which is read up to the first
// place that is not sealed. At the level power_buffered it is in the ring. What is sealed there
// counts, up to the ring's end as it was before the look. A place that is not sealed is of an
// operation that had acknowledged nothing behind it; it is looked at again.
//
//   begin    reads the record in force, then the log from where that says on
//   follow   reads on to the end, then the record once more. Where that is another opening's, or
//            tells of places that could not be read any more, all begins anew
//
// Invariants
//   F1  The end of the log is believed when a record that is read behind it needs that place still:
//       else the place may have gone to a later entry (D3).
//   F2  An entry counts when the log is known to reach its end, as in a replay.
//   F3  Of two entries of a line the later place counts, whichever was sealed first.
//   F4  Where places were skipped, nothing that counts refers to them: none of them is sealed when
//       all else has been read.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "disk/disk_file.hpp"
#include "disk/log_ring.hpp"
#include "disk/log_tail.hpp"
#include "durahash/status.hpp"

namespace durahash {

/// Where lines are put that the log tells of.
class followed_image {
 public:
  virtual void put(std::uint64_t number, const log_tail::line& words) noexcept = 0;
  /// All that was put, and read of the pool's file, counts for nothing.
  virtual void drop() noexcept = 0;

 protected:
  ~followed_image() = default;
};

class log_follower {
 public:
  /// What the pool's first two pages make of it: whether it is of the level power; or why it cannot
  /// be followed.
  using header_judge = std::function<result<bool>(const std::byte* header)>;
  using question = std::function<bool()>;

  log_follower(std::string path, int pool, header_judge judge, question writer_is_there);

  enum class answer { stands, not_yet, refused };
  /// stands: the image is as it was at one moment behind the call's beginning, but for pages of the
  /// file that are read from here on. Throws std::bad_alloc.
  answer follow(followed_image& image);
  /// Why it is refused; or what is waited for.
  const error& refusal() const noexcept { return refusal_; }

  /// A page of the pool's file, with what the log says of it. Returns false where the disk refuses.
  bool read_page(std::uint64_t page, std::byte* at) const noexcept;
  /// Whether what one of those pages was read to hold may be undone by an entry that does not count
  /// yet.
  template <class Among>
  bool awaits(Among&& pages) const noexcept {
    return waits_ && tail_.awaits(pages);
  }
  /// At the level power: what was read of the log is durable, and of the pool where that is asked.
  /// Returns false where the disk refuses.
  bool make_durable(bool pool_too) noexcept;

 private:
  enum class end { reached, lost };  // places that are gone
  answer begin(followed_image& image);
  answer begin_log(followed_image& image);
  end read_on(followed_image& image);
  end read_ring(followed_image& image);
  bool take_from_ring(std::uint64_t place, std::uint64_t reached, followed_image& image);
  end look_at_holes_again(std::uint64_t reached, followed_image& image);
  /// Entries from the log's file, up to `to` or the first that is not sealed: how many.
  std::uint64_t take_from_file(std::uint64_t from, std::uint64_t to, std::uint64_t key,
                               std::uint64_t reached, followed_image& image);
  bool record_is_the_same();
  answer refuse(const std::string& why);
  answer unless_it_changed(const std::string& why);
  bool read_record(std::byte* to) const noexcept;
  const log_row& last_row() const noexcept { return record_.rows[record_.row_count - 1]; }

  std::string path_;
  disk_file pool_;
  header_judge judge_;
  question writer_is_there_;

  bool begun_ = false, waits_ = true;
  std::array<std::byte, page_bytes> record_page_{}, page_now_{};
  log_record record_{};
  disk_file log_;
  std::optional<log_ring> ring_;
  std::uint64_t next_ = 0;                // all places before it have been read, or are
  std::vector<std::uint64_t> holes_;      // of the ring
  std::optional<std::uint64_t> durable_;  // places before it were made durable by this reader
  log_tail tail_;
  std::vector<log_entry> entries_;  // as read from the log's file
  error refusal_{status::ok, {}};
};

}  // namespace durahash
