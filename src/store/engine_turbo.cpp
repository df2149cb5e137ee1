// Where the engine turbo is instantiated.
#include "engine/turbo/table.hpp"
#include "store/bind.hpp"

namespace durahash {

engine_entry turbo_engine() noexcept {
  return entry_of<turbo::table>::of(engine_kind::turbo, read_turbo_beside);
}

}  // namespace durahash
