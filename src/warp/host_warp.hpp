// A GPU's warp on the host: 32 lanes that look at 32 words in one go (GPHash §3.1, "one-shot warp
// access"). The widths differ in instructions alone.
#pragma once

#include <cstdint>

namespace durahash {

class host_warp {
 public:
  static constexpr unsigned lanes = 32;
  enum class width : std::uint8_t { scalar, avx2, avx512 };

  static bool is_here(width w) noexcept;

  /// The widest that this machine has; or what the environment variable DURAHASH_WARP names
  /// (scalar, avx2, avx512), if it has that.
  static width widest() noexcept;

  explicit host_warp(width w = widest()) noexcept;

  /// Bit i * slots + j says whether word j of the i-th bucket is `word`. At most 32 words; `slots`
  /// is 2, 4, 8 or 16, and buckets are aligned to 16 bytes. Each word is read at once, as by a
  /// relaxed atomic load; the order among them is open.
  std::uint32_t ballot(const std::uint64_t* const* buckets, unsigned count, unsigned slots,
                       std::uint64_t word) const noexcept {
    return ballot_(buckets, count, slots, word);
  }

 private:
  using ballot_function = std::uint32_t (*)(const std::uint64_t* const*, unsigned, unsigned,
                                            std::uint64_t) noexcept;
  ballot_function ballot_;
};

}  // namespace durahash
