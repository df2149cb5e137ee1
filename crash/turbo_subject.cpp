#include "crash/engine_subject.hpp"
#include "crash/subjects.hpp"
#include "table/turbo/table.hpp"

namespace durahash::crash {

explored_engine turbo_subject() {
  return {engine_kind::turbo,
          make_any<turbo::table>,
          {{"", {{"shards", 2}, {"collect_distance", 1}}},
           {"near-place", {{"shards", 2}, {"in_place", 0}}, data_kind::u64},
           {"narrow", {{"shards", 2}, {"scope", 2}}}}};
}

}  // namespace durahash::crash
