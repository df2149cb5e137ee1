// CRC-32C (Castagnoli), as iSCSI, ext4 and Btrfs have it: one instruction for eight bytes where the
// processor has one. For records, which are short: XXH3 takes more for them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

namespace durahash {

namespace detail {

/// What a byte does to a sum, where no instruction does it.
inline constexpr auto crc32c_table = [] {
  std::array<std::uint32_t, 256> made{};
  for (std::uint32_t n = 0; n < made.size(); ++n) {
    std::uint32_t x = n;
    for (int bit = 0; bit < 8; ++bit) x = x >> 1 ^ ((x & 1) != 0 ? 0x82f63b78u : 0);
    made[n] = x;
  }
  return made;
}();

#if defined(__SSE4_2__)
inline constexpr bool crc32c_by_instruction = true;
inline std::uint64_t crc32c_of(std::uint64_t sum, std::uint64_t x) noexcept {
  return __builtin_ia32_crc32di(sum, x);  // the high half stays 0
}
inline std::uint32_t crc32c_of(std::uint32_t sum, std::uint32_t x) noexcept {
  return __builtin_ia32_crc32si(sum, x);
}
inline std::uint32_t crc32c_of(std::uint32_t sum, std::uint8_t x) noexcept {
  return __builtin_ia32_crc32qi(sum, x);
}
#elif defined(__ARM_FEATURE_CRC32)
inline constexpr bool crc32c_by_instruction = true;
inline std::uint64_t crc32c_of(std::uint64_t sum, std::uint64_t x) noexcept {
  return __crc32cd(static_cast<std::uint32_t>(sum), x);
}
inline std::uint32_t crc32c_of(std::uint32_t sum, std::uint32_t x) noexcept {
  return __crc32cw(sum, x);
}
inline std::uint32_t crc32c_of(std::uint32_t sum, std::uint8_t x) noexcept {
  return __crc32cb(sum, x);
}
#else
inline constexpr bool crc32c_by_instruction = false;
inline std::uint32_t crc32c_of(std::uint32_t sum, std::uint8_t x) noexcept {
  return sum >> 8 ^ crc32c_table[(sum ^ x) & 255];
}
#endif

template <class Word, class Sum>
Sum crc32c_next(Sum sum, const char* bytes) noexcept {
  Word x;
  std::memcpy(&x, bytes, sizeof x);
  return crc32c_of(sum, x);
}

}  // namespace detail

/// Of bytes that come in parts.
class crc32c {
 public:
  [[gnu::always_inline]] crc32c& add(const char* bytes, std::size_t count) noexcept {
    using namespace detail;
    if constexpr (crc32c_by_instruction) {
      std::uint64_t eight = sum_;
      for (; count >= 32; bytes += 32, count -= 32)
        for (int n = 0; n < 32; n += 8) eight = crc32c_next<std::uint64_t>(eight, bytes + n);
      if ((count & 16) != 0) {
        for (int n = 0; n < 16; n += 8) eight = crc32c_next<std::uint64_t>(eight, bytes + n);
        bytes += 16;
      }
      if ((count & 8) != 0) eight = crc32c_next<std::uint64_t>(eight, bytes), bytes += 8;
      sum_ = static_cast<std::uint32_t>(eight);
      if ((count & 7) == 0) return *this;  // as keys and values often are
      if ((count & 4) != 0) sum_ = crc32c_next<std::uint32_t>(sum_, bytes), bytes += 4;
      count &= 3;
    }
    for (; count != 0; ++bytes, --count) sum_ = crc32c_next<std::uint8_t>(sum_, bytes);
    return *this;
  }
  std::uint32_t value() const noexcept { return ~sum_; }

 private:
  std::uint32_t sum_ = ~std::uint32_t{0};
};

}  // namespace durahash
