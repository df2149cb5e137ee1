// Write-back of cache lines: which instruction the processor has, and its use. No compiler flag is
// needed.
#pragma once

#include <cstdint>

#include "base/bits.hpp"

namespace durahash {

#if defined(__x86_64__)

enum class flush_instruction : std::uint8_t { none, clflush, clflushopt, clwb };
inline constexpr flush_instruction usual_flush_instruction = flush_instruction::clwb;

/// Of a processor without clwb.
inline void write_back_otherwise(flush_instruction how, const void* line) noexcept {
  const char* at = static_cast<const char*>(line);
  if (how == flush_instruction::clflushopt)
    asm volatile(".byte 0x66; clflush %0" : "+m"(*const_cast<char*>(at)));
  else if (how == flush_instruction::clflush)
    asm volatile("clflush %0" : "+m"(*const_cast<char*>(at)));
}

// Spelled in assembly so that one build serves every processor.
[[gnu::always_inline]] inline void write_back(flush_instruction how, const void* line) noexcept {
  if (how == flush_instruction::clwb) [[likely]] {
    asm volatile(".byte 0x66; xsaveopt %0"
                 : "+m"(*const_cast<char*>(static_cast<const char*>(line))));
  } else {
    write_back_otherwise(how, line);
  }
}

inline void store_fence() noexcept { asm volatile("sfence" ::: "memory"); }

#else

/// civac: `dc civac`, to the point of coherency, which Arm before 8.2 takes for that of
/// persistence. cvap: `dc cvap`, to the point of persistence.
enum class flush_instruction : std::uint8_t { none, civac, cvap };
inline constexpr flush_instruction usual_flush_instruction = flush_instruction::cvap;

[[gnu::always_inline]] inline void write_back(flush_instruction how, const void* line) noexcept {
  if (how == flush_instruction::cvap) [[likely]] {
    asm volatile("sys #3, c7, c12, #1, %0" : : "r"(line) : "memory");
  } else if (how == flush_instruction::civac) {
    asm volatile("dc civac, %0" : : "r"(line) : "memory");
  }
}

/// Behind it what was stored is visible, and what was written back has arrived.
inline void store_fence() noexcept { asm volatile("dsb sy" ::: "memory"); }

#endif

/// The best one that this processor has, never none: clwb and cvap keep the line in the cache,
/// clflushopt and civac evict it, clflush also waits.
flush_instruction best_flush_instruction() noexcept;

/// Calls `each(line)` for every cache line that [at, at + bytes) touches; bytes is not 0.
template <class Each>
void for_each_line(const void* at, std::size_t bytes, Each&& each) {
  auto first = align_down(reinterpret_cast<std::uintptr_t>(at), line_bytes);
  auto end = reinterpret_cast<std::uintptr_t>(at) + bytes;
  for (auto line = first; line < end; line += line_bytes) each(reinterpret_cast<const void*>(line));
}

}  // namespace durahash
