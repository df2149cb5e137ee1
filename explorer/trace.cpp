#include "explorer/trace.hpp"

#include <algorithm>
#include <iterator>
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
  const key wanted{where.name(), where.file(), where.line(), which};
  place_index& last = last_[(7 * wanted.line + static_cast<unsigned>(which)) % std::size(last_)];
  if (last < keys_.size() && keys_[last] == wanted) return last;
  last = static_cast<place_index>(std::find(keys_.begin(), keys_.end(), wanted) - keys_.begin());
  if (last == keys_.size()) {
    keys_.push_back(wanted);
    all_.push_back({where.name(), short_name(where.file()), where.line(), which});
  }
  return last;
}

}  // namespace durahash::crash
