// Where the engine cceh is instantiated on the medium `emulated`.
#include "emulated/bind_emulated.hpp"
#include "engine/cceh/table.hpp"

namespace durahash {

bind_emulated cceh_on_emulated() noexcept { return entry_of<cceh::table>::bind<emulated_medium>; }

}  // namespace durahash
