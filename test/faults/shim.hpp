// Faults on demand: this library call, at its n-th time, with that error. The shim stands between
// the program and libc. It is linked into the tests, and built once more as a module for
// LD_PRELOAD, where DURAHASH_FAULT holds the plan. Its syncs wait for no disk, but with
// DURAHASH_LONG=1.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace durahash::test {

/// The calls that can fail. `allocation` is operator new in all its forms, and private memory that
/// can be written, from mmap.
enum class call : unsigned {
  open,  // openat and fopen, too
  mmap,
  munmap,
  madvise,
  mprotect,
  fallocate,
  posix_fallocate,
  ftruncate,
  msync,
  fsync,  // syncfs, too
  fdatasync,
  pwritev2,
  pread,
  rename,
  flock,
  fstat,
  stat,
  statx,
  lstat,
  statfs,  // fstatfs, too
  linkat,
  pthread_create,
  getrandom,
  membarrier,
  fgetxattr,
  fsetxattr,
  allocation,
  count
};

inline constexpr std::size_t call_count = static_cast<std::size_t>(call::count);
using call_counts = std::array<std::uint64_t, call_count>;

std::string_view name_of(call) noexcept;

/// Whose calls are counted, and fail.
enum class callers : unsigned { any, the_arming_thread, others };

struct fault_plan {
  static constexpr std::uint64_t all = ~std::uint64_t{0};

  call which = call::count;
  int error_number = 0;   ///< of `allocation` not looked at
  std::uint64_t nth = 1;  ///< the first that fails, counted from 1 since arming; 0: none does, they
                          ///< are counted alone
  std::uint64_t times = 1;  ///< how many fail from there on
  callers who = callers::any;
  const char* path_part = nullptr;     ///< only calls whose path holds this
  const char* open_instead = nullptr;  ///< in place of failing, `open` opens this file
  bool kills = false;                  ///< in place of failing, the process ends by kill -9
  bool hides_birth = false;            ///< in place of failing, `statx` tells no time of birth

  std::string name() const;  ///< for example "msync no. 3 fails (Input/output error)"
};

/// Arms the shim; one plan is in force at a time. The strings of the plan outlive it.
void arm(const fault_plan& plan) noexcept;
/// From here on no call fails or counts. Returns how many have failed.
std::uint64_t disarm() noexcept;
/// Since arming.
std::uint64_t faults_injected() noexcept;
std::uint64_t calls_seen(call which) noexcept;

/// A scope in which the plan in force rests: no call fails, or counts.
class at_rest {
 public:
  at_rest() noexcept;
  ~at_rest();
  at_rest(const at_rest&) = delete;

 private:
  const fault_plan* plan_;
};

/// A scope in which a plan is in force.
class armed {
 public:
  explicit armed(const fault_plan& plan) noexcept { arm(plan); }
  ~armed() { disarm(); }
  armed(const armed&) = delete;
  armed& operator=(const armed&) = delete;
};

}  // namespace durahash::test
