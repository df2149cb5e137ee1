// Where the engine turbo is instantiated; for bytes in engine_turbo_bytes.cpp.
#include "engine/turbo/table.hpp"
#include "store/bind.hpp"

DURAHASH_BINDINGS(extern template, durahash::turbo::table, durahash::byte_records);

namespace durahash {

engine_entry turbo_engine() noexcept {
  return entry_of<turbo::table>::of(engine_kind::turbo, read_turbo_beside);
}

}  // namespace durahash
