// Where the engine cceh is instantiated; for bytes in engine_cceh_bytes.cpp.
#include "engine/cceh/table.hpp"
#include "store/bind.hpp"

DURAHASH_BINDINGS(extern template, durahash::cceh::table, durahash::byte_records);

namespace durahash {

engine_entry cceh_engine() noexcept {
  return entry_of<cceh::table>::of(engine_kind::cceh, read_cceh_beside);
}

}  // namespace durahash
