// In place of the one of the same name that CCEH's authors have: a line is written back by CLWB and
// SFENCE, as in all other tables here, without the delay of an emulated medium and its counter.
#pragma once

#include <immintrin.h>

#include <cstddef>

#define CAS(at, expected, desired) \
  __atomic_compare_exchange_n(at, expected, desired, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)

inline void mfence() { _mm_sfence(); }

inline void clflush(char* data, std::size_t bytes) {
  constexpr std::size_t line = 64;
  char* at = data - reinterpret_cast<std::size_t>(data) % line;
  for (; at < data + bytes; at += line) {
#ifdef __CLWB__
    _mm_clwb(at);
#else
    _mm_clflushopt(at);
#endif
  }
  _mm_sfence();
}
