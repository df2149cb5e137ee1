#include "explorer/trace.hpp"

#include <string_view>

namespace durahash::crash {
namespace {

const char* name_of(verb v) {
  switch (v) {
    case verb::store: return "store";
    case verb::store_bytes: return "store_bytes";
    case verb::flush: return "flush";
    case verb::fence: return "fence";
    case verb::publish_unfenced: return "publish";
  }
  return "?";
}

/// From the last folder of ours on, so that a report is the same wherever the sources lie.
std::string short_name(std::string_view file) {
  for (std::string_view top : {"/src/", "/test/", "/crash/"})
    if (auto at = file.rfind(top); at != std::string_view::npos)
      return std::string(file.substr(at + 1));
  return std::string(file);
}

}  // namespace

std::string place::told() const {
  return file + ":" + std::to_string(line) + " " + name_of(which) +
         (name.empty() ? "" : " " + name);
}

std::string place::text() const { return name.empty() ? told() : name; }

place_index places::index_of(verb which, const site& where) {
  key wanted{where.name(), where.file(), where.line(), which};
  for (std::size_t i = keys_.size(); i-- > 0;)
    if (keys_[i] == wanted) return static_cast<place_index>(i);
  keys_.push_back(wanted);
  all_.push_back({where.name(), short_name(where.file()), where.line(), which});
  return static_cast<place_index>(all_.size() - 1);
}

}  // namespace durahash::crash
