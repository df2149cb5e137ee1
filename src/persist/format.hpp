// The fixed part of a pool, byte for byte. docs/reference/format.md explains it to people; the two
// change together.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bits.hpp"
#include "base/seeds.hpp"
#include "durahash/options.hpp"
#include "durahash/status.hpp"
#include "persist/pm.hpp"

namespace durahash {

inline constexpr std::array<char, 8> pool_magic{'D', 'U', 'R', 'A', 'H', 'A', 'S', 'H'};
inline constexpr std::uint32_t format_version = 1;

// Feature bits. An unknown compat bit is ignored, an unknown ro_compat bit allows reading, an
// unknown incompat bit refuses.
inline constexpr std::uint64_t known_ro_compat = 0;
inline constexpr std::uint64_t has_log =
    1;  // the pool's file may need its log (disk/log_format.hpp)
inline constexpr std::uint64_t has_short_records =
    2;  // records may have headers of 8 bytes (record_shape.hpp)
inline constexpr std::uint64_t has_split_shards =
    4;  // shards of turbo may have been split (engine/turbo/rebuild.hpp)
inline constexpr std::uint64_t has_telling_tags =
    8;  // level's tags tell which of the second places their records have (engine/level/places.hpp)
inline constexpr std::uint64_t known_incompat =
    has_log | has_short_records | has_split_shards | has_telling_tags;

inline constexpr std::size_t setting_count = 8;
using setting_words = std::array<std::uint64_t, setting_count>;

/// What a pool is: written once, at creation. Stands at offset 0 and again at 4096.
struct superblock {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t bytes;  // of this structure, checksum included
  std::uint64_t compat, ro_compat, incompat;
  engine_kind engine;
  data_kind key;
  data_kind value;
  durability_level durability;
  std::uint32_t hash_id;
  std::uint64_t seed_flip;
  std::uint64_t seed_multiply;
  std::array<std::uint8_t, 16> uuid;
  std::uint64_t engine_offset;  // the engine's root structure
  std::uint64_t engine_bytes;
  std::uint64_t heap_offset;  // extents are handed out from here on
  setting_words settings;     // the engine's, in the order docs/explanation/engines/ gives
  std::uint64_t created_unix_seconds;
  std::uint64_t checksum;  // XXH3-64 of all bytes before it
};
static_assert(sizeof(superblock) == 184 && offsetof(superblock, engine) == 40 &&
              offsetof(superblock, settings) == 104);

inline constexpr std::uint64_t superblock_offsets[2] = {0, page_bytes};

enum class pool_state : std::uint32_t { clean = 1, changing = 2 };

/// How a pool stands: two of them, changed in turn (hole X5).
struct root_record {
  std::uint64_t sequence;
  std::uint64_t pool_bytes;              // the pool's end; the file may be longer
  std::array<std::uint8_t, 16> boot_id;  // of the machine's run that wrote this record
  pool_state state;
  // of the file that it was written to (media/file_lock.hpp); 0: not known
  std::uint32_t file_mark;
  std::uint64_t records;            // valid when clean
  std::uint64_t heap_state_offset;  // valid when clean; 0: none saved
  std::uint64_t heap_state_bytes;
  // of tables of words, which save none: the records' digest; 0: not known
  std::uint64_t heap_state_checksum;
  std::uint64_t checksum;  // XXH3-64 of all bytes before it
};
static_assert(sizeof(root_record) == 80 && offsetof(root_record, checksum) == 72);

// pm<u64>: the sequence of the root in force
inline constexpr std::uint64_t selector_offset = 2 * page_bytes;
// by sequence % 2
inline constexpr std::uint64_t root_offsets[2] = {selector_offset + 256, selector_offset + 512};
inline constexpr std::uint64_t owner_offset = selector_offset + 768;
inline constexpr std::uint64_t engine_area_offset = 4 * page_bytes;

enum class owner_side : std::uint32_t { device = 1 };

/// Whose device may write to the pool, whoever holds the file's lock. All zeros: nobody's. It need
/// outlive processes alone and is not flushed; one that was half written when its process died has
/// a wrong checksum, and its device had not begun, or was done.
struct owner_record {
  std::array<std::uint8_t, 16> boot_id;
  std::uint64_t process;  // its number
  // when it began, as /proc/PID/stat says: numbers are used again
  std::uint64_t start_ticks;
  owner_side side;
  std::uint32_t reserved;
  std::array<std::uint64_t, 2> more_reserved;
  std::uint64_t checksum;  // XXH3-64 of all bytes before it
};
static_assert(sizeof(owner_record) == 64 && offsetof(owner_record, checksum) == 56 &&
              owner_offset % line_bytes == 0);

/// What a new pool says of itself, but for its seeds, its uuid and the time.
superblock new_superblock(engine_kind engine, data_kind key, data_kind value,
                          durability_level durability, const setting_words& settings,
                          std::uint64_t engine_bytes);

/// Of a pool, by its superblock.
constexpr hash_seeds seeds_of(const superblock& block) noexcept {
  return {block.seed_flip, block.seed_multiply,
          block.hash_id == hash_id_folded ? 1 : spreading_factor};
}

superblock sealed(superblock block);
root_record sealed(root_record root);
owner_record sealed(owner_record owner);

/// Whether one of the superblocks, sound or not, has the magic of a pool.
bool begins_as_a_pool(const std::byte* base);

/// Whether the checksum holds.
bool is_whole(const superblock& block);
bool is_whole(const root_record& root);

/// Finds what the pool is in its first bytes. `bytes` is the length of the file.
/// Returns   the superblock, or an error that says what is wrong and at which offset.
result<superblock> read_superblock(const std::byte* base, std::uint64_t bytes, bool read_only,
                                   const std::string& path);

/// What is wrong with the two superblocks of a pool that is open: a sentence for each that is not
/// whole, or says something else than the other. Their levels may differ: a conversion that was
/// broken off has changed one of them.
std::vector<std::string> complaints_about_superblocks(const std::byte* base);

/// As read_superblock, for the root in force.
result<root_record> read_root(const std::byte* base, std::uint64_t bytes, const superblock& block,
                              const std::string& path);

/// The owner that a pool names; nothing if it names nobody, or its record is damaged.
std::optional<owner_record> read_owner(const std::byte* base);

/// This run of the machine: /proc/sys/kernel/random/boot_id. All zeros where that cannot be read.
std::array<std::uint8_t, 16> this_boot();

/// Whether `boot` is known to be this run of the machine.
bool is_this_boot(const std::array<std::uint8_t, 16>& boot);

}  // namespace durahash
