#include "media/mapping.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/bits.hpp"
#include "media/addresses.hpp"
#include "media/file_lock.hpp"
#include "media/file_room.hpp"
#include "media/pmem_mapping.hpp"

namespace durahash {
namespace {

constexpr std::uint64_t huge = 2u << 20;  // alignment, so that huge pages can be used

class memory_mapping final : public mapping {
 public:
  static result<std::unique_ptr<mapping>> open(const mapping_request& request) {
    std::unique_ptr<memory_mapping> made(new memory_mapping);
    made->reserved_bytes_ = align_up(request.address_space_bytes, page_bytes);
    made->base_ = reserve_addresses(made->reserved_bytes_,
                                    std::min(made->reserved_bytes_, min_address_space), huge);
    if (made->base_ == nullptr)
      return system_error(status::unusable, "cannot reserve addresses for", "a memory pool");
    made->max_bytes_ = request.max_bytes;
    made->domain_ = persistence_domain::memory_bus;
    return std::unique_ptr<mapping>(std::move(made));
  }
  ~memory_mapping() override {
    if (base_ != nullptr) ::munmap(base_, reserved_bytes_);
  }
  status appear() override { return status::ok; }
  status write_to_disk(std::uint64_t, std::uint64_t) override { return status::ok; }

 protected:
  status extend(std::uint64_t from, std::uint64_t to) override {
    if (::mprotect(base_ + from, to - from, PROT_READ | PROT_WRITE) != 0)
      return refused(status::no_space, errno);
    ::madvise(base_ + from, to - from, MADV_HUGEPAGE);
    return status::ok;
  }
  void release(std::uint64_t from, std::uint64_t to) override {
    ::madvise(base_ + from, to - from, MADV_DONTNEED);
  }
};

class file_mapping final : public mapping {
 public:
  static result<std::unique_ptr<mapping>> open(const mapping_request& request) {
    auto file = locked_file::open(request);
    if (!file) return file.failure();
    std::unique_ptr<file_mapping> made(new file_mapping(std::move(*file)));
    if (!made->set_out(request, made->file_.bytes()))
      return system_error(status::unusable, "cannot reserve addresses for", request.path);
    std::uint64_t bytes = made->backed_bytes();
    if (bytes > 0 && !made->map_range(0, bytes))
      return system_error(status::unusable, "cannot map", request.path);
    made->mapped_bytes_ = bytes;
    return std::unique_ptr<mapping>(std::move(made));
  }
  ~file_mapping() override {
    if (base_ != nullptr) ::munmap(base_, reserved_bytes_);
    if (cut_on_close_) file_.cut(backed_bytes());
  }
  status appear() override {
    status s = file_.appear();
    return s == status::ok ? s : refused(s, errno);
  }
  std::optional<std::uint32_t> file_mark() noexcept override { return file_.mark(); }
  std::optional<std::uint64_t> noted_root() const noexcept override { return file_.noted_root(); }
  bool note_root(std::uint64_t sequence) noexcept override { return file_.note_root(sequence); }
  bool is_shared() const noexcept override { return true; }
  status write_to_disk(std::uint64_t offset, std::uint64_t bytes) override {
    if (bytes == 0) return status::ok;
    std::uint64_t first = align_down(offset, page_bytes);
    return ::msync(base_ + first, offset + bytes - first, MS_SYNC) == 0
               ? status::ok
               : refused(status::io_error, errno);
  }
  void let_pages_go(std::uint64_t offset, std::uint64_t bytes) noexcept override {
    const std::uint64_t from = align_up(offset, page_bytes),
                        to = align_down(offset + bytes, page_bytes);
    if (from < to) ::madvise(base_ + from, to - from, MADV_DONTNEED);
  }

 protected:
  status extend(std::uint64_t from, std::uint64_t to) override {
    if (int failed = provide_blocks(file_.descriptor(), from, to); failed != 0)
      return refused(status::no_space, failed);
    if (to > mapped_bytes_) {
      if (!map_range(mapped_bytes_, to)) return refused(status::no_space, errno);
      mapped_bytes_ = to;
    }
    return status::ok;
  }
  void release(std::uint64_t from, std::uint64_t to) override {
    ::fallocate(file_.descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                static_cast<off_t>(from), static_cast<off_t>(to - from));
    cut_on_close_ = true;
  }

 private:
  explicit file_mapping(locked_file file) : file_(std::move(file)) {}

  bool map_range(std::uint64_t from, std::uint64_t to) {
    int protection = read_only_ ? PROT_READ : PROT_READ | PROT_WRITE;
    void* at = ::mmap(base_ + from, to - from, protection, MAP_SHARED | MAP_FIXED,
                      file_.descriptor(), static_cast<off_t>(from));
    if (at == MAP_FAILED) return false;
    keep_from_children(base_ + from, to - from);
    ::madvise(at, to - from, MADV_HUGEPAGE);  // tmpfs honours it where the administrator allows
    return true;
  }

  locked_file file_;
  std::uint64_t mapped_bytes_ = 0;
  bool cut_on_close_ = false;
};

}  // namespace

result<std::unique_ptr<mapping>> mapping::open(const mapping_request& request) {
  switch (request.medium) {
    case medium_kind::memory: return memory_mapping::open(request);
    case medium_kind::pmem: return open_pmem_mapping(request);
    default: return file_mapping::open(request);
  }
}

bool mapping::set_out(const mapping_request& request, std::uint64_t file_bytes) noexcept {
  max_bytes_ = request.max_bytes;
  read_only_ = request.read_only;
  file_bytes_at_open_ = file_bytes;
  std::uint64_t bytes = align_down(file_bytes, page_bytes);
  reserved_bytes_ = align_up(std::max(request.address_space_bytes, bytes), page_bytes);
  base_ = reserve_addresses(reserved_bytes_, std::min(reserved_bytes_, bytes + min_address_space),
                            huge);
  backed_bytes_ = bytes;
  return base_ != nullptr;
}

std::string mapping::refusal() const {
  int error_number = last_error_;
  return error_number == 0 ? std::string() : std::string(": ") + std::strerror(error_number);
}

status mapping::grow(std::uint64_t bytes) {
  bytes = align_up(bytes, page_bytes);
  if (bytes <= backed_bytes_) return status::ok;
  if (read_only_) return status::read_only;
  if (bytes > reserved_bytes_ || (max_bytes_ != 0 && bytes > max_bytes_)) return status::no_space;
  if (status s = extend(backed_bytes_, bytes); s != status::ok) return s;
  backed_bytes_ = bytes;
  return status::ok;
}

void mapping::shrink(std::uint64_t bytes) {
  bytes = align_up(bytes, page_bytes);
  if (bytes >= backed_bytes_ || read_only_) return;
  release(bytes, backed_bytes_);
  backed_bytes_ = bytes;
}

void mapping::fault_ahead(std::uint64_t offset, std::uint64_t bytes) noexcept {
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
  ::madvise(base_ + align_down(offset, page_bytes), align_up(bytes, page_bytes),
            MADV_POPULATE_WRITE);
}

}  // namespace durahash
