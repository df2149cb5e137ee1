#include "disk/disk_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "base/bits.hpp"
#include "media/file_room.hpp"

namespace durahash {
namespace {

/// With O_DIRECT where the file system knows it.
int open_directly(const std::string& path, int flags) {
  int descriptor = ::open(path.c_str(), flags | O_CLOEXEC | O_DIRECT, 0600);
  return descriptor < 0 && errno == EINVAL ? ::open(path.c_str(), flags | O_CLOEXEC, 0600)
                                           : descriptor;
}

}  // namespace

disk_file disk_file::open(const std::string& path, access how) {
  if (how == access::through_cache) {
    const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    disk_file made(::open(path.c_str(), flags));
    if (made.is_open()) ::posix_fadvise(made.descriptor_, 0, 0, POSIX_FADV_RANDOM);
    return made;
  }
  return disk_file(
      open_directly(path, (how == access::read_only ? O_RDONLY : O_RDWR) | O_NOFOLLOW));
}

disk_file disk_file::create(const std::string& path) {
  return disk_file(open_directly(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW));
}

disk_file disk_file::of(int descriptor) {
  return disk_file(open_directly("/proc/self/fd/" + std::to_string(descriptor), O_RDWR));
}

disk_file disk_file::sharing(int descriptor) {
  return disk_file(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
}

disk_file::disk_file(disk_file&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

disk_file& disk_file::operator=(disk_file&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

disk_file::~disk_file() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void share_like(int descriptor, int like) noexcept {
  struct stat wanted {};
  struct stat has {};
  if (::fstat(like, &wanted) != 0 || ::fstat(descriptor, &has) != 0) return;
  constexpr mode_t permissions = 0777;
  bool owned = wanted.st_uid == has.st_uid && wanted.st_gid == has.st_gid;
  if (!owned && ::fchown(descriptor, wanted.st_uid, wanted.st_gid) != 0 &&
      ::fchown(descriptor, static_cast<uid_t>(-1), wanted.st_gid) != 0) {
    // It stays this user's: others are refused, with the path of the file.
  }
  if (((wanted.st_mode ^ has.st_mode) & permissions) != 0 &&
      ::fchmod(descriptor, wanted.st_mode & permissions) != 0) {
    // Likewise.
  }
}

void disk_file::share_like(int descriptor) noexcept {
  durahash::share_like(descriptor_, descriptor);
}

bool disk_file::facts(struct stat& to) const noexcept { return ::fstat(descriptor_, &to) == 0; }

std::uint64_t disk_file::bytes() const noexcept {
  struct stat found {};
  return facts(found) ? static_cast<std::uint64_t>(found.st_size) : 0;
}

const char* disk_file::path(char (&room)[256]) const noexcept {
  char link[32];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor_);
  const ssize_t bytes = ::readlink(link, room, sizeof room - 1);
  if (bytes <= 0) return "?";
  room[bytes] = '\0';
  return room;
}

/// Some file systems take O_DIRECT at open, and refuse the transfer.
void disk_file::use_page_cache() const noexcept {
  ::fcntl(descriptor_, F_SETFL, ::fcntl(descriptor_, F_GETFL) & ~O_DIRECT);
}

bool disk_file::read(std::uint64_t offset, void* at, std::uint64_t bytes) const noexcept {
  auto* to = static_cast<std::byte*>(at);
  bool directly = true;
  while (bytes != 0) {
    ssize_t got = ::pread(descriptor_, to, bytes, static_cast<off_t>(offset));
    if (got > 0) {
      to += got, offset += static_cast<std::uint64_t>(got),
          bytes -= static_cast<std::uint64_t>(got);
    } else if (got == 0) {  // behind the file's end
      std::memset(to, 0, bytes);
      return true;
    } else if (errno == EINVAL && directly) {
      directly = false;
      use_page_cache();
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

bool disk_file::write_with(int flags, std::uint64_t offset, const void* at,
                           std::uint64_t bytes) noexcept {
  auto* from = static_cast<const std::byte*>(at);
  bool directly = true;
  while (bytes != 0) {
    iovec piece{const_cast<std::byte*>(from), bytes};
    ssize_t put = ::pwritev2(descriptor_, &piece, 1, static_cast<off_t>(offset), flags);
    if (put > 0) {
      from += put, offset += static_cast<std::uint64_t>(put),
          bytes -= static_cast<std::uint64_t>(put);
    } else if (put == 0) {
      return errno = EIO, false;
    } else if (errno == EINVAL && directly) {
      directly = false;
      use_page_cache();
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

bool disk_file::write(std::uint64_t offset, const void* at, std::uint64_t bytes) noexcept {
  return write_with(0, offset, at, bytes);
}

bool disk_file::write_through(std::uint64_t offset, const void* at, std::uint64_t bytes) noexcept {
  if (write_with(RWF_DSYNC, offset, at, bytes)) return true;
  return errno == EOPNOTSUPP && write(offset, at, bytes) && sync();
}

bool disk_file::sync() noexcept { return ::fdatasync(descriptor_) == 0; }

bool disk_file::fill_with_zeros(std::uint64_t from, std::uint64_t to) noexcept try {
  if (!may_be_as_long_as(to)) return false;
  page_buffer zeros(std::min<std::uint64_t>(to - from, 1 << 20));
  std::memset(zeros.at(), 0, zeros.bytes());
  for (std::uint64_t at = from; at < to; at += zeros.bytes())
    if (!write(at, zeros.at(), std::min(zeros.bytes(), to - at))) return false;
  return ::fsync(descriptor_) == 0;
} catch (const std::bad_alloc&) {
  return errno = ENOMEM, false;
}

void disk_file::cut(std::uint64_t bytes) noexcept {
  if (::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) {
    // It stays longer than needed.
  }
}

page_buffer::page_buffer(std::uint64_t bytes)
    : first_(static_cast<std::byte*>(std::aligned_alloc(page_bytes, bytes))), bytes_(bytes) {
  if (first_ == nullptr) throw std::bad_alloc();
}

page_buffer::~page_buffer() { std::free(first_); }

}  // namespace durahash
