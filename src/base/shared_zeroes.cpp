#include "base/shared_zeroes.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace durahash {

shared_zeroes shared_zeroes::of(std::size_t bytes) noexcept {
  const int descriptor = ::memfd_create("durahash-versions", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) return {};
  rlimit limit{}, length{};
  // beyond the limit of files ftruncate is a signal
  const bool is_long = ::getrlimit(RLIMIT_FSIZE, &length) != 0 || bytes > length.rlim_cur;
  const bool many = ::getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
                    static_cast<rlim_t>(descriptor) >= limit.rlim_cur / 4 * 3;
  void* at = MAP_FAILED;
  if (!many && !is_long && ::ftruncate(descriptor, static_cast<off_t>(bytes)) == 0 &&
      ::fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0)
    at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (at == MAP_FAILED) return ::close(descriptor), shared_zeroes{};
  ::madvise(at, bytes, MADV_DONTFORK);
  return {at, descriptor};
}

}  // namespace durahash
