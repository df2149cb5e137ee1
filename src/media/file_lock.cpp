#include "media/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

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
  if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return descriptor;
  return ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

/// The name survives a power cut from here on, where the file system can promise that of a folder at all.
bool name_to_disk(int file, const std::string& path) {
  int folder = ::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return ::syncfs(file) == 0;  // a folder that may be entered and written, not listed
  bool done = ::fsync(folder) == 0 || errno == EINVAL || errno == EROFS;
  ::close(folder);
  return done;
}

}  // namespace

result<locked_file> locked_file::open(const mapping_request& request) {
  bool nameless = false;
  // O_NONBLOCK: a pipe without another end is refused below, not waited for.
  int descriptor = request.create ? create_file(request.path, nameless)
                                  : ::open(request.path.c_str(), (request.read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return system_error(status::unusable, request.create ? "cannot create" : "cannot open", request.path);
  locked_file file(descriptor, request.path);
  file.nameless_ = nameless;

  struct stat facts {};
  if (::fstat(descriptor, &facts) != 0) return system_error(status::unusable, "cannot stat", request.path);
  if (!S_ISREG(facts.st_mode) && !S_ISCHR(facts.st_mode))
    return error{status::unusable, "cannot use " + request.path + ": it is neither a file nor a persistent-memory device"};
  if (::flock(descriptor, (request.read_only ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK)
      return error{status::unusable, "cannot open " + request.path + ": it is locked, another process (or this one) has it open"};
    return system_error(status::unusable, "cannot lock", request.path);
  }
  return file;
}

locked_file::locked_file(locked_file&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)), nameless_(other.nameless_) {}

status locked_file::appear() {
  if (nameless_) {
    std::string self = "/proc/self/fd/" + std::to_string(descriptor_);
    if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, path_.c_str(), AT_SYMLINK_FOLLOW) != 0)
      return errno == EEXIST ? status::exists : status::io_error;
    nameless_ = false;
  }
  return name_to_disk(descriptor_, path_) ? status::ok : status::io_error;
}

locked_file::~locked_file() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::uint64_t locked_file::bytes() const {
  struct stat facts {};
  return ::fstat(descriptor_, &facts) == 0 ? static_cast<std::uint64_t>(facts.st_size) : 0;
}

}  // namespace durahash
