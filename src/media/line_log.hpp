// What a disk asks of the medium: lines go to a log.
#pragma once

#include <cstddef>

namespace durahash {

class line_log {
 public:
  /// Behind stores that nobody flushes.
  virtual void mark(const void* at, std::size_t bytes) noexcept = 0;
  /// The lines get a place in the log. What a thread flushes later has a later one.
  virtual void flush(const void* at, std::size_t bytes) noexcept = 0;

 protected:
  ~line_log() = default;
};

// A call costs those who never make it, too: around it the compiler keeps nothing in registers that
// a call may change, and saves others when the caller begins. So this one is hidden from it.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__AVX512F__) && \
    !defined(DURAHASH_SANITIZED)

/// log.flush(at, 1), which the caller's registers survive.
[[gnu::always_inline]] inline void flush_line_to(line_log& log, const void* at) noexcept {
  asm volatile(
      "leaq -128(%%rsp), %%rsp\n\t"  // below it a function keeps 128 bytes to itself
      "call durahash_flush_line_to\n\t"
      "leaq 128(%%rsp), %%rsp"
      :
      : "D"(&log), "S"(at)
      : "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
        "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}

#else

inline void flush_line_to(line_log& log, const void* at) noexcept { log.flush(at, 1); }

#endif

}  // namespace durahash
