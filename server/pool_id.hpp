// The name of a pool: 128 random bits. Keys are renamed, pools are not.
#pragma once

#include <array>
#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace durahash::server {

struct pool_id {
  static constexpr std::size_t size_bytes = 16;
  std::array<char, size_bytes> bytes{};

  auto operator<=>(const pool_id&) const = default;
  std::string_view view() const { return {bytes.data(), bytes.size()}; }
  std::string text() const;  ///< 32 hexadecimal digits

  static pool_id random();
  static std::optional<pool_id> of(std::string_view bytes);
  static std::optional<pool_id> named(std::string_view text);
};

}  // namespace durahash::server
