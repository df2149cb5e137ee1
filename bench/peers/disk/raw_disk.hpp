// What the disk itself does: the limit of everything above it.
#pragma once

#include <cstdint>
#include <string>

namespace durahash::peers {

enum class raw_kind {
  dsync,      ///< pwritev2 with RWF_DSYNC, past the page cache
  fdatasync,  ///< pwrite to the page cache, then fdatasync
  stream,     ///< pwrite past the page cache, one fdatasync at the end
  random,     ///< the same, to random places
};

/// Writes of one size into a file of 256 MiB that is there already, one after the other, round and
/// round.
class raw_disk {
 public:
  raw_disk(const std::string& folder, raw_kind kind, std::uint64_t bytes);
  ~raw_disk();
  raw_disk(const raw_disk&) = delete;

  void write();
  void finish();

 private:
  std::string path_;
  raw_kind kind_;
  std::uint64_t bytes_, next_ = 0;
  int file_ = -1;
  void* buffer_ = nullptr;
};

}  // namespace durahash::peers
