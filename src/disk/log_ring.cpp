#include "disk/log_ring.hpp"

#include <fcntl.h>
#include <glob.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

#include "base/hash.hpp"
#include "disk/disk_file.hpp"
#include "disk/planted.hpp"
#include "media/addresses.hpp"
#include "media/file_room.hpp"

namespace durahash {
namespace {

constexpr std::array<char, 8> ring_magic{'D', 'U', 'R', 'A', 'R', 'I', 'N', '2'};

struct descriptor {
  int number;
  ~descriptor() {
    if (number >= 0) ::close(number);
  }
};

void* map_shared(int file, std::uint64_t bytes, int access = PROT_READ | PROT_WRITE) noexcept {
  void* at = ::mmap(nullptr, bytes, access, MAP_SHARED, file, 0);
  if (at == MAP_FAILED) return nullptr;
  keep_from_children(static_cast<std::byte*>(at), bytes);
  return at;
}

/// Real memory: a store into a tmpfs that is full is SIGBUS. Returns false and sets errno.
bool provide_bytes(int file, std::uint64_t bytes) noexcept {
  int failed = provide_blocks(file, 0, bytes);
  if (failed != 0) errno = failed;
  return failed == 0;
}

/// Whether only somebody who may write to the pool can have made the file, or written to it.
bool is_trusted(const struct stat& ring, const struct stat& pool) noexcept {
  if (!S_ISREG(ring.st_mode)) return false;
  constexpr mode_t by_others = S_IWGRP | S_IWOTH;
  if ((ring.st_mode & by_others & ~pool.st_mode) != 0) return false;
  if ((ring.st_mode & S_IWGRP) != 0 && ring.st_gid != pool.st_gid) return false;
  bool by_owner = ring.st_uid == pool.st_uid || ring.st_uid == 0 || ring.st_uid == ::geteuid();
  bool by_group = (pool.st_mode & S_IWGRP) != 0 && ring.st_gid == pool.st_gid;
  return by_owner || by_group || (pool.st_mode & S_IWOTH) != 0;
}

/// The paths of a pool's rings, with what tells them from each other.
std::string pattern_of(const struct stat& pool, const std::string& which) {
  char begins[96];
  std::snprintf(begins, sizeof begins, "/dev/shm/durahash-%u-%llx-%llx-",
                static_cast<unsigned>(pool.st_uid), static_cast<unsigned long long>(pool.st_dev),
                static_cast<unsigned long long>(pool.st_ino));
  return begins + which + ".ring";
}

}  // namespace

log_ring::log_ring(void* memory, std::uint64_t mapped_bytes, std::string path, int file) noexcept
    : control_(static_cast<control*>(memory)),
      entries_(reinterpret_cast<log_entry*>(static_cast<std::byte*>(memory) + page_bytes)),
      mapped_bytes_(mapped_bytes),
      path_(std::move(path)),
      file_(file) {}

log_ring::log_ring(log_ring&& other) noexcept
    : control_(std::exchange(other.control_, nullptr)),
      entries_(other.entries_),
      mapped_bytes_(other.mapped_bytes_),
      path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      named_(other.named_),
      removed_at_end_(other.removed_at_end_) {}

log_ring::~log_ring() {
  if (control_ == nullptr) return;
  ::munmap(control_, mapped_bytes_);
  if (removed_at_end_ && named_) ::unlink(path_.c_str());
  if (file_ >= 0) ::close(file_);
}

void log_ring::begin(std::uint64_t slots, std::uint64_t first) noexcept {
  view all{static_cast<std::uint64_t>(std::countr_zero(slots)), 0, 0};
  control_->orders[0] = {first, all, all};
  head() = durable() = first;
}

log_ring log_ring::in_memory(std::uint64_t slots, std::uint64_t first) {
  void* at = ::mmap(nullptr, bytes_for(max_slots), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  keep_from_children(static_cast<std::byte*>(at), bytes_for(max_slots));
  log_ring made(at, bytes_for(max_slots), {}, -1);
  made.begin(slots, first);
  return made;
}

result<log_ring> log_ring::on_tmpfs(const std::string& path, int like, std::uint64_t slots,
                                    const id& log_id, std::uint64_t key, std::uint64_t first) {
  auto refused = [&](const std::string& why) {
    return error{status::unusable,
                 "what the disk does not have yet cannot be kept in " + path + ": " + why};
  };
  auto refused_by_system = [&] { return refused(std::string(::strerror(errno))); };
  const std::string folder = path.substr(0, path.rfind('/'));
  descriptor file{::open(folder.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600)};
  if (file.number < 0) return refused_by_system();
  struct statfs facts {};
  if (::fstatfs(file.number, &facts) != 0) return refused_by_system();
  if (facts.f_type != TMPFS_MAGIC) return refused("it is not on tmpfs");
  share_like(file.number, like);
  if (!provide_bytes(file.number, bytes_for(slots))) return refused_by_system();
  // what is behind the file's end becomes memory when the ring grows
  void* at = map_shared(file.number, bytes_for(max_slots));
  if (at == nullptr) return refused_by_system();
  log_ring made(at, bytes_for(max_slots), path, std::exchange(file.number, -1));
  control& c = *made.control_;
  c.magic = ring_magic;
  c.log_id = log_id;
  c.key = key;
  c.checksum = checksum(&c, offsetof(control, checksum));
  made.begin(slots, first);
  return made;
}

error log_ring::appear() {
  if (file_ < 0) return {status::ok, {}};
  std::string nameless = "/proc/self/fd/" + std::to_string(file_);
  if (::linkat(AT_FDCWD, nameless.c_str(), AT_FDCWD, path_.c_str(), AT_SYMLINK_FOLLOW) != 0)
    return {status::unusable, "what the disk does not have yet cannot be kept in " + path_ + ": " +
                                  (errno == ENOENT && ::access("/proc/self/fd", X_OK) != 0
                                       ? "it gets its name through /proc, and none is here"
                                       : std::strerror(errno))};
  named_ = true;
  return {status::ok, {}};
}

result<std::optional<log_ring>> log_ring::left_behind(const std::string& path,
                                                      const struct stat& pool, const id& log_id,
                                                      std::uint64_t key) {
  return find(path, pool, log_id, key, use::alone);
}

result<std::optional<log_ring>> log_ring::of_a_writer(const std::string& path,
                                                      const struct stat& pool, const id& log_id,
                                                      std::uint64_t key) {
  return find(path, pool, log_id, key, use::beside);
}

std::string log_ring::path_of(const struct stat& pool, const id& log_id, std::uint64_t key) {
  char which[24];
  std::snprintf(which, sizeof which, "%016llx",
                static_cast<unsigned long long>(checksum(log_id.data(), log_id.size(), key)));
  return pattern_of(pool, which);
}

void log_ring::remove_all(const struct stat& pool) noexcept try {
  glob_t found{};
  if (::glob(pattern_of(pool, "*").c_str(), GLOB_NOSORT, nullptr, &found) == 0)
    for (std::size_t i = 0; i < found.gl_pathc; ++i) {
      struct stat facts {};
      if (::lstat(found.gl_pathv[i], &facts) == 0 && is_trusted(facts, pool))
        ::unlink(found.gl_pathv[i]);
    }
  ::globfree(&found);
} catch (const std::bad_alloc&) {}  // they are as those of a pool that somebody has deleted

result<std::optional<log_ring>> log_ring::find(const std::string& path, const struct stat& pool,
                                               const id& log_id, std::uint64_t key, use how) {
  std::optional<log_ring> none;
  auto unknown = [&] {
    return error{status::unusable, "what its disk may not have yet, in " + path +
                                       ", cannot be read (" + std::strerror(errno) + ")"};
  };
  struct stat facts {};
  // before it is opened: what is no file may answer an open, or wait
  if (::lstat(path.c_str(), &facts) != 0) {
    if (errno == ENOENT) return none;
    return unknown();
  }
  if (!disk_bug("a-ring-of-anybody") && !is_trusted(facts, pool)) return none;
  const int access = how == use::alone ? O_RDWR : O_RDONLY;
  descriptor file{::open(path.c_str(), access | O_CLOEXEC | O_NOFOLLOW)};
  if (file.number < 0 && errno == ENOENT) return none;
  if (file.number < 0 || ::fstat(file.number, &facts) != 0) return unknown();
  if (!disk_bug("a-ring-of-anybody") && !is_trusted(facts, pool)) return none;
  auto bytes = static_cast<std::uint64_t>(facts.st_size);
  if (bytes < bytes_for(page_of_entries) || bytes > bytes_for(max_slots)) return none;
  // one that may grow is mapped as far as it may
  const std::uint64_t mapped = how == use::alone ? bytes : bytes_for(max_slots);
  void* at =
      map_shared(file.number, mapped, how == use::alone ? PROT_READ | PROT_WRITE : PROT_READ);
  if (at == nullptr) return unknown();
  log_ring found(at, mapped, path, how == use::alone ? -1 : std::exchange(file.number, -1));
  const control& c = *found.control_;
  if (c.magic != ring_magic || c.checksum != checksum(&c, offsetof(control, checksum)) ||
      c.log_id != log_id || c.key != key)
    return none;
  if (!found.has_slots_in(bytes)) return none;
  return std::optional<log_ring>(std::move(found));
}

bool log_ring::has_slots_in(std::uint64_t bytes) const noexcept {
  for (const view& v : {order().before, order().now})
    if (v.log2_slots > std::bit_width(max_slots) - 1u || bytes_for(v.slots()) > bytes) return false;
  return true;
}

bool log_ring::has_its_slots() const noexcept {
  struct stat facts {};
  return ::fstat(file_, &facts) == 0 && has_slots_in(static_cast<std::uint64_t>(facts.st_size));
}

// ------------------------------------------------------------------------------------------ growth

std::uint64_t log_ring::run_from(std::uint64_t place) const noexcept {
  const slot_order& o = order();
  const view& v = o.of(place);
  std::uint64_t to_lap_end = v.slots() - v.index(place);
  return place < o.first ? std::min(to_lap_end, o.first - place) : to_lap_end;
}

std::uint64_t log_ring::limit() const noexcept {
  const slot_order& o = order();
  std::uint64_t kept = align_down(durable().load(std::memory_order_relaxed), page_of_entries);
  // the first lap of a new order stands in new slots, and ends where those of the old one are
  if (kept < o.first) return o.first + (o.now.slots() - o.before.slots());
  return kept + o.now.slots();
}

bool log_ring::provide(std::uint64_t slots) noexcept {
  return file_ < 0 || provide_bytes(file_, bytes_for(slots));
}

/// crash before the last store: the order before is in force, and no place has a slot in this one.
void log_ring::grow(std::uint64_t slots) noexcept {
  std::uint64_t which = control_->which.load(std::memory_order_relaxed) + 1, first = limit();
  const view& before = order().now;
  view now{static_cast<std::uint64_t>(std::countr_zero(slots)), before.slots() - first,
           before.laps(first - 1) + 1};
  control_->orders[which & 1] = {first, before, now};
  control_->which.store(which, std::memory_order_release);  // COMMIT: places from `first` on
}

}  // namespace durahash
