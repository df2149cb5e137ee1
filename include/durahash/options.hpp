// How a pool is created and opened.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace durahash {

/// The kinds of tables: docs/howto/choose-engine.md.
enum class engine_kind : std::uint8_t { turbo = 1, cceh = 2, level = 3, gphash = 4 };

/// What keys or values are: 64-bit words, or byte strings.
enum class data_kind : std::uint8_t { u64 = 1, bytes = 2 };

/// Which crashes an operation that returned survives. README.md has the table by medium.
enum class durability_level : std::uint8_t {
  none = 0,     ///< no promise
  process = 1,  ///< death of the process (kill -9)
  power = 2,    ///< loss of power: every operation flushes and fences, or waits for the disk's log
  /// On a disk: operations do not wait for it. Death of the process loses nothing. After a loss of
  /// power the table is as it was at one moment, options::lag_milliseconds before it at most:
  /// never torn, never refused.
  power_buffered = 3,
};

/// Where the bytes live.
enum class medium_kind : std::uint8_t {
  /// where durability is power: pmem where the path is DAX, else disk; where it is power_buffered:
  /// disk; elsewhere file
  automatic = 0,
  memory = 1,    ///< anonymous memory, gone with the process
  file = 2,      ///< a plain file, through the page cache
  pmem = 3,      ///< persistent memory: MAP_SYNC mapping or device DAX
  emulated = 4,  ///< as pmem, on any memory, and counts what it does: durahash/emulated.hpp
  disk = 5,      ///< a plain file behind a log: survives a loss of power on any disk
};

/// What is opened, and to do what.
enum class open_mode : std::uint8_t {
  create_or_open,
  create_new,
  open_existing,
  read_only,  ///< nobody writes meanwhile: refused where a writer has the pool, and refuses others
  /// Beside a writer in another process, or in this one, or none; writers come and go. What is read
  /// was acknowledged before the read began, or was under way. Nobody waits for such a handle, and
  /// it works in a child (fork). Not of the medium memory. docs/explanation/readers.md
  read_beside,
};

/// Options of `open`. A field left out takes the pool's own value when the pool exists, and the
/// default when it is made; a field that contradicts an existing pool refuses the open with a
/// sentence.
struct options {
  open_mode mode = open_mode::create_or_open;
  std::optional<engine_kind> engine = {};  ///< default turbo
  std::optional<data_kind> key = {};       ///< default bytes (table), u64 (map)
  std::optional<data_kind> value = {};     ///< likewise
  /// default process; power on the media pmem and emulated
  std::optional<durability_level> durability = {};
  medium_kind medium = medium_kind::automatic;

  /// Records expected. Sizes the directory and the first allocation; the table grows past it by
  /// itself.
  std::uint64_t capacity = 0;

  /// Engine settings by name, as `durahash create --set name=value`: docs/explanation/engines/
  /// lists them.
  std::map<std::string, std::uint64_t> settings = {};

  /// The pool never grows past this many bytes (0: as far as the file system goes).
  std::uint64_t max_bytes = 0;

  /// Address space set aside for growth: the pool cannot grow past it while it is open. Costs no
  /// memory. 0: eight times the file, or 128 bytes for each record of `capacity`, or 64 GiB,
  /// whichever is most, and 64 TiB at most. A process has 128 TiB in all; where it may not have as
  /// much as this says (a limit, a sanitizer), the pool takes a part, and leaves as many.
  ///
  /// Memory: beside the pages of its file that were used, an open pool takes up to 0.5 MiB of the
  /// process while it is small. Of one with many records locks, counters and marks take more, up to
  /// 16 bytes for a unit that is locked.
  std::uint64_t address_space_bytes = 0;

  /// Medium `disk` only. At the level power_buffered: how old the last moment that a loss of power
  /// leaves may be; or two writes of the disk, where they take longer: the one that an operation
  /// comes too late for, and its own. Writers wait for a disk that is slower than they.
  std::uint32_t lag_milliseconds = 10;

  /// Medium `disk` only: how far the log may grow, a file beside the pool. 0: as large as the pool,
  /// from 64 MiB to 1 GiB. A longer log makes checkpoints rarer, an opening after a crash slower.
  std::uint64_t log_bytes = 0;

  /// Medium `emulated` only: added to each flushed line, each 256-byte block written and each one
  /// read that is not in the read buffer, in nanoseconds.
  std::uint32_t flush_latency_ns = 0;
  std::uint32_t block_latency_ns = 0;
  std::uint32_t read_latency_ns = 0;

  /// Open a pool that a reboot interrupted, drop what does not verify, and say so. See
  /// table::salvage_report().
  bool salvage = false;
};

/// The engines of this build, in the order of their numbers.
std::span<const engine_kind> all_engines() noexcept;

/// As the tool has it: "turbo", "u64", "power", "disk".
std::string_view name_of(engine_kind) noexcept;
std::string_view name_of(data_kind) noexcept;
std::string_view name_of(durability_level) noexcept;
std::string_view name_of(medium_kind) noexcept;

/// The kind of that name, or nothing.
std::optional<engine_kind> engine_named(std::string_view) noexcept;
std::optional<data_kind> data_kind_named(std::string_view) noexcept;
std::optional<durability_level> durability_named(std::string_view) noexcept;
std::optional<medium_kind> medium_named(std::string_view) noexcept;

}  // namespace durahash
