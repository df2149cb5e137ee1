// Sixteen bytes that are compared at once: SSE on x86-64, NEON on aarch64.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#else
#error "durahash runs on x86-64 and aarch64"
#endif

#include <cstdint>

namespace durahash {

#if defined(__x86_64__)

using bytes16 = __m128i;

inline bytes16 bytes16_at(const void* at) noexcept {
  return _mm_loadu_si128(static_cast<const __m128i*>(at));
}
inline bytes16 bytes16_of(std::uint64_t low, std::uint64_t high) noexcept {
  return _mm_set_epi64x(static_cast<long long>(high), static_cast<long long>(low));
}
/// The lowest byte, sixteen times.
inline bytes16 in_each_byte(std::uint64_t lowest) noexcept {
  return _mm_shuffle_epi8(_mm_cvtsi64_si128(static_cast<long long>(lowest)), _mm_setzero_si128());
}
inline bytes16 in_each_byte(std::uint32_t lowest) noexcept {
  return _mm_shuffle_epi8(_mm_cvtsi32_si128(static_cast<int>(lowest)), _mm_setzero_si128());
}
/// A bit for each byte that is the same.
inline std::uint32_t same_bytes(bytes16 a, bytes16 b) noexcept {
  return static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(a, b)));
}
inline bytes16 in_both(bytes16 a, bytes16 b) noexcept { return _mm_and_si128(a, b); }
/// A bit for each of four words, two in each, that is this one.
inline std::uint32_t same_words(bytes16 low, bytes16 high, std::uint64_t word) noexcept {
  const __m128i wanted = _mm_set1_epi64x(static_cast<long long>(word));
  const __m128i same = _mm_packs_epi32(_mm_cmpeq_epi64(low, wanted), _mm_cmpeq_epi64(high, wanted));
  return static_cast<std::uint32_t>(_mm_movemask_ps(_mm_castsi128_ps(same)));
}
/// Two bits for each of eight words whose lower half is this one's. 16-aligned; each half is read
/// at once, the order among them is open.
[[gnu::always_inline]] inline std::uint32_t same_lower_halves(const void* eight,
                                                              std::uint64_t word) noexcept {
  const auto* const two = static_cast<const __m128*>(eight);
  const __m128i wanted = _mm_set1_epi32(static_cast<int>(word));
  auto equal = [&](const __m128* at) __attribute__((always_inline)) {
    return _mm_cmpeq_epi32(_mm_castps_si128(_mm_shuffle_ps(at[0], at[1], 0x88)), wanted);
  };
  const __m128i all = _mm_packs_epi32(equal(two), equal(two + 2));
  return static_cast<std::uint32_t>(_mm_movemask_epi8(all));
}
/// Likewise of those whose upper half is this one's, in the bits of `mask`.
[[gnu::always_inline]] inline std::uint32_t same_upper_halves(const void* eight, std::uint64_t word,
                                                              std::uint64_t mask) noexcept {
  const auto* const two = static_cast<const __m128*>(eight);
  const __m128i bits = _mm_set1_epi32(static_cast<int>(mask >> 32));
  const __m128i wanted = _mm_set1_epi32(static_cast<int>((word & mask) >> 32));
  auto equal = [&](const __m128* at) __attribute__((always_inline)) {
    const __m128i halves = _mm_castps_si128(_mm_shuffle_ps(at[0], at[1], 0xdd));
    return _mm_cmpeq_epi32(_mm_and_si128(halves, bits), wanted);
  };
  const __m128i all = _mm_packs_epi32(equal(two), equal(two + 2));
  return static_cast<std::uint32_t>(_mm_movemask_epi8(all));
}

#else

using bytes16 = uint8x16_t;

inline bytes16 bytes16_at(const void* at) noexcept {
  return vld1q_u8(static_cast<const uint8_t*>(at));
}
inline bytes16 bytes16_of(std::uint64_t low, std::uint64_t high) noexcept {
  return vreinterpretq_u8_u64(vcombine_u64(vcreate_u64(low), vcreate_u64(high)));
}
inline bytes16 in_each_byte(std::uint64_t lowest) noexcept {
  return vdupq_n_u8(static_cast<std::uint8_t>(lowest));
}
inline bytes16 in_each_byte(std::uint32_t lowest) noexcept {
  return vdupq_n_u8(static_cast<std::uint8_t>(lowest));
}
/// The highest bit of each byte, all of whose bits are alike.
inline std::uint32_t bit_of_each(uint8x16_t all_or_nothing) noexcept {
  constexpr std::uint8_t bits[] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  const uint8x16_t some = vandq_u8(all_or_nothing, vld1q_u8(bits));
  return std::uint32_t{vaddv_u8(vget_low_u8(some))} | std::uint32_t{vaddv_u8(vget_high_u8(some))}
                                                          << 8;
}
inline bytes16 in_both(bytes16 a, bytes16 b) noexcept { return vandq_u8(a, b); }
inline std::uint32_t same_bytes(bytes16 a, bytes16 b) noexcept {
  return bit_of_each(vceqq_u8(a, b));
}
inline std::uint32_t same_words(bytes16 low, bytes16 high, std::uint64_t word) noexcept {
  const uint64x2_t wanted = vdupq_n_u64(word), first = vceqq_u64(vreinterpretq_u64_u8(low), wanted),
                   second = vceqq_u64(vreinterpretq_u64_u8(high), wanted);
  auto bit = [](std::uint64_t all_or_nothing, unsigned n) {
    return static_cast<std::uint32_t>(all_or_nothing >> 63) << n;
  };
  return bit(vgetq_lane_u64(first, 0), 0) | bit(vgetq_lane_u64(first, 1), 1) |
         bit(vgetq_lane_u64(second, 0), 2) | bit(vgetq_lane_u64(second, 1), 3);
}
inline std::uint32_t same_lower_halves(const void* eight, std::uint64_t word) noexcept {
  const auto* const halves = static_cast<const std::uint32_t*>(eight);
  const uint32x4_t wanted = vdupq_n_u32(static_cast<std::uint32_t>(word));
  auto equal = [&](const std::uint32_t* at) {
    return vmovn_u32(vceqq_u32(vld2q_u32(at).val[0], wanted));
  };
  return bit_of_each(vreinterpretq_u8_u16(vcombine_u16(equal(halves), equal(halves + 8))));
}
inline std::uint32_t same_upper_halves(const void* eight, std::uint64_t word,
                                       std::uint64_t mask) noexcept {
  const auto* const halves = static_cast<const std::uint32_t*>(eight);
  const uint32x4_t bits = vdupq_n_u32(static_cast<std::uint32_t>(mask >> 32)),
                   wanted = vdupq_n_u32(static_cast<std::uint32_t>((word & mask) >> 32));
  auto equal = [&](const std::uint32_t* at) {
    return vmovn_u32(vceqq_u32(vandq_u32(vld2q_u32(at).val[1], bits), wanted));
  };
  return bit_of_each(vreinterpretq_u8_u16(vcombine_u16(equal(halves), equal(halves + 8))));
}

#endif

}  // namespace durahash
