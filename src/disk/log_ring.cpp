#include "disk/log_ring.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

#include "base/hash.hpp"
#include "disk/disk_file.hpp"
#include "media/addresses.hpp"
#include "media/file_lock.hpp"

namespace durahash {
namespace {

constexpr std::array<char, 8> ring_magic{'D', 'U', 'R', 'A', 'R', 'I', 'N', 'G'};

struct descriptor {
  int number;
  ~descriptor() {
    if (number >= 0) ::close(number);
  }
};

void* map_shared(int file, std::uint64_t bytes) noexcept {
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (at == MAP_FAILED) return nullptr;
  keep_from_children(static_cast<std::byte*>(at), bytes);
  return at;
}

}  // namespace

log_ring::log_ring(void* memory, std::uint64_t slots, std::string path) noexcept
    : control_(static_cast<control*>(memory)),
      entries_(reinterpret_cast<log_entry*>(static_cast<std::byte*>(memory) + page_bytes)),
      mask_(slots - 1),
      shift_(static_cast<unsigned>(std::countr_zero(slots))),
      path_(std::move(path)) {}

log_ring::log_ring(log_ring&& other) noexcept
    : control_(std::exchange(other.control_, nullptr)),
      entries_(other.entries_),
      mask_(other.mask_),
      shift_(other.shift_),
      path_(std::move(other.path_)),
      removed_at_end_(other.removed_at_end_) {}

log_ring::~log_ring() {
  if (control_ == nullptr) return;
  ::munmap(control_, bytes_for(slots()));
  if (removed_at_end_ && !path_.empty()) ::unlink(path_.c_str());
}

log_ring log_ring::in_memory(std::uint64_t slots, std::uint64_t first) {
  void* at = ::mmap(nullptr, bytes_for(slots), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  keep_from_children(static_cast<std::byte*>(at), bytes_for(slots));
  log_ring made(at, slots, {});
  made.head() = made.durable() = first;
  return made;
}

/// Another name first: a process that is killed here leaves the old ring, or the new one.
result<log_ring> log_ring::on_tmpfs(const std::string& path, int like, std::uint64_t slots,
                                    const id& log_id, std::uint64_t key, std::uint64_t first) {
  auto refused = [&](const std::string& why) {
    return error{status::unusable,
                 "what the disk does not have yet cannot be kept in " + path + ": " + why};
  };
  auto refused_by_system = [&] { return refused(std::string(::strerror(errno))); };
  std::string draft = path + ".new";
  ::unlink(draft.c_str());
  descriptor file{::open(draft.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (file.number < 0) return refused_by_system();
  share_like(file.number, like);
  struct statfs facts {};
  bool known = ::fstatfs(file.number, &facts) == 0;
  if (!known || facts.f_type != TMPFS_MAGIC) {
    error e = known ? refused("it is not on tmpfs") : refused_by_system();
    ::unlink(draft.c_str());
    return e;
  }
  void* at = nullptr;
  // real memory, now: a store into a tmpfs that is full is SIGBUS
  if (int failed = ::posix_fallocate(file.number, 0, static_cast<off_t>(bytes_for(slots)));
      failed != 0)
    errno = failed;
  else at = map_shared(file.number, bytes_for(slots));
  if (at == nullptr) {
    error e = refused_by_system();
    ::unlink(draft.c_str());
    return e;
  }
  log_ring made(at, slots, path);
  control& c = *made.control_;
  c.magic = ring_magic;
  c.log_id = log_id;
  c.key = key;
  c.slots = slots;
  c.checksum = checksum(&c, offsetof(control, checksum));
  made.head() = made.durable() = first;
  if (::rename(draft.c_str(), path.c_str()) != 0) {
    error e = refused_by_system();
    ::unlink(draft.c_str());
    return e;
  }
  return made;
}

result<std::optional<log_ring>> log_ring::left_behind(const std::string& path, const id& log_id,
                                                      std::uint64_t key) {
  std::optional<log_ring> none;
  auto unknown = [&] {
    return error{status::unusable, "what its disk may not have yet, in " + path +
                                       ", cannot be read (" + std::strerror(errno) + ")"};
  };
  descriptor file{::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW)};
  if (file.number < 0 && errno == ENOENT) return none;
  struct stat facts {};
  if (file.number < 0 || ::fstat(file.number, &facts) != 0) return unknown();
  if (facts.st_size < static_cast<off_t>(page_bytes)) return none;
  auto bytes = static_cast<std::uint64_t>(facts.st_size);
  std::uint64_t slots = (bytes - page_bytes) / sizeof(log_entry);
  if (!std::has_single_bit(slots) || bytes_for(slots) != bytes) return none;
  void* at = map_shared(file.number, bytes);
  if (at == nullptr) return unknown();
  log_ring found(at, slots, path);
  const control& c = *found.control_;
  if (c.magic != ring_magic || c.checksum != checksum(&c, offsetof(control, checksum)) ||
      c.log_id != log_id || c.key != key || c.slots != slots)
    return none;
  return std::optional<log_ring>(std::move(found));
}

}  // namespace durahash
