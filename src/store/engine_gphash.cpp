// Where the engine gphash is instantiated; for bytes in engine_gphash_bytes.cpp.
#include "store/gphash_instances.hpp"
#include "store/gphash_kinds.hpp"

DURAHASH_BINDINGS(extern template, durahash::gphash::table, durahash::byte_records);
DURAHASH_BINDINGS(extern template, durahash::gphash::table, durahash::fixed_records);
DURAHASH_GPHASH_PARTS(template, durahash::word_records);

namespace durahash {

engine_entry gphash_engine() noexcept {
  return entry_of<gphash::table, gphash_kinds>::of(engine_kind::gphash, read_gphash_beside);
}

}  // namespace durahash
