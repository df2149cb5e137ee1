// Stands between a program and its disk; undo.hpp says what for. Watches pwritev2, fdatasync,
// msync, posix_fallocate and ftruncate of plain files: what the library writes with, but for stores
// into mappings.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "undo.hpp"

namespace {

using durahash::tool::power_cut::slow_variable;
using durahash::tool::power_cut::undo_record;
using durahash::tool::power_cut::undo_variable;

template <class Function>
Function* next(const char* name) noexcept {
  void* found = ::dlsym(RTLD_NEXT, name);
  if (found == nullptr) std::abort();
  return reinterpret_cast<Function*>(found);
}
#define LIBC(name) static decltype(::name)* const libc_##name = next<decltype(::name)>(#name)

class undo_log {
 public:
  static undo_log& of_process() {
    static undo_log made;
    return made;
  }
  static constexpr std::size_t none = ~std::size_t{0};

  /// Of so many bytes from there on, as they are before they change. Returns its number.
  std::size_t begin(int descriptor, undo_record::change what, std::uint64_t offset,
                    std::size_t bytes) {
    struct stat facts {};
    if (file_ < 0 || ::fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode)) return none;
    undo_record record{};
    record.device = facts.st_dev, record.inode = facts.st_ino;
    record.what = what;
    record.offset = offset;
    std::string old;
    if (what == undo_record::change::length)
      record.offset = static_cast<std::uint64_t>(facts.st_size);
    else old = bytes_of(descriptor, offset, bytes);
    record.old_bytes = old.size();
    std::scoped_lock mine(lock_);
    // a new file may have the number of one that is gone, and none of its bytes
    if (what == undo_record::change::length && facts.st_size == 0) settle_all(record.inode, ~0ull);
    old.insert(0, reinterpret_cast<const char*>(&record), sizeof record);
    if (::pwrite(file_, old.data(), old.size(), end_) != static_cast<ssize_t>(old.size()))
      std::abort();  // a disk that forgets is the only thing that is to go wrong here
    open_.push_back({end_, record.inode, 0});
    end_ += static_cast<off_t>(old.size());
    return begun_++;
  }
  void end(std::size_t number, bool waited_for) {
    if (number == none) return;
    std::scoped_lock mine(lock_);
    entry& e = open_[number - forgotten_];
    e.ended = ++moment_;
    if (waited_for) settle(e);
    forget();
  }

  bool notes() const noexcept { return file_ >= 0; }

  std::uint64_t begin_sync() {
    std::scoped_lock mine(lock_);
    return ++moment_;
  }
  /// All that had ended when the sync began.
  void end_sync(int descriptor, std::uint64_t began) {
    struct stat facts {};
    if (::fstat(descriptor, &facts) != 0) return;
    end_sync_of(facts.st_ino, began);
  }
  void end_sync_of(std::uint64_t inode, std::uint64_t began) {
    std::scoped_lock mine(lock_);
    settle_all(inode, began);
    forget();
  }

 private:
  struct entry {
    off_t at;
    std::uint64_t inode;
    std::uint64_t ended;  // 0: under way
    bool settled = false;
  };

  undo_log() {
    const char* path = std::getenv(undo_variable);
    if (path != nullptr) file_ = ::open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  }
  static std::string bytes_of(int descriptor, std::uint64_t offset, std::size_t bytes) {
    std::string old(bytes, '\0');
    std::string self = "/proc/self/fd/" + std::to_string(descriptor);
    int file = ::open(self.c_str(), O_RDONLY | O_CLOEXEC);  // without O_DIRECT: into any memory
    ssize_t got = ::pread(file, old.data(), bytes, static_cast<off_t>(offset));
    ::close(file);
    old.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return old;
  }
  void settle_all(std::uint64_t inode, std::uint64_t began) {
    for (entry& e : open_)
      if (e.inode == inode && e.ended != 0 && e.ended < began) settle(e);
  }
  void settle(entry& e) {
    if (std::exchange(e.settled, true)) return;
    constexpr std::uint32_t yes = 1;
    if (::pwrite(file_, &yes, sizeof yes, e.at + offsetof(undo_record, settled)) < 0) std::abort();
  }
  /// Once everything is settled, the file begins anew.
  void forget() {
    if (file_ < 0) return;
    for (const entry& e : open_)
      if (!e.settled) return;
    LIBC(ftruncate);
    if (libc_ftruncate(file_, 0) != 0) std::abort();
    forgotten_ += open_.size();
    open_.clear();
    end_ = 0;
  }

  std::mutex lock_;  // guards what follows
  int file_ = -1;
  off_t end_ = 0;
  std::vector<entry> open_;
  std::size_t begun_ = 0, forgotten_ = 0;
  std::uint64_t moment_ = 0;
};

/// A disk may take its time.
void take_time() {
  static const char* const asked = std::getenv(slow_variable);
  if (asked != nullptr) ::usleep(static_cast<useconds_t>(std::atoi(asked)) * 1000);
}

template <class Call>
auto noted(undo_record::change what, int file, std::uint64_t offset, std::size_t bytes, bool waits,
           Call call) {
  undo_log& log = undo_log::of_process();
  std::size_t number = log.begin(file, what, offset, bytes);
  auto answer = call();
  int error_number = errno;
  if (waits) take_time();
  log.end(number, waits);
  return errno = error_number, answer;
}

template <class Call>
int synced(int file, Call call) {
  undo_log& log = undo_log::of_process();
  std::uint64_t began = log.begin_sync();
  int answer = call();
  take_time();
  if (answer == 0) log.end_sync(file, began);
  return answer;
}

/// Of the file that is mapped there; 0 where none is.
std::uint64_t inode_at(const void* address) {
  std::ifstream maps("/proc/self/maps");
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  for (std::string line; std::getline(maps, line);) {
    unsigned long long first = 0, end = 0, inode = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx %*s %*x %*x:%*x %llu", &first, &end, &inode) == 3 &&
        first <= wanted && wanted < end)
      return inode;
  }
  return 0;
}

}  // namespace

extern "C" {

ssize_t pwritev2(int file, const iovec* pieces, int count, off_t offset, int flags) {
  LIBC(pwritev2);
  std::size_t bytes = 0;
  for (int i = 0; i < count; ++i) bytes += pieces[i].iov_len;
  return noted(undo_record::change::bytes, file, static_cast<std::uint64_t>(offset), bytes,
               (flags & RWF_DSYNC) != 0,
               [=] { return libc_pwritev2(file, pieces, count, offset, flags); });
}

int fdatasync(int file) {
  LIBC(fdatasync);
  return synced(file, [=] { return libc_fdatasync(file); });
}

int fsync(int file) {
  LIBC(fsync);
  return synced(file, [=] { return libc_fsync(file); });
}

int msync(void* at, std::size_t bytes, int flags) {
  LIBC(msync);
  undo_log& log = undo_log::of_process();
  std::uint64_t began = log.begin_sync();
  int answer = libc_msync(at, bytes, flags);
  if ((flags & MS_SYNC) == 0) return answer;
  take_time();
  if (answer == 0 && log.notes()) log.end_sync_of(inode_at(at), began);
  return answer;
}

int posix_fallocate(int file, off_t offset, off_t bytes) {
  LIBC(posix_fallocate);
  return noted(undo_record::change::length, file, 0, 0, false,
               [=] { return libc_posix_fallocate(file, offset, bytes); });
}

int ftruncate(int file, off_t bytes) noexcept {
  LIBC(ftruncate);
  return noted(undo_record::change::length, file, 0, 0, false,
               [=] { return libc_ftruncate(file, bytes); });
}

}  // extern "C"
