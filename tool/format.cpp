#include "format.hpp"

#include "numbers.hpp"

namespace durahash::tool {

std::string_view name_of(format_kind format) noexcept {
  switch (format) {
    case format_kind::csv: return "csv";
    case format_kind::tsv: return "tsv";
    case format_kind::jsonl: return "jsonl";
  }
  return "";
}

std::optional<format_kind> format_named(std::string_view name) noexcept {
  if (name == "csv") return format_kind::csv;
  if (name == "tsv") return format_kind::tsv;
  if (name == "jsonl") return format_kind::jsonl;
  return std::nullopt;
}

std::optional<format_kind> format_of_file(std::string_view path) noexcept {
  const std::size_t dot = path.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view ending = path.substr(dot + 1);
  if (ending == "ndjson" || ending == "json") return format_kind::jsonl;
  return format_named(ending);
}

std::string_view record_format::header() const {
  switch (format_) {
    case format_kind::csv: return "key,value\n";
    case format_kind::tsv: return "key\tvalue\n";
    case format_kind::jsonl: return "";
  }
  return "";
}

void record_format::append(std::string& text, std::string_view key, std::string_view value) const {
  switch (format_) {
    case format_kind::csv:
      append_csv_field(text, text_of(kinds_.key, key));
      text += ',';
      append_csv_field(text, text_of(kinds_.value, value));
      break;
    case format_kind::tsv:
      append_tsv_field(text, text_of(kinds_.key, key));
      text += '\t';
      append_tsv_field(text, text_of(kinds_.value, value));
      break;
    case format_kind::jsonl:
      text += '{';
      append_json_field(text, "key", kinds_.key, key);
      text += ',';
      append_json_field(text, "value", kinds_.value, value);
      text += '}';
      break;
  }
  text += '\n';
}

void record_format::append_key(std::string& text, std::string_view key) const {
  switch (format_) {
    case format_kind::csv:
      if (key.empty()) text += "\"\"";  // an empty line would be skipped
      append_csv_field(text, text_of(kinds_.key, key));
      break;
    case format_kind::tsv:
      if (key.empty()) text += "\\&";
      append_tsv_field(text, text_of(kinds_.key, key));
      break;
    case format_kind::jsonl:
      text += '{';
      append_json_field(text, "key", kinds_.key, key);
      text += '}';
      break;
  }
  text += '\n';
}

void record_format::decode(std::string_view frame, record& into) const {
  into.key.clear();
  into.value.clear();
  into.has_value = into.erase = false;
  switch (format_) {
    case format_kind::csv: return decode_csv(frame, kinds_, into);
    case format_kind::tsv: return decode_tsv(frame, kinds_, into);
    case format_kind::jsonl: return decode_jsonl(frame, kinds_, into);
  }
}

void decode_field(data_kind kind, std::string_view what, std::string& field) {
  if (kind == data_kind::bytes) return;
  const auto word = parse_word(field);
  if (!word)
    throw bad_record("the " + std::string(what) + " " + shown(data_kind::bytes, field) +
                     " is not a 64-bit number (decimal, or hexadecimal after 0x)");
  field = bytes_of_word(*word);
}

}  // namespace durahash::tool
