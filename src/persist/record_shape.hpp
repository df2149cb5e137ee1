// How long the parts of a record are: what its first eight bytes say, on any side.
#pragma once

#include <cstddef>
#include <cstdint>

namespace durahash {

/// A record is 16-aligned: a header, the key's bytes, the value's. The header has one of two forms.
///   short   8 bytes: keys of at most 127 bytes, values of less than 16 MiB, in pools that may have
///           such (incompat bit 2)
///           u32   bit 31 set, the key's bytes in bits 24-30, the value's in bits 0-23
///           u32   CRC-32C of these four bytes, of the key and of the value
///   long    16 bytes: all others
///           u32   the key's bytes, at most max_key_bytes: bit 31 is not set
///           u32   the value's bytes
///           u64   XXH3-64 of key and value, seeded with both lengths (record.hpp)
struct record_shape {
  std::uint32_t header_bytes, key_bytes, value_bytes;

  static constexpr std::size_t short_bytes = 8;
  static constexpr std::uint32_t is_short = std::uint32_t{1} << 31;
  static constexpr std::uint32_t longest_short_key = 127, longest_short_value = (1 << 24) - 1;
  static constexpr std::uint64_t least_bytes = 16;  // of a record's cell

  /// What the first eight bytes say.
  static constexpr record_shape of(std::uint64_t first) noexcept {
    const auto low = static_cast<std::uint32_t>(first);
    if ((low & is_short) != 0)
      return {short_bytes, low >> 24 & longest_short_key, low & longest_short_value};
    return {16, low, static_cast<std::uint32_t>(first >> 32)};
  }
  constexpr std::uint64_t bytes() const noexcept {
    return std::uint64_t{header_bytes} + key_bytes + value_bytes;
  }
};

}  // namespace durahash
