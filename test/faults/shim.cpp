#include "shim.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace durahash::test {
namespace {

constexpr std::string_view names[call_count] = {
    "open",      "mmap",           "munmap",          "madvise",
    "mprotect",  "fallocate",      "posix_fallocate", "ftruncate",
    "msync",     "fsync",          "fdatasync",       "pwritev2",
    "pread",     "rename",         "flock",           "fstat",
    "stat",      "statx",          "lstat",           "statfs",
    "linkat",    "pthread_create", "getrandom",       "membarrier",
    "fgetxattr", "fsetxattr",      "allocation"};
static_assert(!names[call_count - 1].empty());

// All that the interposed functions read is valid before any constructor has run: they are called
// that early.
constinit std::atomic<const fault_plan*> plan_in_force{nullptr};
constinit std::atomic<bool> armed_from_outside{false};
constinit std::atomic<const void*> arming_thread{nullptr};
constinit std::array<std::atomic<std::uint64_t>, call_count> seen{};
constinit std::atomic<std::uint64_t> matching{0}, injected{0};
constinit thread_local char this_thread = 0;  // its address names the thread

bool is_meant(const fault_plan& plan, call which, const char* path) noexcept {
  if (which != plan.which) return false;
  return plan.path_part == nullptr ||
         (path != nullptr && std::strstr(path, plan.path_part) != nullptr);
}

bool is_caller_meant(const fault_plan& plan) noexcept {
  bool armed_it = arming_thread.load(std::memory_order_relaxed) == &this_thread;
  return plan.who == callers::any || (plan.who == callers::the_arming_thread) == armed_it;
}

/// Counts the call. Returns the plan by which it fails, or nothing.
const fault_plan* fails(call which, const char* path = nullptr) noexcept {
  const fault_plan* plan = plan_in_force.load(std::memory_order_acquire);
  if (plan == nullptr || !is_caller_meant(*plan)) return nullptr;
  seen[static_cast<std::size_t>(which)].fetch_add(1, std::memory_order_relaxed);
  if (!is_meant(*plan, which, path)) return nullptr;
  std::uint64_t number = matching.fetch_add(1, std::memory_order_relaxed) + 1;
  if (plan->nth == 0 || number < plan->nth || number - plan->nth >= plan->times) return nullptr;
  if (plan->kills) ::kill(::getpid(), SIGKILL);
  if (injected.fetch_add(1, std::memory_order_relaxed) == 0 && armed_from_outside) {
    constexpr std::string_view told = "faults injected: 1\n";
    [[maybe_unused]] ssize_t wrote = ::write(2, told.data(), told.size());
  }
  return plan;
}

/// The answer of a call that fails by that plan.
template <class Result>
Result failed(const fault_plan* plan, Result answer) noexcept {
  errno = plan->error_number;
  return answer;
}

/// libc's own function of that name, or a sanitizer's.
template <class Function>
Function* next(const char* name) noexcept {
  void* found = ::dlsym(RTLD_NEXT, name);
  if (found == nullptr) std::abort();
  return reinterpret_cast<Function*>(found);
}

}  // namespace

std::string_view name_of(call which) noexcept { return names[static_cast<std::size_t>(which)]; }

std::string fault_plan::name() const {
  std::string text = std::string(name_of(which)) + " no. " + std::to_string(nth);
  if (times > 1)
    text +=
        times == all ? " and all behind it" : " and " + std::to_string(times - 1) + " behind it";
  if (kills) return text + " kills the process";
  if (hides_birth) return text + " tells no time of birth";
  if (open_instead != nullptr) return text + " opens " + open_instead;
  return which == call::allocation ? text + " fails"
                                   : text + " fails (" + std::strerror(error_number) + ")";
}

void arm(const fault_plan& wanted) noexcept {
  // A thread that is late may still read the plan before: its place is used again much later.
  static constinit std::array<fault_plan, 1024> plans{};
  static constinit std::size_t armings = 0;
  disarm();
  fault_plan& place = plans[armings++ % plans.size()];
  place = wanted;
  matching = 0;
  injected = 0;
  for (auto& count : seen) count = 0;
  arming_thread = &this_thread;
  plan_in_force.store(&place, std::memory_order_release);
}

std::uint64_t disarm() noexcept {
  plan_in_force.store(nullptr, std::memory_order_release);
  return faults_injected();
}

