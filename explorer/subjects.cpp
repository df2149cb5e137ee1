// The engines that are explored: all that are listed.
#include "explorer/subjects.hpp"

namespace durahash::crash {

std::string subject_kind::text() const {
  std::string text(durahash::name_of(engine));
  text += words() ? "/u64" : "/bytes";
  text += level == durability_level::power ? "/power" : "/process";
  return variant.empty() ? text : text + "/" + variant;
}

const std::vector<explored_engine>& explored_engines() {
#define DURAHASH_ADD_SUBJECT(name) name##_subject(),
  static const std::vector<explored_engine> all = [] {
    std::vector<explored_engine> listed = {DURAHASH_ENGINES(DURAHASH_ADD_SUBJECT)};
    if (&further_subject != nullptr) listed.push_back(further_subject());
    return listed;
  }();
#undef DURAHASH_ADD_SUBJECT
  return all;
}

}  // namespace durahash::crash
