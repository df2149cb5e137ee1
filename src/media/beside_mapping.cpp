#include "media/beside_mapping.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <thread>

#include "base/bits.hpp"
#include "media/file_lock.hpp"

namespace durahash {
namespace {

constexpr std::uint64_t usual_addresses = std::uint64_t{64} << 30, min_addresses = 256 << 20;

/// A share of the file's length. Who cuts the file has it for an instant.
int share_length(int descriptor) noexcept {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (true) {  // ends: with patience
    const int failed = lock_part(descriptor, file_part::length, true);
    if ((failed != EAGAIN && failed != EACCES) || std::chrono::steady_clock::now() > until)
      return failed;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

result<std::unique_ptr<beside_mapping>> beside_mapping::open(const std::string& path) {
  std::unique_ptr<beside_mapping> made(new beside_mapping);
  if (error e = made->open_file(path); e.code != status::ok) return e;
  if (!made->map_more()) return system_error(status::unusable, "cannot map", path);
  return made;
}

error beside_mapping::open_file(const std::string& path) {
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) return system_error(status::unusable, "cannot open", path);
  struct stat facts {};
  if (::fstat(descriptor_, &facts) != 0) return system_error(status::unusable, "cannot stat", path);
  if (!S_ISREG(facts.st_mode))
    return error{status::unusable, "cannot read " + path + " beside its writer: it is no file"};
  if (int failed = share_length(descriptor_); failed != 0)
    return errno = failed, system_error(status::unusable, "cannot lock a part of", path);
  if (::fstat(descriptor_, &facts) != 0) return system_error(status::unusable, "cannot stat", path);
  const auto bytes = static_cast<std::uint64_t>(facts.st_size);
  reserved_ = align_up(std::max(usual_addresses, 8 * bytes), page_bytes);
  const std::uint64_t least = align_up(bytes, page_bytes) + min_addresses;
  void* at = MAP_FAILED;
  while (true) {  // ends: it halves
    at = ::mmap(nullptr, reserved_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at != MAP_FAILED || reserved_ <= least) break;
    reserved_ = std::max(align_down(reserved_ / 2, page_bytes), least);
  }
  if (at == MAP_FAILED) return system_error(status::unusable, "cannot reserve addresses for", path);
  base_ = static_cast<std::byte*>(at);
  return {status::ok, {}};
}

beside_mapping::~beside_mapping() {
  if (reserved_ != 0 && base_ != nullptr) ::munmap(base_, reserved_);
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool beside_mapping::writer_is_there() const noexcept {
  return part_is_locked(descriptor_, file_part::writer);
}

bool beside_mapping::holds_now(std::uint64_t offset, std::uint64_t bytes) noexcept {
  if (offset > reserved_ || bytes > reserved_ || !map_more()) return false;
  const std::uint64_t have = this->bytes();
  return bytes <= have && offset <= have - bytes;
}

std::uint64_t beside_mapping::bytes_now() const noexcept {
  struct stat facts {};
  if (::fstat(descriptor_, &facts) != 0) return 0;
  return std::min(align_down(static_cast<std::uint64_t>(facts.st_size), page_bytes), reserved_);
}

/// Several threads may do so at once: they put the same pages in the same place.
bool beside_mapping::map_more() noexcept {
  const std::uint64_t now = bytes_now();
  std::uint64_t before = bytes();
  if (now <= before) return true;
  if (::mmap(base_ + before, now - before, PROT_READ, MAP_SHARED | MAP_FIXED, descriptor_,
             static_cast<off_t>(before)) == MAP_FAILED)
    return false;
  while (before < now && !mapped_.compare_exchange_weak(before, now)) {}  // ends: it only grows
  return true;
}

shown_memory::shown_memory(std::uint64_t process, int descriptor) noexcept {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%llu/fd/%d", static_cast<unsigned long long>(process),
                descriptor);
  const int file = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return;
  struct stat facts {};
  if (::fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0) {
    const auto bytes = static_cast<std::size_t>(facts.st_size);
    void* at = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, 0);
    if (at != MAP_FAILED) at_ = static_cast<const std::byte*>(at), bytes_ = bytes;
  }
  ::close(file);
}

shown_memory::~shown_memory() {
  if (at_ != nullptr) ::munmap(const_cast<std::byte*>(at_), bytes_);
}

}  // namespace durahash