at_rest::at_rest() noexcept : plan_(plan_in_force.exchange(nullptr)) {}
at_rest::~at_rest() { plan_in_force.store(plan_, std::memory_order_release); }

std::uint64_t faults_injected() noexcept { return injected.load(); }
std::uint64_t calls_seen(call which) noexcept {
  return seen[static_cast<std::size_t>(which)].load();
}

namespace {

/// For LD_PRELOAD: DURAHASH_FAULT="msync 3 5" or "msync 3 5 all": which, its number, the error's
/// number. The first fault is told on stderr.
[[maybe_unused]] const bool reads_the_environment = [] {
  const char* text = std::getenv("DURAHASH_FAULT");
  char which[32] = {}, times[8] = {};
  unsigned long nth = 0;
  int error_number = 0;
  if (text == nullptr ||
      std::sscanf(text, "%31s %lu %d %7s", which, &nth, &error_number, times) < 3)
    return false;
  for (std::size_t i = 0; i < call_count; ++i)
    if (names[i] == which)
      arm({.which = static_cast<call>(i),
           .error_number = error_number,
           .nth = nth,
           .times = times[0] == 'a' ? fault_plan::all : 1});
  return armed_from_outside = true;
}();

}  // namespace
}  // namespace durahash::test

// ------------------------------------------------------------------------------------------
// system calls

using durahash::test::call;
using durahash::test::failed;
using durahash::test::fails;
using durahash::test::next;

#define LIBC(name) static decltype(::name)* const libc_##name = next<decltype(::name)>(#name)

namespace {

/// A process that is killed loses nothing by a sync that waited for no disk, nor by a write to the
/// page cache, and thousands are: only with DURAHASH_LONG=1 do they wait, and write by O_DIRECT.
bool waits_for_disks() noexcept {
  static const bool waits = std::getenv("DURAHASH_LONG") != nullptr;
  return waits;
}

/// Opens by `open_path` what is asked for: another file where the plan says so, none where the open
/// is to fail.
template <class Open, class Result>
Result opened(const char* path, Result none, Open open_path) {
  auto plan = fails(call::open, path);
  if (plan == nullptr) return open_path(path);
  return plan->open_instead == nullptr ? failed(plan, none) : open_path(plan->open_instead);
}

mode_t mode_of(int flags, va_list arguments) noexcept {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? static_cast<mode_t>(va_arg(arguments, int)) : 0;
}

bool is_memory(int protection, int flags) noexcept {
  return (flags & MAP_ANONYMOUS) != 0 && (protection & PROT_WRITE) != 0;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  LIBC(open);
  if (!waits_for_disks()) flags &= ~O_DIRECT;
  return opened(path, -1, [=](const char* which) { return libc_open(which, flags, mode); });
}
int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open(path, flags, mode);
}
int openat(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  LIBC(openat);
  return opened(path, -1,
                [=](const char* which) { return libc_openat(folder, which, flags, mode); });
}
FILE* fopen(const char* path, const char* mode) {
  LIBC(fopen);
  FILE* none = nullptr;
  return opened(path, none, [=](const char* which) { return libc_fopen(which, mode); });
}
FILE* fopen64(const char* path, const char* mode) { return fopen(path, mode); }

