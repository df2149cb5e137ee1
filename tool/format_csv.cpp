// key,value with the quoting of RFC 4180, which carries any byte.
#include "encoding.hpp"
#include "format.hpp"

namespace durahash::tool {
namespace {

/// Reads the field that `rest` begins with and removes it; true if a comma follows.
bool take_field(std::string_view& rest, std::string& field) {
  if (!rest.starts_with('"')) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    field = rest.substr(0, comma);
    if (field.find('"') != std::string::npos)
      throw bad_record(
          "a quote inside a field that does not begin with one: put the field in quotes and double "
          "those inside");
    rest.remove_prefix(comma);
  } else {
    for (;;) {
      rest.remove_prefix(1);
      const std::size_t quote = rest.find('"');
      if (quote == std::string_view::npos) throw bad_record("a quoted field that never ends");
      field += rest.substr(0, quote);
      rest.remove_prefix(quote + 1);
      if (!rest.starts_with('"')) break;
      field += '"';
    }
    if (!rest.empty() && rest[0] != ',')
      throw bad_record("text between the end of a quoted field and the next comma");
  }
  if (rest.empty()) return false;
  rest.remove_prefix(1);
  return true;
}

}  // namespace

void append_csv_field(std::string& text, std::string_view field) {
  const bool plain =
      field.find_first_of(std::string_view(",\"\r\n", 4)) == std::string_view::npos &&
      !field.starts_with(' ') && !field.ends_with(' ') && !field.starts_with(byte_order_mark) &&
      !begins_as_utf16(field);
  if (plain) {
    text += field;
    return;
  }
  text += '"';
  for (const char c : field) {
    if (c == '"') text += '"';
    text += c;
  }
  text += '"';
}

void decode_csv(std::string_view frame, record_kinds kinds, record& into) {
  if (take_field(frame, into.key)) {
    into.has_value = true;
    if (take_field(frame, into.value))
      throw bad_record(
          "more than two fields: a record is key,value (quote a field that has a comma in it)");
    decode_field(kinds.value, "value", into.value);
  }
  decode_field(kinds.key, "key", into.key);
}

}  // namespace durahash::tool
