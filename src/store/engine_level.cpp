// Where the engine level is instantiated; for bytes in engine_level_bytes.cpp.
#include "engine/level/table.hpp"
#include "store/bind.hpp"

DURAHASH_BINDINGS(extern template, durahash::level::table, durahash::byte_records);

namespace durahash {

engine_entry level_engine() noexcept {
  return entry_of<level::table>::of(engine_kind::level, read_level_beside);
}

}  // namespace durahash
