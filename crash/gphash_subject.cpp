#include "crash/engine_subject.hpp"
#include "crash/subjects.hpp"
#include "table/gphash/table.hpp"

namespace durahash::crash {

explored_engine gphash_subject() {
  return {engine_kind::gphash,
          make_any<gphash::table>,
          {{"", {{"levels", 1}, {"hashes", 1}, {"slots", 2}}}, {"two levels", {{"levels", 2}, {"hashes", 2}, {"slots", 2}}}, {"as in the paper", {}}}};
}

}  // namespace durahash::crash
