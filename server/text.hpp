// Fields and values as clients write them: bytes as they are, words as decimal numbers.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "durahash/options.hpp"

namespace durahash::server {

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number n{};
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, n);
  if (text.empty() || read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return n;
}

/// Bytes of the pool for what a client wrote. `room` holds those of a word.
inline std::optional<std::string_view> as_bytes(data_kind kind, std::string_view text,
                                                std::uint64_t& room) {
  if (kind == data_kind::bytes) return text;
  const auto word = number_in<std::uint64_t>(text);
  if (!word) return std::nullopt;
  room = *word;  // little-endian, as every x86-64
  return std::string_view(reinterpret_cast<const char*>(&room), sizeof room);
}

inline std::string as_text(data_kind kind, std::string_view bytes) {
  if (kind == data_kind::bytes || bytes.size() != sizeof(std::uint64_t)) return std::string(bytes);
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data(), sizeof word);
  return std::to_string(word);
}

}  // namespace durahash::server
