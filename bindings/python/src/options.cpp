#include "options.hpp"

#include <nanobind/stl/string.h>

#include <limits>

namespace durahash::python {

std::string text_of(nb::handle object, const char* what) {
  if (!PyUnicode_Check(object.ptr())) raise(PyExc_TypeError, std::string(what) + " must be a str");
  return nb::cast<std::string>(object);
}

namespace {

template <class Number>
Number number_of(nb::handle given, const std::string& what) {
  Number made = 0;
  if (nb::try_cast(given, made)) return made;
  raise(PyExc_TypeError, what + " must be a whole number, from 0 to " +
                             std::to_string(std::numeric_limits<Number>::max()) + ", and is " +
                             nb::repr(given).c_str());
}

template <class Named>
auto named(nb::handle given, const char* what, Named&& find) {
  std::string name = text_of(given, what);
  auto kind = find(name);
  if (!kind) raise(PyExc_ValueError, std::string("no such ") + what + ": '" + name + "'");
  return kind;
}

}  // namespace

options options_of(nb::dict how) {
  options made;
  for (auto option : how) {  // clang 14 lets no lambda have a structured binding
    std::string field = nb::cast<std::string>(option.first);
    nb::handle given = option.second;
    auto number = [&] { return number_of<std::uint64_t>(given, field); };
    auto small = [&] { return number_of<std::uint32_t>(given, field); };
    if (field == "mode") made.mode = static_cast<open_mode>(nb::cast<int>(given));
    else if (field == "engine") made.engine = named(given, "engine", engine_named);
    else if (field == "durability") made.durability = named(given, "durability", durability_named);
    else if (field == "medium") made.medium = *named(given, "medium", medium_named);
    else if (field == "key") made.key = named(given, "key", data_kind_named);
    else if (field == "value") made.value = named(given, "value", data_kind_named);
    else if (field == "capacity") made.capacity = number();
    else if (field == "max_bytes") made.max_bytes = number();
    else if (field == "address_space_bytes") made.address_space_bytes = number();
    else if (field == "lag_milliseconds") made.lag_milliseconds = small();
    else if (field == "log_bytes") made.log_bytes = number();
    else if (field == "flush_latency_ns") made.flush_latency_ns = small();
    else if (field == "block_latency_ns") made.block_latency_ns = small();
    else if (field == "read_latency_ns") made.read_latency_ns = small();
    else if (field == "salvage") made.salvage = nb::cast<bool>(given);
    else if (field == "settings")
      for (auto [setting, number_of_it] : nb::cast<nb::dict>(given))
        made.settings[nb::cast<std::string>(setting)] =
            number_of<std::uint64_t>(number_of_it, nb::cast<std::string>(setting));
    else raise(PyExc_TypeError, "no such option: " + field);
  }
  return made;
}

nb::dict dict_of(const pool_info& is) {
  nb::dict made;
  made["engine"] = std::string(name_of(is.engine));
  made["key"] = std::string(name_of(is.key));
  made["value"] = std::string(name_of(is.value));
  made["durability"] = std::string(name_of(is.durability));
  made["medium"] = std::string(name_of(is.medium));
  made["records"] = is.records;
  made["slots"] = is.slots;
  made["load_factor"] = is.load_factor;
  made["file_bytes"] = is.file_bytes;
  made["live_bytes"] = is.live_bytes;
  made["free_bytes"] = is.free_bytes;
  made["format_version"] = is.format_version;
  made["clean"] = is.clean;
  made["may_lack_last_moments"] = is.may_lack_last_moments;
  return made;
}

nb::dict dict_of(const table_stats& are) {
  nb::dict made;
  made["flushes"] = are.media.flushes;
  made["fences"] = are.media.fences;
  made["media_read_blocks"] = are.media.media_read_blocks;
  made["media_write_blocks"] = are.media.media_write_blocks;
  for (const auto& [name, figure] : are.figures) made[name.c_str()] = figure;
  return made;
}

}  // namespace durahash::python
