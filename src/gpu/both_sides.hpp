// Functions whose lines are compiled for the GPU and, in lockstep, for the host.
#pragma once

#include <bit>
#include <cstdint>

#ifdef __CUDACC__
#define DURAHASH_ON_DEVICE __device__
// of the loop behind it
#define DURAHASH_UNROLLED _Pragma("unroll")
#define DURAHASH_ROLLED _Pragma("unroll 1")
#else
#define DURAHASH_ON_DEVICE
#define DURAHASH_UNROLLED
#define DURAHASH_ROLLED
#endif

namespace durahash::gpu {

/// Of bits that are not 0.
constexpr int highest_bit(std::uint32_t bits) noexcept {
#ifdef __CUDA_ARCH__
  return 31 - __clz(static_cast<int>(bits));
#else
  return 31 - std::countl_zero(bits);
#endif
}

}  // namespace durahash::gpu
