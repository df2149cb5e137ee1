#include "disk_recorder.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include "store/scratch.hpp"

namespace durahash::test {

namespace {

constexpr std::uint64_t never = ~std::uint64_t{0};

struct change {
  std::uint64_t file;  // its inode
  std::uint64_t offset;
  std::string bytes;
  enum { writes, extends, cuts } what;  // the latter two: the file's length becomes `offset`
  std::uint64_t began;                  // moments
  std::uint64_t ended = never;
  std::uint64_t settled = never;  // somebody has waited for it
};

}  // namespace

struct disk_recorder::recording {
  std::map<std::uint64_t, std::string> names, before;  // by inode
  mutable std::mutex lock;
  std::vector<change> changes;
  std::uint64_t moments = 0;
  std::uint64_t torn_from = 0, torn_to = 0;

  static inline std::atomic<recording*> current{nullptr};

  static std::uint64_t file_of(int descriptor) {
    struct stat facts {};
    return ::fstat(descriptor, &facts) == 0 ? facts.st_ino : 0;
  }
  /// Returns where the change stands, or `never`.
  std::size_t begin(int descriptor, std::uint64_t offset, std::string bytes,
                    decltype(change::what) what) {
    std::uint64_t file = file_of(descriptor);
    std::scoped_lock mine(lock);
    if (!names.contains(file)) return never;
    changes.push_back({file, offset, std::move(bytes), what, moments++});
    return changes.size() - 1;
  }
  void end(std::size_t which, bool waited_for) {
    std::scoped_lock mine(lock);
    if (which == never) return;
    changes[which].ended = moments++;
    if (waited_for) changes[which].settled = std::min(changes[which].settled, moments - 1);
  }
  /// What had ended when the sync began: its moment. Of a file that is read alone also what could
  /// be read of it: the disk has that, and flushes it.
  std::uint64_t begin_sync(int descriptor, std::vector<std::size_t>& seen) {
    const bool reads = (::fcntl(descriptor, F_GETFL) & O_ACCMODE) == O_RDONLY;
    std::uint64_t file = file_of(descriptor);
    std::scoped_lock mine(lock);
    for (std::size_t n = 0; reads && n < changes.size(); ++n) {
      const change& c = changes[n];
      if (c.file != file || c.what != change::writes || c.ended != never) continue;
      std::string now(c.bytes.size(), '\0');
      const auto got = ::pread(descriptor, now.data(), now.size(), static_cast<off_t>(c.offset));
      if (got == static_cast<ssize_t>(now.size()) && now == c.bytes) seen.push_back(n);
    }
    return moments;
  }
  void end_sync(int descriptor, std::uint64_t began, const std::vector<std::size_t>& seen) {
    std::uint64_t file = file_of(descriptor);
    std::scoped_lock mine(lock);
    std::uint64_t moment = moments++;
    for (change& c : changes)
      if (c.file == file && c.ended < began && c.settled == never) c.settled = moment;
    for (std::size_t n : seen) changes[n].settled = std::min(changes[n].settled, moment);
  }
};

disk_recorder::disk_recorder(const std::vector<std::string>& paths) : made_(new recording) {
  for (const std::string& path : paths) {
    struct stat facts {};
    if (::stat(path.c_str(), &facts) != 0) std::abort();
    made_->names[facts.st_ino] = path;
    made_->before[facts.st_ino] = read_file(path);
  }
  recording::current = made_;
}

disk_recorder::disk_recorder(const disk_recorder& before, std::uint64_t killed_at)
    : made_(new recording) {
  made_->names = before.made_->names;
  made_->before = before.made_->before;
  for (change c : before.made_->changes) {
    if (c.began >= killed_at) break;
    if (c.settled >= killed_at) c.settled = never;
    c.ended = std::min(c.ended, killed_at);
    made_->changes.push_back(std::move(c));
  }
  made_->moments = killed_at + 1;
  recording::current = made_;
}

disk_recorder::~disk_recorder() {
  stop();
  delete made_;
}

void disk_recorder::stop() { recording::current = nullptr; }

std::uint64_t disk_recorder::now() const {
  std::scoped_lock mine(made_->lock);
  return made_->moments;
}

void disk_recorder::tear(std::uint64_t from, std::uint64_t to) {
  made_->torn_from = from, made_->torn_to = to;
}

std::size_t disk_recorder::unwaited_at(std::uint64_t moment) const {
  std::size_t count = 0;
  cut_at(moment, [&] { return ++count, false; });
  return count;
}

std::map<std::string, std::string> disk_recorder::after_cut(std::uint64_t moment, unwaited how,
                                                            random_stream& draw) const {
  return cut_at(moment,
                [&] { return how == unwaited::drawn ? draw.one_in(2) : how == unwaited::all_new; });
}

std::map<std::string, std::string> disk_recorder::after_cut(std::uint64_t moment,
                                                            const std::vector<bool>& is_new) const {
  std::size_t next = 0;
  return cut_at(moment, [&] { return is_new.at(next++); });
}

/// Asks is_new() of each sector and each length that nobody had waited for.
template <class Draw>
std::map<std::string, std::string> disk_recorder::cut_at(std::uint64_t moment,
                                                         Draw&& is_new) const {
  auto files = made_->before;
  for (const change& c : made_->changes) {
    if (c.began >= moment) break;
    std::string& file = files[c.file];
    bool settled = c.settled < moment;
    if (c.what != change::writes) {
      bool shorter = c.offset < file.size();
      if ((settled || is_new()) && shorter == (c.what == change::cuts)) file.resize(c.offset);
      continue;
    }
    for (std::uint64_t at = 0; at < c.bytes.size(); at += sector_bytes) {
      if (!settled && !is_new()) continue;
      std::uint64_t some = std::min<std::uint64_t>(sector_bytes, c.bytes.size() - at);
      if (file.size() < c.offset + at + some) file.resize(c.offset + at + some);
      std::uint64_t offset = c.offset + at;
      if (!settled && made_->torn_from <= offset && offset < made_->torn_to) some /= 2;
      file.replace(c.offset + at, some, c.bytes, at, some);
    }
  }
  std::map<std::string, std::string> named;
  for (auto& [file, bytes] : files) named[made_->names.at(file)] = std::move(bytes);
  return named;
}

}  // namespace durahash::test

