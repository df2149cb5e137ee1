// What each kind of processor spells in its own way: x86-64, aarch64.
#pragma once

#include <atomic>

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
