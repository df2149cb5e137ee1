// Time: the processor's counter, in order with what it measures.
#pragma once

#ifdef __x86_64__
#include <x86intrin.h>
#endif

#include <chrono>
#include <cstdint>

namespace durahash::bench {

using ticks = std::uint64_t;

/// Everything before has finished, nothing after has begun. About 20 ns: it ends the overlap of
/// neighbouring operations, which is what a latency is about, and what a throughput must not
/// suffer.
inline ticks ordered_ticks() noexcept {
#ifdef __x86_64__
  _mm_lfence();
  ticks now = __rdtsc();
  _mm_lfence();
#else
  ticks now;
  asm volatile("isb; mrs %0, cntvct_el0; isb" : "=r"(now)::"memory");
#endif
  return now;
}

/// Measured once per process against the steady clock, over 20 ms.
double ns_per_tick() noexcept;

/// What an empty measurement reads, median, in ns: how much of a latency is the clock itself.
double clock_ns() noexcept;

inline double seconds_between(std::chrono::steady_clock::time_point from,
                              std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace durahash::bench
