#include "pool_id.hpp"

#include <algorithm>
#include <random>

namespace durahash::server {

std::string pool_id::text() const {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string made;
  for (char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    made += digits[byte >> 4];
    made += digits[byte & 15];
  }
  return made;
}

pool_id pool_id::random() {
  std::random_device source;
  std::uniform_int_distribution<int> any(0, 255);
  pool_id made;
  for (char& c : made.bytes) c = static_cast<char>(any(source));
  return made;
}

std::optional<pool_id> pool_id::of(std::string_view bytes) {
  pool_id made;
  if (bytes.size() != size_bytes) return std::nullopt;
  std::copy(bytes.begin(), bytes.end(), made.bytes.begin());
  return made;
}

std::optional<pool_id> pool_id::named(std::string_view text) {
  pool_id made;
  if (text.size() != 2 * size_bytes) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) return std::nullopt;
    auto& byte = made.bytes[i / 2];
    byte = static_cast<char>(i % 2 == 0 ? digit << 4 : byte | digit);
  }
  return made;
}

}  // namespace durahash::server