// ------------------------------------------------------------------------------ the system's calls

namespace {

template <class Function>
Function* next(const char* name) noexcept {
  void* found = ::dlsym(RTLD_NEXT, name);
  if (found == nullptr) std::abort();
  return reinterpret_cast<Function*>(found);
}

}  // namespace

#define LIBC(name) static decltype(::name)* const libc_##name = next<decltype(::name)>(#name)

namespace durahash::test {

constinit std::atomic<std::int64_t> calls_to_go{-1};
constinit std::atomic<int> fault_number{0};
constinit std::atomic<bool> fault_for_good{false};
constinit std::atomic<std::uint64_t> faults{0};

constinit std::atomic<std::uint64_t> bytes_each_millisecond{0};

slow_disk::slow_disk(std::uint64_t bytes) { bytes_each_millisecond = bytes; }
slow_disk::~slow_disk() { bytes_each_millisecond = 0; }

constinit std::atomic<bool> disk_waits{true};

no_waits::no_waits() { disk_waits = long_run(); }
no_waits::~no_waits() { disk_waits = true; }

disk_fault::disk_fault(std::uint64_t nth, int error_number, bool for_good) {
  faults = 0;
  fault_number = error_number;
  fault_for_good = for_good;
  calls_to_go = static_cast<std::int64_t>(nth);
}
disk_fault::~disk_fault() { calls_to_go = -1; }
std::uint64_t disk_fault::failed() { return faults; }

/// Whether this call fails; errno is set then.
bool fails_now() {
  if (calls_to_go < 0) return false;
  std::int64_t left = --calls_to_go;
  if (left > 0 || (left < 0 && !fault_for_good)) return calls_to_go = left < 0 ? -1 : left, false;
  calls_to_go = fault_for_good ? 1 : -1;
  ++faults;
  errno = fault_number;
  return true;
}

/// As the system reads them: entries that are not sealed yet are being written to.
__attribute__((no_sanitize("thread"))) std::string bytes_of(const iovec* pieces, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) {
    auto* from = static_cast<const volatile char*>(pieces[i].iov_base);
    std::size_t at = bytes.size();
    bytes.resize(at + pieces[i].iov_len);
    for (std::size_t n = 0; n < pieces[i].iov_len; ++n) bytes[at + n] = from[n];
  }
  return bytes;
}

