#include "persist/format.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "base/hash.hpp"

namespace durahash {
namespace {

template <class Structure>
std::uint64_t checksum_of(const Structure& s) {
  return checksum(&s, offsetof(Structure, checksum));
}

template <class Structure>
Structure copy_from(const std::byte* at) {
  Structure s;
  std::memcpy(&s, at, sizeof s);
  return s;
}

error unusable(const std::string& path, const std::string& why) {
  return {status::unusable, "cannot use " + path + " as a pool: " + why};
}

std::string number(std::uint64_t n) { return std::to_string(n); }

bool has_magic(const superblock& s) { return s.magic == pool_magic; }

/// What the fields say of a superblock whose checksum holds: they were written so.
std::string complaint_about(const superblock& s, std::uint64_t bytes, bool read_only) {
  if (s.version != format_version)
    return "its format version is " + number(s.version) + ", and this program knows version " +
           number(format_version) +
           (s.version > format_version ? "; a newer durahash wrote it" : "");
  if ((s.incompat & ~known_incompat) != 0)
    return "it uses features that this program does not know (incompat bits)";
  if ((s.ro_compat & ~known_ro_compat) != 0 && !read_only)
    return "it uses features that this program can only read (ro_compat bits); open it read-only";
  if (s.bytes != sizeof(superblock))
    return "its superblock has " + number(s.bytes) + " bytes, not " + number(sizeof s);
  if (name_of(s.engine) == "unknown" || name_of(s.key) == "unknown" ||
      name_of(s.value) == "unknown" || name_of(s.durability) == "unknown")
    return "its superblock names an engine, data kind or durability level that this program does "
           "not know";
  if (s.hash_id != hash_id_folded && s.hash_id != hash_id_spread)
    return "its hash function (id " + number(s.hash_id) + ") is not known to this program";
  if (s.seed_multiply % 2 == 0) return "its hash multiplier is even";
  if (s.engine_offset != engine_area_offset || s.engine_bytes > bytes || s.heap_offset > bytes ||
      s.heap_offset % page_bytes != 0 || s.heap_offset < s.engine_offset + s.engine_bytes)
    return "the file has " + number(bytes) + " bytes, and its superblock places the heap at " +
           number(s.heap_offset) + ": it was cut off";
  return {};
}

}  // namespace

superblock new_superblock(engine_kind engine, data_kind key, data_kind value,
                          durability_level durability, const setting_words& settings,
                          std::uint64_t engine_bytes) {
  superblock b{};
  b.magic = pool_magic;
  b.version = format_version;
  b.bytes = sizeof b;
  b.engine = engine;
  b.key = key;
  b.value = value;
  b.durability = durability;
  b.hash_id = hash_id_spread;
  b.settings = settings;
  b.engine_offset = engine_area_offset;
  b.engine_bytes = engine_bytes;
  b.heap_offset = align_up(b.engine_offset + b.engine_bytes, 64 << 10);
  return b;
}

superblock sealed(superblock block) {
  block.checksum = checksum_of(block);
  return block;
}

root_record sealed(root_record root) {
  root.checksum = checksum_of(root);
  return root;
}

owner_record sealed(owner_record owner) {
  owner.checksum = checksum_of(owner);
  return owner;
}

bool begins_as_a_pool(const std::byte* base) {
  return has_magic(copy_from<superblock>(base + superblock_offsets[0])) ||
         has_magic(copy_from<superblock>(base + superblock_offsets[1]));
}

bool is_whole(const superblock& s) { return has_magic(s) && s.checksum == checksum_of(s); }
bool is_whole(const root_record& r) { return r.checksum == checksum_of(r); }

result<superblock> read_superblock(const std::byte* base, std::uint64_t bytes, bool read_only,
                                   const std::string& path) {
  if (bytes == 0) return unusable(path, "it is empty (0 bytes)");
  if (bytes < engine_area_offset)
    return unusable(path, "it has " + number(bytes) +
                              " bytes, and the smallest pool has more than " +
                              number(engine_area_offset));
  auto first = copy_from<superblock>(base + superblock_offsets[0]);
  auto second = copy_from<superblock>(base + superblock_offsets[1]);
  const superblock& found = is_whole(first) ? first : second;
  if (!is_whole(found)) {
    if (!has_magic(first) && !has_magic(second))
      return unusable(path, "it is not a durahash pool (no DURAHASH at offset 0)");
    return unusable(path,
                    "its superblock is damaged: the checksums at offsets 0 and 4096 do not match");
  }
  if (std::string why = complaint_about(found, bytes, read_only); !why.empty())
    return unusable(path, why);
  return found;
}

std::vector<std::string> complaints_about_superblocks(const std::byte* base) {
  std::vector<std::string> found;
  superblock copies[2];
  bool whole = true;
  for (std::size_t i = 0; i < 2; ++i) {
    copies[i] = copy_from<superblock>(base + superblock_offsets[i]);
    if (is_whole(copies[i])) continue;
    whole = false;
    found.push_back("the superblock at offset " + number(superblock_offsets[i]) +
                    " is damaged (magic or checksum), and the one at offset " +
                    number(superblock_offsets[1 - i]) +
                    " alone says what the pool is; a backup has both");
  }
  if (!whole) return found;
  // what a conversion changes
  copies[1].durability = copies[0].durability;
  copies[1].incompat = (copies[1].incompat & ~has_log) | (copies[0].incompat & has_log);
  copies[1] = sealed(copies[1]);
  if (std::memcmp(&copies[0], &copies[1], sizeof copies[0]) != 0)
    found.emplace_back(
        "the superblocks at offsets 0 and 4096 are both whole, and are not of one pool");
  return found;
}

result<root_record> read_root(const std::byte* base, std::uint64_t bytes, const superblock& block,
                              const std::string& path) {
  auto sequence = copy_from<std::uint64_t>(base + selector_offset);
  std::uint64_t offset = root_offsets[sequence % 2];
  auto root = copy_from<root_record>(base + offset);
  if (!is_whole(root) || root.sequence != sequence)
    return unusable(
        path, "its root record at offset " + number(offset) + " is damaged (checksum or sequence)");
  if (root.state != pool_state::clean && root.state != pool_state::changing)
    return unusable(path,
                    "its root record at offset " + number(offset) + " names an unknown state");
  if (root.pool_bytes % page_bytes != 0 || root.pool_bytes < block.heap_offset)
    return unusable(path,
                    "its root record at offset " + number(offset) + " gives an impossible size");
  if (root.pool_bytes > bytes)
    return unusable(path, "the file has " + number(bytes) + " bytes, and the pool needs " +
                              number(root.pool_bytes) + ": it was cut off");
  if (root.heap_state_offset != 0 &&
      (root.heap_state_offset > root.pool_bytes ||
       root.heap_state_bytes > root.pool_bytes - root.heap_state_offset ||
       root.heap_state_offset % 8 != 0 || root.heap_state_bytes % 8 != 0))
    return unusable(path, "its root record at offset " + number(offset) +
                              " places the allocation state outside the pool");
  return root;
}

std::optional<owner_record> read_owner(const std::byte* base) {
  auto owner = copy_from<owner_record>(base + owner_offset);
  if (owner.checksum != checksum_of(owner)) return std::nullopt;  // all zeros, too
  return owner;
}

std::array<std::uint8_t, 16> this_boot() {
  static const std::array<std::uint8_t, 16> id = [] {
    std::array<std::uint8_t, 16> parsed{}, unknown{};
    char text[64];
    int file = ::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? 0 : ::read(file, text, sizeof text);
    if (file >= 0) ::close(file);
    std::size_t digit = 0;
    for (ssize_t i = 0; i < length && text[i] != '\n'; ++i) {
      char c = text[i];
      if (c == '-') continue;
      bool decimal = c >= '0' && c <= '9', letter = c >= 'a' && c <= 'f';
      if (digit == 32 || (!decimal && !letter)) return unknown;
      auto value = static_cast<std::uint8_t>(decimal ? c - '0' : c - 'a' + 10);
      parsed[digit / 2] = static_cast<std::uint8_t>(parsed[digit / 2] << 4 | value);
      ++digit;
    }
    return digit == 32 ? parsed : unknown;
  }();
  return id;
}

bool is_this_boot(const std::array<std::uint8_t, 16>& boot) {
  return boot == this_boot() && boot != std::array<std::uint8_t, 16>{};
}

}  // namespace durahash
