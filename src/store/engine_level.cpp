// Where the engine level is instantiated.
#include "store/bind.hpp"
#include "table/level/table.hpp"

namespace durahash {

engine_entry level_engine() noexcept { return entry_of<level::table>::of(engine_kind::level); }

}  // namespace durahash
