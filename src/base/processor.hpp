// What each kind of processor spells in its own way: x86-64, aarch64.
#pragma once

#include <atomic>
#include <cstdint>

namespace durahash {

/// Whether loads stay behind earlier loads, and stores behind earlier stores, as on x86. Elsewhere
/// what must stay in order has an instruction that sees to it.
#ifdef __x86_64__
inline constexpr bool keeps_order = true;
#else
inline constexpr bool keeps_order = false;
#endif

/// Of this thread what comes after stays behind it, as `order` says: for the compiler, and for
/// processors that do not keep that order by themselves. Where a load must stay behind an earlier
/// store x86 needs more than this.
[[gnu::always_inline]] inline void keep_order(std::memory_order order) noexcept {
  if constexpr (keeps_order) std::atomic_signal_fence(order);
  else std::atomic_thread_fence(order);
}

/// A product of 128 bits, in halves.
struct wide_product {
  std::uint64_t high, low;
};
[[gnu::always_inline]] inline wide_product multiply_wide(std::uint64_t a,
                                                         std::uint64_t b) noexcept {
#if defined(__x86_64__) && !defined(__CUDA_ARCH__)
  wide_product p;  // the compiler's own type of 128 bits costs it registers
  asm("mulq %3" : "=d"(p.high), "=a"(p.low) : "1"(a), "rm"(b) : "cc");
  return p;
#else
  __extension__ using wide = unsigned __int128;
  const wide product = static_cast<wide>(a) * b;
  return {static_cast<std::uint64_t>(product >> 64), static_cast<std::uint64_t>(product)};
#endif
}

/// For a loop that waits for another thread.
[[gnu::always_inline]] inline void pause_briefly() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");  // `yield` does nothing on most of them
#endif
}

/// Asks for the line in a state that can be written, so that the store does not wait for it.
inline void prefetch_for_write(const void* at) noexcept {
#ifdef __x86_64__
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(at)));
#else
  __builtin_prefetch(at, 1);
#endif
}

}  // namespace durahash