void* mmap(void* at, size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  LIBC(mmap);
  if (auto plan = fails(call::mmap)) return failed(plan, MAP_FAILED);
  if (is_memory(protection, flags) && fails(call::allocation)) return errno = ENOMEM, MAP_FAILED;
  return libc_mmap(at, bytes, protection, flags, file, offset);
}
int munmap(void* at, size_t bytes) noexcept {
  LIBC(munmap);
  if (auto plan = fails(call::munmap)) return failed(plan, -1);
  return libc_munmap(at, bytes);
}
int madvise(void* at, size_t bytes, int advice) noexcept {
  LIBC(madvise);
  if (auto plan = fails(call::madvise)) return failed(plan, -1);
  return libc_madvise(at, bytes, advice);
}
int mprotect(void* at, size_t bytes, int protection) noexcept {
  LIBC(mprotect);
  if (auto plan = fails(call::mprotect)) return failed(plan, -1);
  return libc_mprotect(at, bytes, protection);
}
int msync(void* at, size_t bytes, int flags) {
  LIBC(msync);
  if (auto plan = fails(call::msync)) return failed(plan, -1);
  return libc_msync(at, bytes, waits_for_disks() ? flags : MS_ASYNC);
}
int fallocate(int file, int mode, off_t offset, off_t bytes) {
  LIBC(fallocate);
  if (auto plan = fails(call::fallocate)) return failed(plan, -1);
  return libc_fallocate(file, mode, offset, bytes);
}
int posix_fallocate(int file, off_t offset,
                    off_t bytes) {  // answers with the error, and leaves errno alone
  LIBC(posix_fallocate);
  if (auto plan = fails(call::posix_fallocate)) return plan->error_number;
  return libc_posix_fallocate(file, offset, bytes);
}
int ftruncate(int file, off_t bytes) noexcept {
  LIBC(ftruncate);
  if (auto plan = fails(call::ftruncate)) return failed(plan, -1);
  return libc_ftruncate(file, bytes);
}
int fsync(int file) {
  LIBC(fsync);
  if (auto plan = fails(call::fsync)) return failed(plan, -1);
  return waits_for_disks() ? libc_fsync(file) : 0;
}
int syncfs(int file) noexcept {
  LIBC(syncfs);
  if (auto plan = fails(call::fsync)) return failed(plan, -1);
  return waits_for_disks() ? libc_syncfs(file) : 0;
}
int fdatasync(int file) {
  LIBC(fdatasync);
  if (auto plan = fails(call::fdatasync)) return failed(plan, -1);
  return waits_for_disks() ? libc_fdatasync(file) : 0;
}
ssize_t pwritev2(int file, const iovec* pieces, int count, off_t offset, int flags) {
  LIBC(pwritev2);
  if (auto plan = fails(call::pwritev2)) return failed(plan, ssize_t{-1});
  return libc_pwritev2(file, pieces, count, offset, waits_for_disks() ? flags : flags & ~RWF_DSYNC);
}
ssize_t pread(int file, void* at, size_t bytes, off_t offset) {
  LIBC(pread);
  if (auto plan = fails(call::pread)) return failed(plan, ssize_t{-1});
  return libc_pread(file, at, bytes, offset);
}
int rename(const char* from, const char* to) noexcept {
  LIBC(rename);
  if (auto plan = fails(call::rename, to)) return failed(plan, -1);
  return libc_rename(from, to);
}
int flock(int file, int operation) noexcept {
  LIBC(flock);
  if (auto plan = fails(call::flock)) return failed(plan, -1);
  return libc_flock(file, operation);
}
int fstat(int file, struct stat* facts) noexcept {
  using signature = int(int, struct stat*);
  static signature* const libc_fstat = next<signature>("fstat");
  if (auto plan = fails(call::fstat)) return failed(plan, -1);
  return libc_fstat(file, facts);
}
int stat(const char* path, struct stat* facts) noexcept {
  using signature = int(const char*, struct stat*);
  static signature* const libc_stat = next<signature>("stat");
  if (auto plan = fails(call::stat, path)) return failed(plan, -1);
  return libc_stat(path, facts);
}
int statx(int folder, const char* path, int flags, unsigned mask, struct statx* facts) noexcept {
  using signature = int(int, const char*, int, unsigned, struct statx*);
  static signature* const libc_statx = next<signature>("statx");
  auto plan = fails(call::statx, path);
  if (plan != nullptr && !plan->hides_birth) return failed(plan, -1);
  int answer = libc_statx(folder, path, flags, mask, facts);
  if (plan != nullptr) facts->stx_mask &= ~STATX_BTIME, facts->stx_btime = {};
  return answer;
}
int lstat(const char* path, struct stat* facts) noexcept {
  using signature = int(const char*, struct stat*);
  static signature* const libc_lstat = next<signature>("lstat");
  if (auto plan = fails(call::lstat, path)) return failed(plan, -1);
  return libc_lstat(path, facts);
}
int statfs(const char* path, struct statfs* facts) noexcept {
  using signature = int(const char*, struct statfs*);
  static signature* const libc_statfs = next<signature>("statfs");
  if (auto plan = fails(call::statfs, path)) return failed(plan, -1);
  return libc_statfs(path, facts);
}
int fstatfs(int file, struct statfs* facts) noexcept {
  using signature = int(int, struct statfs*);
  static signature* const libc_fstatfs = next<signature>("fstatfs");
  if (auto plan = fails(call::statfs)) return failed(plan, -1);
  return libc_fstatfs(file, facts);
}
ssize_t fgetxattr(int file, const char* name, void* value, size_t bytes) noexcept {
  LIBC(fgetxattr);
  if (auto plan = fails(call::fgetxattr)) return failed(plan, ssize_t{-1});
  return libc_fgetxattr(file, name, value, bytes);
}
int fsetxattr(int file, const char* name, const void* value, size_t bytes, int flags) noexcept {
  LIBC(fsetxattr);
  if (auto plan = fails(call::fsetxattr)) return failed(plan, -1);
  return libc_fsetxattr(file, name, value, bytes, flags);
}
int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
  LIBC(linkat);
  if (auto plan = fails(call::linkat, to)) return failed(plan, -1);
  return libc_linkat(from_folder, from, to_folder, to, flags);
}
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                   void* argument) noexcept {
  LIBC(pthread_create);
  if (auto plan = fails(call::pthread_create)) return plan->error_number;
  return libc_pthread_create(thread, attributes, run, argument);
}
ssize_t getrandom(void* at, size_t bytes, unsigned flags) {
  LIBC(getrandom);
  if (auto plan = fails(call::getrandom)) return failed(plan, ssize_t{-1});
  return libc_getrandom(at, bytes, flags);
}
long syscall(long number, ...) noexcept {
  // No static that is made once: who waits for that does so by this call.
  static constinit std::atomic<decltype(::syscall)*> found{nullptr};
  auto* libc_syscall = found.load(std::memory_order_relaxed);
  if (libc_syscall == nullptr) found = libc_syscall = next<decltype(::syscall)>("syscall");
  va_list arguments;
  va_start(arguments, number);
  long a[6];
  for (long& argument : a)
    argument = va_arg(arguments, long);  // more than were given: their registers hold something
  va_end(arguments);
  if (number == SYS_membarrier && a[0] != MEMBARRIER_CMD_QUERY)
    if (auto plan = fails(call::membarrier)) return failed(plan, -1L);
  return libc_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

}  // extern "C"

