#include "crash/engine_subject.hpp"
#include "crash/subjects.hpp"
#include "table/cceh/table.hpp"

namespace durahash::crash {

explored_engine cceh_subject() {
  return {engine_kind::cceh,
          make_any<cceh::table>,
          {{"", {{"segment", 2}, {"probe", 2}}}, {"in-place", {{"segment", 2}, {"probe", 1}, {"copy_on_write", 0}}}}};
}

}  // namespace durahash::crash
