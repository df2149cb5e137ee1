// Where the engine turbo is instantiated on the medium `emulated`.
#include "emulated/bind_emulated.hpp"
#include "engine/turbo/table.hpp"

namespace durahash {

bind_emulated turbo_on_emulated() noexcept { return entry_of<turbo::table>::bind<emulated_medium>; }

}  // namespace durahash