// ------------------------------------------------------------------------------------------
// allocation

namespace {

void* allocated(std::size_t bytes, std::size_t alignment) noexcept {
  if (fails(call::allocation)) return nullptr;
  if (bytes == 0) bytes = 1;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(bytes);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
void* allocated_or_throw(std::size_t bytes, std::size_t alignment) {
  if (void* at = allocated(bytes, alignment)) return at;
  throw std::bad_alloc();
}

}  // namespace

using std::align_val_t;
using std::nothrow_t;
using std::size_t;

void* operator new(size_t bytes) { return allocated_or_throw(bytes, 1); }
void* operator new[](size_t bytes) { return allocated_or_throw(bytes, 1); }
void* operator new(size_t bytes, align_val_t to) {
  return allocated_or_throw(bytes, static_cast<size_t>(to));
}
void* operator new[](size_t bytes, align_val_t to) {
  return allocated_or_throw(bytes, static_cast<size_t>(to));
}
void* operator new(size_t bytes, const nothrow_t&) noexcept { return allocated(bytes, 1); }
void* operator new[](size_t bytes, const nothrow_t&) noexcept { return allocated(bytes, 1); }
void* operator new(size_t bytes, align_val_t to, const nothrow_t&) noexcept {
  return allocated(bytes, static_cast<size_t>(to));
}
void* operator new[](size_t bytes, align_val_t to, const nothrow_t&) noexcept {
  return allocated(bytes, static_cast<size_t>(to));
}
void operator delete(void* at) noexcept { std::free(at); }
void operator delete[](void* at) noexcept { std::free(at); }
void operator delete(void* at, size_t) noexcept { std::free(at); }
void operator delete[](void* at, size_t) noexcept { std::free(at); }
void operator delete(void* at, align_val_t) noexcept { std::free(at); }
void operator delete[](void* at, align_val_t) noexcept { std::free(at); }
void operator delete(void* at, size_t, align_val_t) noexcept { std::free(at); }
void operator delete[](void* at, size_t, align_val_t) noexcept { std::free(at); }
