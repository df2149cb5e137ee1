// The redo log of a pool on a disk, byte for byte: its entries, its first page, and the record in
// the pool that says which entries count. docs/explanation/disk.md explains them.
//
// A *place* is the number of an entry, counted from the log's first. Places never repeat; the
// entry of a place stands in a slot of the ring, and in a slot of the log's file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bits.hpp"
#include "disk/log_areas.hpp"

namespace durahash {

/// One line of the pool, as it was when somebody flushed it.
struct log_entry {
  /// 48 bits of a checksum of all that follows, of the place and of the key of the opening; the
  /// lowest 16 bits count the ring's laps. Written last.
  std::uint64_t seal;
  std::uint64_t head;  ///< the line's number; above bit 40, how many places behind it its end is
  std::array<std::uint64_t, line_bytes / 8> line;

  static constexpr unsigned number_bits = 40;
  /// Says nothing of any line.
  static constexpr std::uint64_t no_line = (std::uint64_t{1} << number_bits) - 1;

  std::uint64_t number() const noexcept { return head & no_line; }
  /// The log's end as it was when the line had been copied: the copy may refer to what entries
  /// before it say, and to nothing behind it.
  std::uint64_t end(std::uint64_t place) const noexcept { return place + (head >> number_bits); }
};
static_assert(sizeof(log_entry) == 80);

/// Entries whose bytes fill whole pages.
inline constexpr std::uint64_t page_of_entries = 256;
static_assert(page_of_entries * sizeof(log_entry) % page_bytes == 0);

constexpr std::uint64_t lap_mask = 0xffff;

/// The seal of an entry at that place, in that lap of the ring.
std::uint64_t seal_of(const log_entry& e, std::uint64_t place, std::uint64_t key,
                      std::uint64_t lap) noexcept;
/// Whether the entry was sealed at that place, in an opening with that key.
bool is_sealed(const log_entry& e, std::uint64_t place, std::uint64_t key) noexcept;

/// A log's file has a multiple of so many.
inline constexpr std::uint64_t min_slots = 4 * page_of_entries;
/// A place and a file's length fit in their words many times over.
inline constexpr std::uint64_t max_slots = std::uint64_t{1} << 40;

/// The places of one opening.
struct log_row {
  std::uint64_t first;
  std::uint64_t end;  ///< no_end: still growing
  std::uint64_t key;  ///< random, part of every seal: no entry of another opening verifies
  static constexpr std::uint64_t no_end = ~std::uint64_t{0};
};

enum class log_state : std::uint64_t {
  idle = 1,  ///< the pool's file is whole by itself
  in_use = 2,
  salvaging = 3  ///< likewise, by a salvage that has not come to its end
};

/// Two of them stand in the pool, written in turn, each in sectors of its own. No entry is about
/// their page.
struct log_record {
  std::uint64_t sequence;
  log_state state;
  std::array<std::uint8_t, 16> log_id;
  std::uint64_t slots;  ///< of the log's file: those of the newest area
  std::uint64_t from;   ///< entries before this place are in the pool's file
  std::uint64_t row_count;
  static constexpr std::size_t max_rows = 8;
  std::array<log_row, max_rows> rows;
  log_areas areas;         ///< a log that never grew has one
  std::uint64_t checksum;  // XXH3-64 of all bytes before it
};
static_assert(sizeof(log_record) == 456, "in one sector");
/// Logs that did not grow had no areas; their checksum stood there.
inline constexpr std::size_t log_record_bytes_before_areas = offsetof(log_record, areas);
static_assert(log_record_bytes_before_areas == 248);

inline constexpr std::uint64_t log_record_offset = 3 * page_bytes;
inline constexpr std::uint64_t log_record_offsets[2] = {log_record_offset,
                                                        log_record_offset + page_bytes / 2};

/// The first page of the log's file. The entries follow.
struct log_header {
  std::array<char, 8> magic;
  std::uint64_t version;
  std::array<std::uint8_t, 16> log_id;
  std::uint64_t slots;  ///< when it was opened
  /// Of the newest opening and of the one before: an older copy of the log has neither.
  std::uint64_t key, key_before;
  std::uint64_t checksum;
};
static_assert(sizeof(log_header) == 64);

inline constexpr std::array<char, 8> log_magic{'D', 'U', 'R', 'A', 'L', 'O', 'G', '\0'};
inline constexpr std::uint64_t log_version = 1;
inline constexpr std::uint64_t log_entries_offset = page_bytes;

log_record sealed(log_record record);
log_header sealed(log_header header);
/// As somebody sealed it, and with figures that can be.
bool is_whole(const log_record& record) noexcept;
bool is_whole(const log_header& header) noexcept;

struct found_record {
  log_record newest;  ///< of sequence 0 where none is whole
  bool ever_written;  ///< else there was never a log
};
/// Of the page of the pool that holds the two.
found_record find_record(const std::byte* page) noexcept;

}  // namespace durahash
