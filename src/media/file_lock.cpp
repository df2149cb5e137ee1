#include "media/file_lock.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <new>
#include <utility>

#include "base/bits.hpp"
#include "base/hash.hpp"
#include "media/lock_holder.hpp"

namespace durahash {

error system_error(status code, const std::string& what, const std::string& path) {
  return {code, what + " " + path + ": " + std::strerror(errno)};
}

namespace {

std::string folder_of(const std::string& path) {
  auto folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

/// A descriptor of a new file, without a name where the file system can do that.
int create_file(const std::string& path, bool& nameless) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) == 0) {
    errno = EEXIST;
    return -1;
  }
  int descriptor = ::open(folder_of(path).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  nameless = descriptor >= 0;
  if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
    return descriptor;
  return ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

/// Never one of the standard descriptors: what a program with a closed standard output or error
/// prints would go into the pool.
int behind_standard(int descriptor) {
  if (descriptor < 0 || descriptor > STDERR_FILENO) return descriptor;
  int moved = ::fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  int failed = errno;
  ::close(descriptor);
  errno = failed;
  return moved;
}

/// The same file by a descriptor, and a lock, of its own.
int reopened(int descriptor, int access) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
  int another = behind_standard(::open(path, access));
  int failed = errno;
  ::close(descriptor);
  errno = failed;
  return another;
}

std::string kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISBLK(mode)) return "a block device";
  if (S_ISCHR(mode)) return "a character device";
  return "of an unknown kind";
}

bool leads_to(const std::string& path, const struct stat& file) noexcept {
  struct stat named {};
  return ::stat(path.c_str(), &named) == 0 && named.st_ino == file.st_ino &&
         named.st_dev == file.st_dev;
}

bool folder_to_disk(int file, const std::string& in) {
  int folder = ::open(in.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // a folder that may be entered and written, not listed
  if (folder < 0) return ::syncfs(file) == 0;
  bool done = ::fsync(folder) == 0 || errno == EINVAL || errno == EROFS;
  int why = errno;
  ::close(folder);
  return errno = why, done;
}

template <std::size_t N>
std::uint32_t mark_from(const std::uint64_t (&facts)[N]) noexcept {
  return static_cast<std::uint32_t>(checksum(facts, sizeof facts) >> 32) | 1;
}

struct flock range_of(file_part part, short kind) noexcept {
  struct flock range {};
  range.l_type = kind;
  range.l_whence = SEEK_SET;
  range.l_start = (off_t{1} << 62) + static_cast<off_t>(part);
  range.l_len = 1;
  return range;
}

}  // namespace

/// Where a file system knows no time of birth, the inode: its number, and the generation of that,
/// since the number is given to another file when this one is gone.
std::optional<std::uint32_t> file_mark_of(int descriptor) noexcept {
  struct statx facts {};
  if (::statx(descriptor, "", AT_EMPTY_PATH, STATX_TYPE | STATX_INO | STATX_BTIME, &facts) != 0)
    return 0;
  if (!S_ISREG(facts.stx_mode)) return std::nullopt;
  auto seconds = static_cast<std::uint64_t>(facts.stx_btime.tv_sec);
  if ((facts.stx_mask & STATX_BTIME) != 0 && seconds != 0)
    return mark_from({seconds, facts.stx_btime.tv_nsec});
  if ((facts.stx_mask & STATX_INO) == 0) return 0;
  long generation = 0;  // some tell none
  ::ioctl(descriptor, FS_IOC_GETVERSION, &generation);
  return mark_from({facts.stx_ino, static_cast<std::uint64_t>(generation)});
}

int lock_part(int descriptor, file_part part, bool shared) noexcept {
  struct flock range = range_of(part, shared ? F_RDLCK : F_WRLCK);
  return ::fcntl(descriptor, F_OFD_SETLK, &range) == 0 ? 0 : errno;
}

void unlock_part(int descriptor, file_part part) noexcept {
  struct flock range = range_of(part, F_UNLCK);
  ::fcntl(descriptor, F_OFD_SETLK, &range);
}

