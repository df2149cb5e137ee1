// A file that is read and written in whole pages, past the page cache where the file system can do
// that: what is written once and read after a crash need not be held in memory.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace durahash {

class disk_file {
 public:
  disk_file() = default;
  /// `through_cache`: to be read alone, any bytes of it, and again and again.
  enum class access { read_only, read_write, through_cache };
  /// Returns a file that is not open on failure; errno says why.
  static disk_file open(const std::string& path, access how);
  /// Likewise a new one; fails where there is a file of that name.
  static disk_file create(const std::string& path);
  /// The same file as that of another descriptor, with a position and flags of its own.
  static disk_file of(int descriptor);
  /// Likewise another descriptor of the same opening.
  static disk_file sharing(int descriptor);

  disk_file(disk_file&& other) noexcept;
  disk_file& operator=(disk_file&& other) noexcept;
  ~disk_file();

  bool is_open() const noexcept { return descriptor_ >= 0; }
  /// As share_like.
  void share_like(int descriptor) noexcept;
  /// Returns false where the system does not tell.
  bool facts(struct stat& to) const noexcept;
  /// 0 where that cannot be told.
  std::uint64_t bytes() const noexcept;
  /// Its present path, for messages; "?" where that cannot be told.
  const char* path(char (&room)[256]) const noexcept;

  // Offsets, lengths and addresses are multiples of a page, but through the cache. All return false
  // where the system refuses; errno says why.
  bool read(std::uint64_t offset, void* at, std::uint64_t bytes) const noexcept;
  bool write(std::uint64_t offset, const void* at, std::uint64_t bytes) noexcept;
  /// On the disk when it returns.
  bool write_through(std::uint64_t offset, const void* at, std::uint64_t bytes) noexcept;
  /// Waits until all that was written is on the disk.
  bool sync() noexcept;
  /// Writes zeros to [from, to), so that later writes change no metadata, and syncs.
  bool fill_with_zeros(std::uint64_t from, std::uint64_t to) noexcept;
  /// Gives the space behind `bytes` back, where the file system does.
  void cut(std::uint64_t bytes) noexcept;

 private:
  explicit disk_file(int descriptor) noexcept : descriptor_(descriptor) {}
  bool write_with(int flags, std::uint64_t offset, const void* at, std::uint64_t bytes) noexcept;
  void use_page_cache() const noexcept;

  int descriptor_ = -1;
};

/// Whoever may use the file `like` may use the other one: its owner, group and mode, as far as this
/// process may give them.
void share_like(int descriptor, int like) noexcept;

/// Memory for such transfers.
class page_buffer {
 public:
  explicit page_buffer(std::uint64_t bytes);  // throws std::bad_alloc
  ~page_buffer();
  page_buffer(const page_buffer&) = delete;
  std::byte* at(std::uint64_t offset = 0) noexcept { return first_ + offset; }
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  std::byte* first_;
  std::uint64_t bytes_;
};

}  // namespace durahash
