#include "encoding.hpp"

#include <array>
#include <cstdint>

namespace durahash::tool {
namespace {

bool is_between(unsigned char byte, int low, int high) noexcept {
  return byte >= low && byte <= high;
}

int hex_value(char digit) noexcept {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

void append_hex(std::string& text, unsigned char byte) {
  constexpr char digits[] = "0123456789abcdef";
  text += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
}

constexpr char base64_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<std::int8_t, 256> base64_values = [] {
  std::array<std::int8_t, 256> values{};
  values.fill(-1);
  for (int i = 0; i < 64; ++i)
    values[static_cast<unsigned char>(base64_digits[i])] = static_cast<std::int8_t>(i);
  return values;
}();

}  // namespace

std::size_t utf8_character_bytes(std::string_view bytes) noexcept {
  if (bytes.empty()) return 0;
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const auto continues = [&](std::size_t i) { return is_between(at(i), 0x80, 0xbf); };
  const unsigned char first = at(0);
  if (first < 0x80) return 1;
  if (is_between(first, 0xc2, 0xdf)) return bytes.size() >= 2 && continues(1) ? 2 : 0;
  if (is_between(first, 0xe0, 0xef)) {
    // No overlong forms, no surrogates.
    const int low = first == 0xe0 ? 0xa0 : 0x80;
    const int high = first == 0xed ? 0x9f : 0xbf;
    return bytes.size() >= 3 && is_between(at(1), low, high) && continues(2) ? 3 : 0;
  }
  if (is_between(first, 0xf0, 0xf4)) {
    // No overlong forms, nothing past U+10FFFF.
    const int low = first == 0xf0 ? 0x90 : 0x80;
    const int high = first == 0xf4 ? 0x8f : 0xbf;
    return bytes.size() >= 4 && is_between(at(1), low, high) && continues(2) && continues(3) ? 4
                                                                                             : 0;
  }
  return 0;
}

bool is_utf8(std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const std::size_t length = utf8_character_bytes(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

void append_escaped(std::string& text, std::string_view bytes) {
  while (!bytes.empty()) {
    const unsigned char first = static_cast<unsigned char>(bytes[0]);
    std::size_t length = utf8_character_bytes(bytes);
    if (length == 0 || first < 0x20 || first == 0x7f || bytes.starts_with(byte_order_mark)) {
      switch (first) {
        case '\t': text += "\\t"; break;
        case '\n': text += "\\n"; break;
        case '\r': text += "\\r"; break;
        default: append_hex(text, first);
      }
      length = 1;
    } else if (first == '\\') {
      text += "\\\\";
    } else {
      text.append(bytes, 0, length);
    }
    bytes.remove_prefix(length);
  }
}

std::optional<std::string> append_unescaped(std::string& bytes, std::string_view text) {
  while (!text.empty()) {
    const std::size_t plain = std::min(text.find('\\'), text.size());
    bytes.append(text, 0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    if (text.size() < 2) return "a backslash at the end of a field: write \\\\ for a backslash";
    std::size_t length = 2;
    switch (text[1]) {
      case 't': bytes += '\t'; break;
      case 'n': bytes += '\n'; break;
      case 'r': bytes += '\r'; break;
      case '\\': bytes += '\\'; break;
      case '&': break;  // stands for nothing: an empty key alone on its line
      case 'x': {
        const int high = text.size() < 4 ? -1 : hex_value(text[2]);
        const int low = text.size() < 4 ? -1 : hex_value(text[3]);
        if (high < 0 || low < 0) return "\\x without two hexadecimal digits behind it";
        bytes += static_cast<char>(high * 16 + low);
        length = 4;
        break;
      }
      default: {
        std::string character;
        append_escaped(character, text.substr(1, std::max<std::size_t>(
                                                     1, utf8_character_bytes(text.substr(1)))));
        return "the escape \\" + character + " has no meaning: write \\\\ for a backslash";
      }
    }
    text.remove_prefix(length);
  }
  return std::nullopt;
}

void append_base64(std::string& text, std::string_view bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t group = 0;
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    for (std::size_t i = 0; i < 3; ++i)
      group = group << 8 | (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0u);
    for (std::size_t i = 0; i < 4; ++i)
      text += i <= count ? base64_digits[group >> (18 - 6 * i) & 63] : '=';
  }
}

bool append_from_base64(std::string& bytes, std::string_view text) {
  if (text.size() % 4 != 0) return false;
  for (std::size_t at = 0; at < text.size(); at += 4) {
    const bool last = at + 4 == text.size();
    std::size_t digits = 4;
    while (last && digits > 2 && text[at + digits - 1] == '=') --digits;
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const int value = i < digits ? base64_values[static_cast<unsigned char>(text[at + i])] : 0;
      if (value < 0) return false;
      group = group << 6 | static_cast<std::uint32_t>(value);
    }
    const std::size_t count = digits - 1;
    if ((group & ((1u << (24 - 8 * count)) - 1)) != 0) return false;  // bits that stand for nothing
    for (std::size_t i = 0; i < count; ++i) bytes += static_cast<char>(group >> (16 - 8 * i));
  }
  return true;
}

}  // namespace durahash::tool
