// Where the engine turbo is instantiated.
#include "store/bind.hpp"
#include "table/turbo/table.hpp"

namespace durahash {

engine_entry turbo_engine() noexcept { return entry_of<turbo::table>::of(engine_kind::turbo); }

}  // namespace durahash
