// Write-back of cache lines: which instruction the processor has, and its use. No compiler flag is
// needed.
#pragma once

#include <cstdint>

#include "base/bits.hpp"

namespace durahash {

#if defined(__x86_64__)

enum class flush_instruction : std::uint8_t { none, clflush, clflushopt, clwb };
inline constexpr flush_instruction usual_flush_instruction = flush_instruction::clwb;

/// Of a processor without clwb. Returns whether there was an instruction.
[[gnu::always_inline]] inline bool write_back_otherwise(flush_instruction how,
                                                        const void* line) noexcept {
  const char* at = static_cast<const char*>(line);
  if (how == flush_instruction::clflushopt)
    asm volatile(".byte 0x66; clflush %0" : "+m"(*const_cast<char*>(at)));
  else if (how == flush_instruction::clflush)
    asm volatile("clflush %0" : "+m"(*const_cast<char*>(at)));
  else return false;
  return true;
}

// Spelled in assembly so that one build serves every processor.
[[gnu::always_inline]] inline bool write_back(flush_instruction how, const void* line) noexcept {
  if (how == flush_instruction::clwb) [[likely]] {
    asm volatile(".byte 0x66; xsaveopt %0"
                 : "+m"(*const_cast<char*>(static_cast<const char*>(line))));
    return true;
  }
  return write_back_otherwise(how, line);
}

inline void store_fence() noexcept { asm volatile("sfence" ::: "memory"); }

#else

/// civac: `dc civac`, to the point of coherency, which Arm before 8.2 takes for that of
/// persistence. cvap: `dc cvap`, to the point of persistence. short_: where the processor's lines
/// are shorter than ours, so that one of ours takes several.
enum class flush_instruction : std::uint8_t { none, civac, cvap, short_civac, short_cvap };
inline constexpr flush_instruction usual_flush_instruction = flush_instruction::cvap;
inline constexpr std::size_t short_line_bytes = 16;  // no processor has shorter ones

inline void clean_to_persistence(const void* at) noexcept {  // dc cvap, which armv8-a does not know
  asm volatile("sys #3, c7, c12, #1, %0" : : "r"(at) : "memory");
}
inline void clean_and_invalidate(const void* at) noexcept {
  asm volatile("dc civac, %0" : : "r"(at) : "memory");
}

/// Of a processor without `dc cvap`, or with short lines. Returns whether there was an instruction.
inline bool write_back_otherwise(flush_instruction how, const void* in_line) noexcept {
  if (how == flush_instruction::none) return false;
  if (how == flush_instruction::civac) return clean_and_invalidate(in_line), true;
  const auto first = align_down(reinterpret_cast<std::uintptr_t>(in_line), line_bytes);
  for (auto at = first; at != first + line_bytes; at += short_line_bytes)
    if (how == flush_instruction::short_cvap)
      clean_to_persistence(reinterpret_cast<const void*>(at));
    else if (how == flush_instruction::short_civac)
      clean_and_invalidate(reinterpret_cast<const void*>(at));
  return true;
}

[[gnu::always_inline]] inline bool write_back(flush_instruction how, const void* in_line) noexcept {
  if (how != flush_instruction::cvap) return write_back_otherwise(how, in_line);
  return clean_to_persistence(in_line), true;
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

/// Writes back those lines, if it is by this instruction.
template <flush_instruction by>
[[gnu::always_inline]] inline bool write_back_by(flush_instruction how, const void* at,
                                                 std::size_t bytes) noexcept {
  if (how != by) return false;
  for_each_line(at, bytes, [](const void* line) { write_back(by, line); });
  return true;
}

/// Of every line that [at, at + bytes) touches: which instruction it is, is asked once. Returns
/// whether there was one.
inline bool write_back_all(flush_instruction how, const void* at, std::size_t bytes) noexcept {
  using enum flush_instruction;
#if defined(__x86_64__)
  return write_back_by<clwb>(how, at, bytes) || write_back_by<clflush>(how, at, bytes) ||
         write_back_by<clflushopt>(how, at, bytes);
#else
  return write_back_by<cvap>(how, at, bytes) || write_back_by<civac>(how, at, bytes) ||
         write_back_by<short_cvap>(how, at, bytes) || write_back_by<short_civac>(how, at, bytes);
#endif
}

}  // namespace durahash
