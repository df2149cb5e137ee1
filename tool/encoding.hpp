// Bytes as text: UTF-8 where they are, escapes and base64 where they are not.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace durahash::tool {

/// Length of the well-formed UTF-8 character that `bytes` begins with (Unicode, table 3-7); 0 if
/// there is none.
std::size_t utf8_character_bytes(std::string_view bytes) noexcept;

bool is_utf8(std::string_view bytes) noexcept;

/// Editors put it before a text; nobody sees it.
inline constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

/// Whether a text of UTF-16 begins so, of either order: its lines are none here.
inline bool begins_as_utf16(std::string_view text) noexcept {
  return text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff");
}

/// Appends `bytes` with \t \n \r \\ for these four, \xHH for other control characters, for U+FEFF
/// and for whatever is not UTF-8. The result is one line of UTF-8, without tabs.
void append_escaped(std::string& text, std::string_view bytes);

/// The bytes that append_escaped was given. Returns what is wrong with `text`, or nothing.
std::optional<std::string> append_unescaped(std::string& bytes, std::string_view text);

/// Base64 with padding (RFC 4648, section 4).
void append_base64(std::string& text, std::string_view bytes);

/// False if `text` is not exactly what append_base64 writes.
bool append_from_base64(std::string& bytes, std::string_view text);

}  // namespace durahash::tool
