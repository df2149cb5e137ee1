// Where the reader of level beside a writer is instantiated.
#include "engine/level/beside.hpp"
#include "store/read_beside.hpp"

namespace durahash {

result<opened> read_level_beside(beside_opening o) {
  return read_beside<level::beside>(std::move(o));
}

}  // namespace durahash
