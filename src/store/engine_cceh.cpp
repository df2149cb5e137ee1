// Where the engine cceh is instantiated.
#include "store/bind.hpp"
#include "table/cceh/table.hpp"

namespace durahash {

engine_entry cceh_engine() noexcept { return entry_of<cceh::table>::of(engine_kind::cceh); }

}  // namespace durahash
