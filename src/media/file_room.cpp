#include "media/file_room.hpp"

#include <fcntl.h>
#include <sys/resource.h>

#include <cerrno>

namespace durahash {

bool may_be_as_long_as(std::uint64_t bytes) noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return true;
  if (bytes <= limit.rlim_cur) return true;
  return errno = EFBIG, false;
}

bool is_lack_of_room(int error_number) noexcept {
  return error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG;
}

int provide_blocks(int descriptor, std::uint64_t from, std::uint64_t to) noexcept {
  if (!may_be_as_long_as(to)) return errno;
  int failed = EINTR;
  while (failed == EINTR)  // ends: a signal storm is not forever
    failed = ::posix_fallocate(descriptor, static_cast<off_t>(from), static_cast<off_t>(to - from));
  return failed;
}

}  // namespace durahash
