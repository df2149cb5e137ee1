// Where the engine cceh is instantiated.
#include "engine/cceh/table.hpp"
#include "store/bind.hpp"

namespace durahash {

engine_entry cceh_engine() noexcept {
  return entry_of<cceh::table>::of(engine_kind::cceh, read_cceh_beside);
}

}  // namespace durahash
