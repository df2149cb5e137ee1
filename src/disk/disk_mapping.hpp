// A pool on a disk: a working image in private memory, the pool's file behind it, and the log
// between them. docs/explanation/disk.md has the model and the crash table.
//
//   image       the file, mapped privately: clean pages are the page cache's, changed ones the
//               process's own; what the pool grows by is anonymous memory
//   checkpoint  takes the log's end E; then each marked page: clears its mark, copies it, waits
//               until the log is durable up to the copy's end, writes it to the file; syncs the
//               file; records that entries before E are in it. Writers go on
//   open        replays the log's entries onto the image; the engine recovers as after any crash
//   growth      the log's file gets longer, and the record says so: instead of a checkpoint, where
//               those would come too often
//   close       a checkpoint; the record says `idle`: the file is whole by itself
//
// Invariants
//   C1  A page is marked after a store to it, and before a place for a line of it is taken.
//   C2  The file holds no store whose log entries, and those that it refers to, are not durable.
//   C3  The record names the places of each opening, durably, before the first entry of it.
//   C4  The file is as long as the root says that the pool is, durably, before that root's entry.
//
// crash in the middle of a page's write: its entries are in the log, and replay writes its lines
// anew; a sector of 512 bytes is old or new. crash in a checkpoint: the record before it is in
// force, and the entries from there on are in the log. crash between header and record of an
// opening: the header names the key before it, too.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/own_thread.hpp"
#include "base/zeroed_array.hpp"
#include "disk/disk_log.hpp"
#include "media/file_lock.hpp"
#include "media/line_log.hpp"
#include "media/mapping.hpp"

namespace durahash {

struct disk_request {
  bool waits = true;  ///< the level power; else power_buffered
  std::chrono::milliseconds delay{10};
  std::uint64_t log_bytes = 0;  ///< that the log may grow to; 0: the pool's, 64 MiB to 1 GiB
};

class disk_mapping final : public mapping, public checkpoints, public line_log {
 public:
  /// Opens, locks and maps the pool's file. Nothing is logged before `begin`.
  static result<std::unique_ptr<disk_mapping>> open(const mapping_request& request);
  ~disk_mapping() override;

  /// Brings the image to where the log ends. `salvage`: does without a log that is missing, foreign
  /// or damaged.
  error recover(const disk_request& how, bool salvage);

  /// Begins a log of this opening, of a new pool when it has its name. Until `end_salvage` the pool
  /// opens to be salvaged alone.
  error begin(const disk_request& how, bool salvage);
  error end_salvage();
  /// Of a new pool that cannot be made: the log that was made for it.
  void remove_new_log() noexcept;

  /// To be called once the pool is closed, by nobody beside it: the file is whole by itself then,
  /// and the log empty.
  status detach();

  /// Null before `begin`.
  disk_log* log() noexcept { return log_.get(); }

  // For the medium:
  void mark(const void* at, std::size_t bytes) noexcept override;
  void flush(const void* at, std::size_t bytes) noexcept override;

  status appear() override;
  std::optional<std::uint32_t> file_mark() noexcept override { return file_.mark(); }
  /// What was flushed and what was not, by a checkpoint of all.
  status write_to_disk(std::uint64_t offset, std::uint64_t bytes) override;
  bool take_change(std::uint64_t page) noexcept override;
  bool may_lack_last_moments() const noexcept override { return found_no_ring_; }
  /// What was flushed is before what is flushed later, by its place in the log.
  status write_flushed_to_disk(std::uint64_t offset, std::uint64_t bytes) override;

  std::uint64_t growths() const noexcept { return growths_.load(); }
  std::uint64_t checkpoints_made() const noexcept { return checkpoints_made_.load(); }
  bool checkpoint_under_way() const noexcept { return checkpoint_under_way_.load(); }
  /// Of the checkpoint under way, or of the last one: pages that were marked when it began, and
  /// those written so far; which may be more, as writers go on.
  std::uint64_t pages_to_write() const noexcept { return pages_to_write_.load(); }
  std::uint64_t pages_written() const noexcept { return pages_written_.load(); }
  std::uint64_t replayed() const noexcept { return replayed_; }
  std::uint64_t page_bytes_written() const noexcept { return page_bytes_written_.load(); }

 protected:
  status extend(std::uint64_t from, std::uint64_t to) override;
  void release(std::uint64_t from, std::uint64_t to) override;

 private:
  explicit disk_mapping(locked_file file);
  bool map_file(std::uint64_t bytes);
  bool map_memory(std::uint64_t from, std::uint64_t to);

  // disk_replay.cpp
  class replay;
  error replay_log(const log_record& record, bool salvage);
  error new_log(log_record& next);
  error lock_log();
  bool find_idle_log();
  std::string log_path() const { return file_.path() + "-log"; }
  error look_at_file();
  std::string ring_path(const log_record& record, std::uint64_t key) const;
  void note_rings(const log_record& record, const log_header& header);
  std::uint64_t max_slots_now() const noexcept;
  std::uint64_t slots_at_first() const noexcept;
  std::uint64_t slots_after(std::uint64_t slots) const noexcept;
  static std::uint64_t ring_slots_for(std::uint64_t slots) noexcept;

  bool checkpoint() noexcept;
  bool grow_log() noexcept;
  bool write_all_pages() noexcept;
  bool write_marked_pages() noexcept;
  std::uint64_t marked_pages() const noexcept;
  bool in_memory(std::uint64_t first, std::uint64_t last) const noexcept;
  bool write_record(const log_record& record, bool waits = true) noexcept;
  bool ask() noexcept override;
  void make() noexcept override;

  locked_file file_;
  disk_file direct_;
  disk_request how_;
  zeroed_array<std::atomic<std::uint8_t>> marks_;  // by page: who has not seen its last change
  log_record record_{};                            // in force, as it stands on the disk
  log_record found_{};                             // the same, as this opening goes on from it
  struct stat facts_ {};                           // of the pool's file
  std::vector<std::string> old_rings_;             // of openings before this one
  std::uint64_t newest_key_ = 0;                   // of the openings before this one
  disk_file log_file_;                             // until the log has it
  std::optional<locked_file> log_lock_;            // no other pool takes the log for its own
  std::unique_ptr<page_buffer> copies_;            // guarded by checkpointing_
  std::unique_ptr<disk_log> log_;
  std::uint64_t replayed_ = 0;
  bool found_no_ring_ = false;  // and the level is one that needs it
  bool cut_on_close_ = false, detached_ = false;

  std::mutex checkpointing_;  // guards the record, the marks' clearing, and
  int write_failure_ = 0;     // an errno: of what was not written the marks are gone
  std::atomic<std::uint64_t> checkpoints_made_{0}, page_bytes_written_{0};
  std::atomic<std::uint64_t> growths_{0}, pages_to_write_{0}, pages_written_{0};
  std::atomic<bool> checkpoint_under_way_{false};
  std::chrono::steady_clock::time_point last_made_;  // checkpoint, or growth; guarded as the record
  std::atomic<int> asked_{0};
  std::atomic<bool> stopping_{false};
  std::mutex starting_;  // guards the start of
  own_thread checkpointer_;
};

}  // namespace durahash
