// Where the engine gphash is instantiated on the medium `emulated`.
#include "emulated/bind_emulated.hpp"
#include "store/gphash_kinds.hpp"

namespace durahash {

bind_emulated gphash_on_emulated() noexcept {
  return entry_of<gphash::table, gphash_kinds>::bind<emulated_medium>;
}

}  // namespace durahash
