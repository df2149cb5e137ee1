// Records as lines of text: what `dump` writes and `load` reads back, byte for byte.
//
//   csv    key,value          RFC 4180: a field with a comma, a quote, a line end or an edge in it
//          stands in quotes, quotes inside are doubled
//   tsv    key<TAB>value      \t \n \r \\ and \xHH for what is not printable UTF-8; \& stands for
//          nothing
//   jsonl  {"key":"k","value":"v"}    words as numbers; bytes that are not UTF-8 as "key_base64",
//          "value_base64"; "erase":true erases
//
// Words are decimal, or hexadecimal after 0x when read. A line that holds the key alone names a
// record without its value: `load --acks` writes it, `load --erase` reads it.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "pool.hpp"

namespace durahash::tool {

enum class format_kind { csv, tsv, jsonl };

std::string_view name_of(format_kind format) noexcept;
std::optional<format_kind> format_named(std::string_view name) noexcept;

/// By the ending of a file's name: .csv, .tsv, .jsonl, .ndjson, .json. Nothing if it has none of
/// these.
std::optional<format_kind> format_of_file(std::string_view path) noexcept;

/// One line of a file, decoded into the bytes that the table takes.
struct record {
  std::string key;
  std::string value;
  bool has_value = false;
  bool erase = false;
};

/// A line that is no record. The sentence says what is wrong; the reader of the file knows where.
struct bad_record : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// How one format writes and reads a record. A frame is a record's text without its line end.
class record_format {
 public:
  record_format(format_kind format, record_kinds kinds) : format_(format), kinds_(kinds) {}

  format_kind kind() const { return format_; }
  record_kinds kinds() const { return kinds_; }

  /// A first line of column names; empty for jsonl, whose records name their parts themselves.
  std::string_view header() const;

  /// Appends the record and a line end.
  void append(std::string& text, std::string_view key, std::string_view value) const;

  /// Appends the key alone and a line end.
  void append_key(std::string& text, std::string_view key) const;

  /// Throws bad_record.
  void decode(std::string_view frame, record& into) const;

 private:
  format_kind format_;
  record_kinds kinds_;
};

// The three formats, each in its own file.
void append_csv_field(std::string& text, std::string_view field);
void append_tsv_field(std::string& text, std::string_view field);
void append_json_field(std::string& text, std::string_view name, data_kind kind,
                       std::string_view bytes);
void decode_csv(std::string_view frame, record_kinds kinds, record& into);
void decode_tsv(std::string_view frame, record_kinds kinds, record& into);
void decode_jsonl(std::string_view frame, record_kinds kinds, record& into);

/// Turns a field's text into the table's bytes, in place. Throws bad_record when it has to be a
/// 64-bit number and is none.
void decode_field(data_kind kind, std::string_view what, std::string& field);

}  // namespace durahash::tool
