// A number as an environment or a property has it.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace durahash::harness {

/// Nothing where it is none, or needs more than 64 bits.
inline std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stopped == end ? std::optional(value) : std::nullopt;
}

}  // namespace durahash::harness
