// Where the engine gphash is instantiated.
#include "store/gphash_kinds.hpp"

namespace durahash {

engine_entry gphash_engine() noexcept {
  return entry_of<gphash::table, gphash_kinds>::of(engine_kind::gphash, read_gphash_beside);
}

}  // namespace durahash