/// For the functions below, which are nobody's members.
struct recorded_calls {
  template <class Call>
  static auto changes(decltype(change::what) what, int descriptor, std::uint64_t offset,
                      std::string bytes, bool waits, Call call) {
    auto* r = disk_recorder::recording::current.load();
    std::size_t which = r == nullptr ? never : r->begin(descriptor, offset, std::move(bytes), what);
    auto answer = call();
    if (r != nullptr) r->end(which, waits);
    return answer;
  }
  template <class Call>
  static int sync(int descriptor, Call call) {
    auto* r = disk_recorder::recording::current.load();
    std::vector<std::size_t> seen;
    std::uint64_t began = r == nullptr ? 0 : r->begin_sync(descriptor, seen);
    int answer = call();
    if (r != nullptr && answer == 0) r->end_sync(descriptor, began, seen);
    return answer;
  }
};

}  // namespace durahash::test

using durahash::test::change;
using durahash::test::recorded_calls;

extern "C" {

ssize_t pwritev2(int file, const iovec* pieces, int count, off_t offset, int flags) {
  LIBC(pwritev2);
  if (durahash::test::fails_now()) return -1;
  std::string bytes = durahash::test::bytes_of(pieces, count);
  if (std::uint64_t rate = durahash::test::bytes_each_millisecond; rate != 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(1 + bytes.size() / rate));
  return recorded_calls::changes(change::writes, file, static_cast<std::uint64_t>(offset),
                                 std::move(bytes), (flags & RWF_DSYNC) != 0, [=] {
                                   if (durahash::test::disk_waits)
                                     return libc_pwritev2(file, pieces, count, offset, flags);
                                   ::fcntl(file, F_SETFL, ::fcntl(file, F_GETFL) & ~O_DIRECT);
                                   return libc_pwritev2(file, pieces, count, offset,
                                                        flags & ~RWF_DSYNC);
                                 });
}

int fdatasync(int file) {
  LIBC(fdatasync);
  if (durahash::test::fails_now()) return -1;
  return recorded_calls::sync(
      file, [=] { return durahash::test::disk_waits ? libc_fdatasync(file) : 0; });
}

int fsync(int file) {
  LIBC(fsync);
  if (durahash::test::fails_now()) return -1;
  return recorded_calls::sync(file,
                              [=] { return durahash::test::disk_waits ? libc_fsync(file) : 0; });
}

int posix_fallocate(int file, off_t offset, off_t bytes) {
  LIBC(posix_fallocate);
  if (durahash::test::fails_now()) return errno;
  return recorded_calls::changes(change::extends, file, static_cast<std::uint64_t>(offset + bytes),
                                 {}, false,
                                 [=] { return libc_posix_fallocate(file, offset, bytes); });
}

int ftruncate(int file, off_t bytes) noexcept {
  LIBC(ftruncate);
  return recorded_calls::changes(change::cuts, file, static_cast<std::uint64_t>(bytes), {}, false,
                                 [=] { return libc_ftruncate(file, bytes); });
}

}  // extern "C"
