// Where the reader of gphash beside a writer is instantiated.
#include "engine/gphash/beside.hpp"
#include "store/read_beside.hpp"

namespace durahash {

result<opened> read_gphash_beside(beside_opening o) {
  if (o.block.key == data_kind::bytes && o.block.settings[gphash::setting::key_bytes] != 0)
    return read_kind_beside<gphash::beside, fixed_records>(std::move(o));
  return read_beside<gphash::beside>(std::move(o));
}

}  // namespace durahash
