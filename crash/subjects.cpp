// The engines that are explored: a new one joins by a line of its own.
#include "crash/engine_subject.hpp"
#include "table/cceh/table.hpp"
#include "table/turbo/table.hpp"

namespace durahash::crash {

std::string subject_kind::text() const {
  std::string text(durahash::name_of(engine));
  text += words() ? "/u64" : "/bytes";
  text += level == durability_level::power ? "/power" : "/process";
  return variant.empty() ? text : text + "/" + variant;
}

const std::vector<explored_engine>& explored_engines() {
  static const std::vector<explored_engine> all = {
      {engine_kind::turbo, make_any<turbo::table>, {{"", {{"shards", 2}, {"collect_distance", 1}}}, {"near-place", {{"shards", 2}, {"in_place", 0}}, data_kind::u64}, {"narrow", {{"shards", 2}, {"scope", 2}}}}},
      {engine_kind::cceh, make_any<cceh::table>, {{"", {{"segment", 2}, {"probe", 2}}}, {"in-place", {{"segment", 2}, {"probe", 1}, {"copy_on_write", 0}}}}},
  };
  return all;
}

}  // namespace durahash::crash
