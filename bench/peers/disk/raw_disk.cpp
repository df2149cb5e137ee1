#include "bench/peers/disk/raw_disk.hpp"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "bench/peers/disk/store.hpp"

namespace durahash::peers {
namespace {

constexpr std::uint64_t file_bytes = 256 << 20, buffer_bytes = 1 << 20;

}  // namespace

raw_disk::raw_disk(const std::string& folder, raw_kind kind, std::uint64_t bytes)
    : path_(folder + "/raw"), kind_(kind), bytes_(bytes) {
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_DIRECT, 0600);
  if (file_ < 0) fail("cannot open " + path_ + " with O_DIRECT: " + std::strerror(errno));
  buffer_ = std::aligned_alloc(4096, buffer_bytes);
  if (buffer_ == nullptr || bytes > buffer_bytes) fail("no memory for a buffer");
  bench::random_source random(1);
  for (std::uint64_t i = 0; i < buffer_bytes / 8; ++i)
    static_cast<std::uint64_t*>(buffer_)[i] = random.word();
  for (std::uint64_t at = 0; at < file_bytes; at += buffer_bytes)
    if (::pwrite(file_, buffer_, buffer_bytes, static_cast<off_t>(at)) < 0)
      fail("cannot write to " + path_);
  ::fsync(file_);
  if (kind == raw_kind::fdatasync) ::fcntl(file_, F_SETFL, O_RDWR);
}

raw_disk::~raw_disk() {
  ::close(file_);
  ::unlink(path_.c_str());
  std::free(buffer_);
}

void raw_disk::write() {
  std::uint64_t at = next_++ * bytes_;
  if (kind_ == raw_kind::random) at = bench::mix(next_) / bytes_ * bytes_;
  iovec piece{buffer_, bytes_};
  int flags = kind_ == raw_kind::dsync ? RWF_DSYNC : 0;
  if (::pwritev2(file_, &piece, 1, static_cast<off_t>(at % file_bytes), flags) < 0 ||
      (kind_ == raw_kind::fdatasync && ::fdatasync(file_) != 0))
    fail(std::string("the disk refuses: ") + std::strerror(errno));
}

void raw_disk::finish() { ::fdatasync(file_); }

}  // namespace durahash::peers
