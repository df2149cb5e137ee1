// A pool's fixed structures, read from and written into the bytes of its file, checksums made good:
// what a newer, a foreign or a malicious program could have written.
#pragma once

#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "media/file_lock.hpp"
#include "persist/format.hpp"

namespace durahash::test {

inline superblock superblock_in(const std::string& image) {
  superblock block;
  std::memcpy(&block, image.data() + superblock_offsets[0], sizeof block);
  return block;
}
/// Into both places.
inline void put_superblock(std::string& image, const superblock& block) {
  superblock whole = sealed(block);
  for (std::uint64_t offset : superblock_offsets)
    std::memcpy(image.data() + offset, &whole, sizeof whole);
}

/// The root in force.
inline std::uint64_t root_offset_in(const std::string& image) {
  std::uint64_t sequence;
  std::memcpy(&sequence, image.data() + selector_offset, sizeof sequence);
  return root_offsets[sequence % 2];
}
inline root_record root_in(const std::string& image) {
  root_record root;
  std::memcpy(&root, image.data() + root_offset_in(image), sizeof root);
  return root;
}
inline void put_root(std::string& image, const root_record& root) {
  root_record whole = sealed(root);
  std::memcpy(image.data() + root_offset_in(image), &whole, sizeof whole);
}

/// What the root in a file says, that may be open.
inline pool_state state_in_file(const std::string& path) {
  std::string head(engine_area_offset, '\0');
  std::ifstream(path, std::ios::binary)
      .read(head.data(), static_cast<std::streamsize>(head.size()));
  return root_in(head).state;
}

/// What the roots of a pool in that file, which nobody has open, say of it.
inline std::uint32_t mark_of_file(const std::string& path) {
  auto file = locked_file::open({.path = path, .read_only = true});
  if (!file) throw std::runtime_error(file.failure().message);
  return file->mark().value_or(0);
}

/// Writes the image there, as a kill leaves it: of this file, which is new, since an older image
/// that is written over a younger one is refused.
inline void write_as_killed(const std::string& path, std::string image) {
  std::filesystem::remove(path);
  std::ofstream(path, std::ios::binary) << image;
  root_record root = root_in(image);
  root.file_mark = mark_of_file(path);
  put_root(image, root);
  std::fstream(path, std::ios::binary | std::ios::in | std::ios::out) << image;
}

/// The image as another run of the machine left it: changing where its writer was cut off, or
/// clean.
inline std::string after_reboot(std::string image, pool_state state) {
  root_record root = root_in(image);
  root.boot_id[0] ^= 0xff;
  root.state = state;
  if (state == pool_state::changing)
    root.records = root.heap_state_offset = root.heap_state_bytes = root.heap_state_checksum = 0;
  put_root(image, root);
  return image;
}

}  // namespace durahash::test
