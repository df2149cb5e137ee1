// A redo log of flushed lines: what makes a plain file a persistent memory whose fence is a place
// in the log. docs/explanation/disk.md has the model, and why each order is needed.
//
//   append       takes places; then copies the lines; then reads the log's end into each entry;
//                then seals it. Threads do so side by side
//   group        who waits, or a thread of the log's own, writes all sealed entries up to the first
//                hole to the log's file. One leads at a time; the others sleep
//   wait         until the disk has all places before a given one
//
// Invariants
//   D1  An entry holds all that was stored in its line before its place was taken.
//   D2  What an entry's line refers to stands in entries before the entry's end.
//   D3  A slot of the ring is taken again when the disk has its entry; a slot of the file, when the
//       pool's file has what its entry says.
//   D4  Once a write has failed, no place behind it ever becomes durable.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "base/own_thread.hpp"
#include "disk/disk_file.hpp"
#include "disk/log_ring.hpp"

namespace durahash {

struct log_settings {
  std::uint64_t key = 0;
  log_areas areas;         ///< of the file
  std::uint64_t from = 0;  ///< entries before it are in the pool's file
  /// Zero: whoever needs an entry on the disk waits for it. Else: the log's own thread writes it
  /// within that time, and writers wait where they are further ahead than the disk can write by
  /// then.
  std::chrono::milliseconds delay{0};
};

struct log_counts {
  std::uint64_t lines = 0;   ///< appended
  std::uint64_t bytes = 0;   ///< written to the log's file
  std::uint64_t groups = 0;  ///< writes that were waited for
  std::uint64_t stalls = 0;  ///< times a writer waited for room, or for a disk that was late
};

/// Who brings the pool's file up to where the log is.
class checkpoints {
 public:
  /// Has one made soon, by another thread. Does not wait. Returns false where there is no thread.
  virtual bool ask() noexcept = 0;
  /// Makes one.
  virtual void make() noexcept = 0;

 protected:
  ~checkpoints() = default;
};

class disk_log {
 public:
  disk_log(disk_file file, log_ring ring, const log_settings& how, checkpoints& make);
  ~disk_log();
  disk_log(const disk_log&) = delete;

  /// Appends whole lines, from line `number` of the pool on. Raises the thread's `needed()` to
  /// their end. Cost: two atomic operations for up to 64 lines, and a copy and a checksum a line;
  /// waits where the ring or the file is full.
  void append(std::uint64_t number, const std::byte* lines, std::uint64_t count) noexcept;

  /// The first place that nobody has taken.
  std::uint64_t head() const noexcept { return ring_.head().load(std::memory_order_seq_cst); }
  /// The first place that the disk does not have.
  std::uint64_t durable() const noexcept { return ring_.durable().load(std::memory_order_acquire); }

  /// Waits until the disk has all places before `end`. Returns false, at once from then on, when a
  /// write has failed.
  bool wait_durable(std::uint64_t end) noexcept;

  /// Why a write has failed: an errno; 0 where none has.
  int failure() const noexcept { return failure_.load(std::memory_order_acquire); }
  /// A write to the pool's file has failed: the log takes no more either.
  void fail(int error_number) noexcept;

  /// Entries before `from` are in the pool's file, durably.
  void checkpointed(std::uint64_t from) noexcept;
  std::uint64_t from() const noexcept { return from_.load(std::memory_order_acquire); }

  /// Makes the file longer, and waits until the disk has that. Returns false where it refuses;
  /// errno says why.
  bool extend_file(std::uint64_t from_slots, std::uint64_t to_slots) noexcept;
  /// The record names these areas, durably (A1).
  void grown(const log_areas& areas) noexcept;
  /// The ring gets so many slots soon; or not, where there is no memory. For one thread at a time.
  void grow_ring(std::uint64_t slots) noexcept;
  /// The file keeps so many slots; the log is not needed any more.
  void cut_file(std::uint64_t slots) noexcept;

  bool waits() const noexcept { return delay_.count() == 0; }
  log_counts counts() const noexcept;
  /// Of the file; entries in it that are needed; of the ring.
  std::uint64_t slots() const noexcept { return slots_.load(std::memory_order_relaxed); }
  std::uint64_t slots_in_use() const noexcept { return head() - from(); }
  std::uint64_t ring_slots() const noexcept { return ring_.slots(); }

  /// No other process will look for what the disk does not have.
  void remove_ring_at_end() noexcept { ring_.remove_at_end(); }

  /// The end that this thread's entries need: their own places, and what their lines refer to.
  static std::uint64_t& needed() noexcept {
    static thread_local std::uint64_t end = 0;
    return end;
  }

 private:
  bool lead(bool wait_for_holes) noexcept;
  bool write_group(bool wait_for_holes) noexcept;
  bool write_places(std::uint64_t from, std::uint64_t to) noexcept;
  void wait_for_ring(std::uint64_t end) noexcept;
  void wait_for_file() noexcept;
  void wait_for_late_disk(std::uint64_t end) noexcept;
  void pace(std::uint64_t entries, std::chrono::nanoseconds took) noexcept;
  void write_in_time();
  void set_limits() noexcept;
  log_areas areas() const noexcept;
  std::uint64_t most_ahead() const noexcept { return ring_.slots() / 2; }

  disk_file file_;
  log_ring ring_;
  const std::uint64_t key_;
  std::chrono::milliseconds delay_;
  checkpoints& checkpoints_;

  // Looked at by every append, changed once a group:
  alignas(line_bytes) std::atomic<std::uint64_t> ring_limit_;  // places before it have a slot
  std::atomic<std::uint64_t> file_limit_;
  std::atomic<std::uint64_t> lines_at_once_;
  std::atomic<std::uint64_t> max_ahead_;  // entries that the disk does not have
  std::atomic<bool> idle_{false};         // the log's own thread waits for the first entry
  std::atomic<int> failure_{0};
  // Of the group under way:
  alignas(line_bytes) std::atomic<bool> leading_{false};
  std::atomic<std::uint64_t> covered_{0};  // its end
  std::atomic<std::uint64_t> group_number_{0};
  std::atomic<int> group_done_[2] = {};  // by number: who waits for it sleeps here
  std::atomic<std::uint64_t> from_;
  std::atomic<std::uint64_t> ask_at_{0};       // place from which on a checkpoint is asked for
  std::atomic<std::uint64_t> ring_wanted_{0};  // slots, for which there is memory
  std::atomic<std::uint64_t> slots_;
  mutable std::mutex areas_lock_;  // guards the areas, and who changes limits
  log_areas areas_;
  std::uint64_t room_for_hasty_ = 0;
  std::atomic<int> freed_{0};  // times that slots of the file have come free, or to it
  std::atomic<bool> asked_{false};
  std::atomic<std::uint64_t> bytes_{0}, groups_{0}, stalls_{0};
  std::uint64_t first_;

  std::atomic<int> entries_came_{0};  // the log's own thread sleeps on it
  std::atomic<bool> stopping_{false};
  own_thread own_thread_;
};

/// A line that others may be storing to, as it was at one moment.
/// The words are read twice. Where none has changed in between, all of them were in the line at
/// once, between the two readings; where one has, once more.
__attribute__((no_sanitize("thread"))) void copy_line(const std::byte* line,
                                                      std::uint64_t* to) noexcept;

}  // namespace durahash
