// Where the engine level is instantiated on the medium `emulated`.
#include "emulated/bind_emulated.hpp"
#include "engine/level/table.hpp"

namespace durahash {

bind_emulated level_on_emulated() noexcept { return entry_of<level::table>::bind<emulated_medium>; }

}  // namespace durahash
