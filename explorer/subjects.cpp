// The engines that are explored: a new one joins by a line here and its entry.
#include "explorer/subjects.hpp"

namespace durahash::crash {

std::string subject_kind::text() const {
  std::string text(durahash::name_of(engine));
  text += words() ? "/u64" : "/bytes";
  text += level == durability_level::power ? "/power" : "/process";
  return variant.empty() ? text : text + "/" + variant;
}

const std::vector<explored_engine>& explored_engines() {
  static const std::vector<explored_engine> all = {turbo_subject(), cceh_subject(), level_subject(),
                                                   gphash_subject()};
  return all;
}

}  // namespace durahash::crash
