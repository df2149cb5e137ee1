#include "crash/engine_subject.hpp"
#include "crash/subjects.hpp"
#include "table/level/table.hpp"

namespace durahash::crash {

explored_engine level_subject() {
  return {engine_kind::level, make_any<level::table>, {{"", {{"slots", 1}}}, {"as in the paper", {{"slots", 4}, {"in_place", 0}, {"dynamic", 0}}}}};
}

}  // namespace durahash::crash
