// key<TAB>value with backslash escapes: one line per record, whatever the bytes.
#include "encoding.hpp"
#include "format.hpp"

namespace durahash::tool {
namespace {

void unescape(std::string_view text, std::string& field) {
  if (const auto complaint = append_unescaped(field, text)) throw bad_record(*complaint);
}

}  // namespace

void append_tsv_field(std::string& text, std::string_view field) { append_escaped(text, field); }

void decode_tsv(std::string_view frame, record_kinds kinds, record& into) {
  const std::size_t tab = frame.find('\t');
  if (tab != std::string_view::npos) {
    const std::string_view value = frame.substr(tab + 1);
    if (value.find('\t') != std::string_view::npos)
      throw bad_record(
          "more than two fields: a record is key<TAB>value (write \\t for a tab inside a field)");
    into.has_value = true;
    unescape(value, into.value);
    decode_field(kinds.value, "value", into.value);
  }
  unescape(frame.substr(0, tab), into.key);
  decode_field(kinds.key, "key", into.key);
}

}  // namespace durahash::tool
