// An open, locked file: the part that file and pmem mappings share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "durahash/status.hpp"
#include "media/mapping.hpp"

namespace durahash {

/// Owns a descriptor and, through it, an exclusive lock (shared for readers) that the kernel drops
/// when the process dies. A child of the process does not keep it: fork() closes the descriptor
/// there, and mappings of the file are not inherited (addresses.hpp).
class locked_file {
 public:
  /// With request.create the file has no name yet: a crash before `appear` leaves nothing behind.
  static result<locked_file> open(const mapping_request& request);

  /// Gives a new file its name. Returns ok, or exists when another file took the name meanwhile, or
  /// io_error; errno says why. No-op for a file that has one.
  status appear();

  locked_file(locked_file&& other) noexcept;
  locked_file& operator=(locked_file&&) = delete;
  ~locked_file();

  int descriptor() const noexcept { return descriptor_; }
  const std::string& path() const noexcept { return path_; }
  /// When it was opened.
  std::uint64_t bytes() const noexcept { return bytes_; }

  /// Cuts the file, unless readers in other processes map it: it stays longer than needed then, and
  /// is valid so.
  void cut(std::uint64_t bytes) noexcept;

  /// Tells this file from a copy of it, wherever it is mounted or moved to. Made of the time at
  /// which the file was made, or where a file system knows no such time, of its inode.
  /// Returns   0 while it is not known, which is asked anew each time; nothing of a device.
  std::optional<std::uint32_t> mark() noexcept;

  /// The sequence of a root that the file has had, noted with the inode (an extended attribute):
  /// what is written over the file's bytes leaves it alone.
  /// Returns   nothing where there is none, or none can be; unreadable_note when it cannot be read.
  std::optional<std::uint64_t> noted_root() const noexcept;
  /// Returns   whether it is noted; errno says why not.
  bool note_root(std::uint64_t sequence) noexcept;

 private:
  locked_file(int descriptor, std::string path);
  int descriptor_;
  std::string path_;
  std::uint64_t bytes_ = 0;
  std::optional<std::uint32_t> mark_ = 0;
  bool nameless_ = false;

  friend struct open_files;
  locked_file* next_ = nullptr;  // of those that a child is to close
  locked_file* previous_ = nullptr;
};

/// As locked_file::mark.
std::optional<std::uint32_t> file_mark_of(int descriptor) noexcept;
/// As locked_file::noted_root.
std::optional<std::uint64_t> noted_root_of(int descriptor) noexcept;

/// Parts of a file, far behind the end of any, whose locks belong to an open file description and
/// go with its last process. A writer locks `writer` as long as it has the pool; each reader beside
/// it locks a share of `length`.
enum class file_part : std::uint8_t { writer, length };

/// Does not wait. Returns 0, or the errno that says why not.
int lock_part(int descriptor, file_part part, bool shared) noexcept;
void unlock_part(int descriptor, file_part part) noexcept;
/// Whether another open file description has locked it for itself alone.
bool part_is_locked(int descriptor, file_part part) noexcept;

/// The file's name, and those beside it, survive a power cut from here on, where the file system
/// can promise that of a folder at all. Returns false when it refuses; errno says why.
bool name_to_disk(int file, const std::string& path) noexcept;

/// "<what> <path>: <the system's words for errno>"
error system_error(status code, const std::string& what, const std::string& path);

}  // namespace durahash