bool part_is_locked(int descriptor, file_part part) noexcept {
  struct flock range = range_of(part, F_RDLCK);
  return ::fcntl(descriptor, F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}

bool name_to_disk(int file, const std::string& path) noexcept try {
  return folder_to_disk(file, folder_of(path));
} catch (const std::bad_alloc&) {
  return errno = ENOMEM, false;
}

/// All of the process, so that a child can close them.
struct open_files {
  std::mutex lock;
  locked_file* first = nullptr;
  std::uint64_t children = 0;  // made so far

  static open_files& of_process() noexcept {
    alignas(open_files) static unsigned char memory[sizeof(open_files)];
    static open_files& made = []() -> open_files& {
      auto* all = new (memory) open_files;
      pthread_atfork(
          [] {
            of_process().lock.lock();
            ++of_process().children;
          },
          [] { of_process().lock.unlock(); },
          [] {
            for (locked_file* f = of_process().first; f != nullptr; f = f->next_)
              ::close(f->descriptor_);
            new (memory) open_files;
          });
      return *all;
    }();
    return made;
  }
  std::uint64_t children_now() noexcept {
    std::scoped_lock looking(lock);
    return children;
  }
  // the others under `lock`
  void add(locked_file& f) noexcept {
    f.next_ = first, f.previous_ = nullptr;
    if (first != nullptr) first->previous_ = &f;
    first = &f;
  }
  void remove(locked_file& f) noexcept {
    (f.previous_ == nullptr ? first : f.previous_->next_) = f.next_;
    if (f.next_ != nullptr) f.next_->previous_ = f.previous_;
  }
  /// Lets the file have a descriptor. Returns false if a child has been made since there were so
  /// many: it has the descriptor, too, and does not know.
  bool give(locked_file& f, int descriptor, std::uint64_t children_then) noexcept {
    std::scoped_lock no_child(lock);
    if (children != children_then) return false;
    f.descriptor_ = descriptor;
    add(f);
    return true;
  }
};

locked_file::locked_file(int descriptor, std::string path)
    : descriptor_(descriptor), path_(std::move(path)) {}

std::optional<std::uint32_t> locked_file::mark() noexcept {
  if (mark_ == 0) mark_ = file_mark_of(descriptor_);
  return mark_;
}

namespace {
constexpr const char* root_attribute = "user.durahash.root";
}

std::optional<std::uint64_t> noted_root_of(int descriptor) noexcept {
  std::uint64_t sequence = 0;
  ssize_t bytes = ::fgetxattr(descriptor, root_attribute, &sequence, sizeof sequence);
  if (bytes == sizeof sequence) return sequence;
  bool none = bytes < 0 && (errno == ENODATA || errno == EOPNOTSUPP || errno == EPERM ||
                            errno == EACCES || errno == ENOSYS);
  return none ? std::nullopt : std::optional(unreadable_note);
}

std::optional<std::uint64_t> locked_file::noted_root() const noexcept {
  return noted_root_of(descriptor_);
}

bool locked_file::note_root(std::uint64_t sequence) noexcept {
  return ::fsetxattr(descriptor_, root_attribute, &sequence, sizeof sequence, 0) == 0;
}

result<locked_file> locked_file::open(const mapping_request& request) {
  constexpr int none = -1;
  locked_file file(none, request.path);
  open_files& all = open_files::of_process();
  std::uint64_t children = all.children_now();
  // O_NONBLOCK: a pipe without another end is refused below, not waited for.
  const int access = (request.read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NONBLOCK;
  int descriptor = behind_standard(request.create ? create_file(request.path, file.nameless_)
                                                  : ::open(request.path.c_str(), access));
  // ends: children are made now and then
  while (descriptor >= 0 && !all.give(file, descriptor, children)) {
    children = all.children_now();
    descriptor = reopened(descriptor, access);
  }
  if (descriptor < 0)
    return system_error(status::unusable, request.create ? "cannot create" : "cannot open",
                        request.path);
  if (file.nameless_ && ::access("/proc/self/fd", X_OK) != 0)
    return error{status::unusable, "cannot create " + request.path +
                                       ": it gets its name through /proc, and none is here"};
  file.mark_ = file_mark_of(descriptor);

  struct stat facts {};
  if (::fstat(descriptor, &facts) != 0)
    return system_error(status::unusable, "cannot stat", request.path);
  file.bytes_ = static_cast<std::uint64_t>(facts.st_size);
  const bool usable =
      S_ISREG(facts.st_mode) || (S_ISCHR(facts.st_mode) && request.medium == medium_kind::pmem);
  if (!usable)
    return error{status::unusable, "cannot use " + request.path + ": it is " +
                                       kind_of(facts.st_mode) +
                                       ", and neither a file nor a persistent-memory device"};
  int failed = lock_file(descriptor, request.read_only ? LOCK_SH : LOCK_EX);
  if (failed == EWOULDBLOCK)
    return error{status::locked, "cannot open " + request.path +
                                     ": it is locked, another process (or this one) has it open"};
  if (failed != 0)
    return errno = failed, system_error(status::unusable, "cannot lock", request.path);
  // who removes a pool has its lock, until the file has no name; one in memory never had any
  if (::fstat(descriptor, &facts) != 0)
    return system_error(status::unusable, "cannot stat", request.path);
  if (!file.nameless_ && facts.st_nlink == 0 && !leads_to(request.path, facts))
    return error{status::unusable,
                 "cannot open " + request.path + ": it was removed while it was being opened"};
  // the lock above keeps other writers out; where the file system has no such parts, readers beside
  // this one are refused
  if (!request.read_only) lock_part(descriptor, file_part::writer, false);
  return file;
}

void locked_file::cut(std::uint64_t bytes) noexcept {
  const int failed = lock_part(descriptor_, file_part::length, false);
  if (failed == EAGAIN || failed == EACCES) return;
  if (::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) {
    // The file stays longer than needed, and is valid so.
  }
  unlock_part(descriptor_, file_part::length);
}

locked_file::locked_file(locked_file&& other) noexcept
    : descriptor_(other.descriptor_),
      path_(std::move(other.path_)),
      bytes_(other.bytes_),
      mark_(other.mark_),
      nameless_(other.nameless_) {
  if (descriptor_ < 0) return;
  open_files& all = open_files::of_process();
  std::scoped_lock no_child(all.lock);
  all.remove(other);
  other.descriptor_ = -1;
  all.add(*this);
}

/// A file whose name may be lost has none.
status locked_file::appear() {
  std::string folder = folder_of(path_);
  bool named_here = nameless_;
  if (nameless_) {
    std::string self = "/proc/self/fd/" + std::to_string(descriptor_);
    if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, path_.c_str(), AT_SYMLINK_FOLLOW) != 0)
      return errno == EEXIST ? status::exists : status::io_error;
    nameless_ = false;
  }
  if (folder_to_disk(descriptor_, folder)) return status::ok;
  int why = errno;
  if (named_here) ::unlink(path_.c_str());
  return errno = why, status::io_error;
}

locked_file::~locked_file() {
  if (descriptor_ < 0) return;
  {
    open_files& all = open_files::of_process();
    std::scoped_lock no_child(all.lock);
    all.remove(*this);
  }
  // a mapping that could not be undone would keep them
  unlock_part(descriptor_, file_part::writer);
  ::flock(descriptor_, LOCK_UN);
  ::close(descriptor_);
}

}  // namespace durahash
