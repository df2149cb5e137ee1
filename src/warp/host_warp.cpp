#include "warp/host_warp.hpp"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include <cstdlib>
#include <string_view>

namespace durahash {
namespace {

std::uint32_t scalar_ballot(const std::uint64_t* const* buckets, unsigned count, unsigned slots,
                            std::uint64_t word) noexcept {
  std::uint32_t equal = 0;
  for (unsigned i = 0; i < count; ++i)
    for (unsigned j = 0; j < slots; ++j)
      equal |= std::uint32_t{__atomic_load_n(buckets[i] + j, __ATOMIC_RELAXED) == word}
               << (i * slots + j);
  return equal;
}

#ifdef __x86_64__

[[gnu::target("avx2")]] std::uint32_t avx2_ballot(const std::uint64_t* const* buckets,
                                                  unsigned count, unsigned slots,
                                                  std::uint64_t word) noexcept {
  __m256i wanted = _mm256_set1_epi64x(static_cast<long long>(word));
  auto four_at = [](const std::uint64_t* at) { return reinterpret_cast<const __m256i*>(at); };
  std::uint32_t equal = 0;
  if (slots == 2) {  // two buckets at a time
    for (unsigned i = 0; i < count; i += 2) {
      auto low = reinterpret_cast<const __m128i*>(buckets[i]),
           high = reinterpret_cast<const __m128i*>(buckets[i + 1 < count ? i + 1 : i]);
      __m256i four = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_load_si128(low)),
                                             _mm_load_si128(high), 1);
      auto both = static_cast<std::uint32_t>(
          _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(four, wanted))));
      equal |= (i + 1 < count ? both : both & 3) << (i * 2);
    }
    return equal;
  }
  for (unsigned i = 0; i < count; ++i)
    for (unsigned j = 0; j < slots; j += 4) {
      __m256i four = _mm256_loadu_si256(four_at(buckets[i] + j));
      equal |= static_cast<std::uint32_t>(
                   _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(four, wanted))))
               << (i * slots + j);
    }
  return equal;
}

[[gnu::target("avx512f")]] std::uint32_t avx512_ballot(const std::uint64_t* const* buckets,
                                                       unsigned count, unsigned slots,
                                                       std::uint64_t word) noexcept {
  if (slots < 8) return avx2_ballot(buckets, count, slots, word);
  __m512i wanted = _mm512_set1_epi64(static_cast<long long>(word));
  std::uint32_t equal = 0;
  for (unsigned i = 0; i < count; ++i)
    for (unsigned j = 0; j < slots; j += 8)
      equal |= std::uint32_t{_mm512_cmpeq_epi64_mask(_mm512_loadu_si512(buckets[i] + j), wanted)}
               << (i * slots + j);
  return equal;
}

bool has(host_warp::width w) noexcept {
  if (w == host_warp::width::avx512)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx2");
  return __builtin_cpu_supports("avx2");
}

#else

constexpr auto avx2_ballot = scalar_ballot, avx512_ballot = scalar_ballot;
bool has(host_warp::width) noexcept { return false; }

#endif

}  // namespace

bool host_warp::is_here(width w) noexcept { return w == width::scalar || has(w); }

host_warp::width host_warp::widest() noexcept {
  constexpr struct {
    std::string_view name;
    width w;
  } all[] = {{"avx512", width::avx512}, {"avx2", width::avx2}, {"scalar", width::scalar}};
  const char* asked = std::getenv("DURAHASH_WARP");
  for (auto [name, w] : all)
    if (asked != nullptr && name == asked && is_here(w)) return w;
  for (auto [name, w] : all)
    if (is_here(w)) return w;
  return width::scalar;
}

host_warp::host_warp(width w) noexcept
    : ballot_(!is_here(w) || w == width::scalar ? scalar_ballot
              : w == width::avx2                ? avx2_ballot
                                                : avx512_ballot) {}

}  // namespace durahash
