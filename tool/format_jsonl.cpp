// One JSON object per line. JSON strings are Unicode, so bytes that are not UTF-8 go in base64
// under another name.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "encoding.hpp"
#include "format.hpp"
#include "numbers.hpp"

namespace durahash::tool {
namespace {

using nlohmann::json;

void decode_member(const json& member, const std::string& name, data_kind kind,
                   std::string& field) {
  if (kind == data_kind::u64 && member.is_number_unsigned()) {
    field = bytes_of_word(member.get<std::uint64_t>());
  } else if (member.is_string()) {
    field = member.get_ref<const std::string&>();
    decode_field(kind, name, field);
  } else if (kind == data_kind::u64) {
    throw bad_record("\"" + name + "\" is " + member.dump() + ", not a 64-bit number");
  } else {
    throw bad_record("\"" + name + "\" is not a string, and this pool's " + name + "s are bytes");
  }
}

void decode_base64_member(const json& member, const std::string& name, data_kind kind,
                          std::string& field) {
  if (kind == data_kind::u64)
    throw bad_record("\"" + name + "_base64\", but this pool's " + name + "s are 64-bit numbers");
  if (!member.is_string() || !append_from_base64(field, member.get_ref<const std::string&>()))
    throw bad_record("\"" + name + "_base64\" is not base64");
}

/// The object on the line. JSON leaves open which of two members of one name counts: no record is
/// guessed from them.
json parse_line(std::string_view frame) {
  std::vector<std::string> names;
  const auto look = [&](int depth, json::parse_event_t event, json& parsed) {
    if (depth != 1 || event != json::parse_event_t::key) return true;
    const std::string& name = parsed.get_ref<const std::string&>();
    if (std::find(names.begin(), names.end(), name) != names.end())
      throw bad_record("the member \"" + name + "\" stands there twice");
    names.push_back(name);
    return true;
  };
  return json::parse(frame, look, false);
}

}  // namespace

void append_json_field(std::string& text, std::string_view name, data_kind kind,
                       std::string_view bytes) {
  text.append("\"").append(name);
  if (kind == data_kind::u64) {
    text.append("\":").append(text_of(kind, bytes));
  } else if (is_utf8(bytes)) {
    text.append("\":").append(json(bytes).dump());
  } else {
    text.append("_base64\":\"");
    append_base64(text, bytes);
    text.append("\"");
  }
}

void decode_jsonl(std::string_view frame, record_kinds kinds, record& into) {
  const json line = parse_line(frame);
  if (!line.is_object())
    throw bad_record("not a JSON object on one line, like {\"key\":\"k\",\"value\":\"v\"}");
  int keys = 0;
  int values = 0;
  for (const auto& [name, member] : line.items()) {
    if (name == "key") {
      decode_member(member, "key", kinds.key, into.key);
      ++keys;
    } else if (name == "key_base64") {
      decode_base64_member(member, "key", kinds.key, into.key);
      ++keys;
    } else if (name == "value") {
      decode_member(member, "value", kinds.value, into.value);
      ++values;
    } else if (name == "value_base64") {
      decode_base64_member(member, "value", kinds.value, into.value);
      ++values;
    } else if (name == "erase") {
      if (!member.is_boolean())
        throw bad_record("\"erase\" is " + member.dump() + ", and neither true nor false");
      into.erase = member.get<bool>();
    } else {
      throw bad_record("the member \"" + name +
                       "\" has no meaning here: a record has a key and a value");
    }
  }
  if (keys != 1) throw bad_record(keys == 0 ? "no \"key\"" : "both \"key\" and \"key_base64\"");
  if (values > 1) throw bad_record("both \"value\" and \"value_base64\"");
  if (into.erase && values != 0) throw bad_record("\"erase\" together with a value");
  into.has_value = values == 1;
}

}  // namespace durahash::tool
