// Where the engine level is instantiated.
#include "engine/level/table.hpp"
#include "store/bind.hpp"

namespace durahash {

engine_entry level_engine() noexcept {
  return entry_of<level::table>::of(engine_kind::level, read_level_beside);
}

}  // namespace durahash
