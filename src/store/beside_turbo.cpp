// Where the reader of turbo beside a writer is instantiated.
#include "engine/turbo/beside.hpp"
#include "store/read_beside.hpp"

namespace durahash {

result<opened> read_turbo_beside(beside_opening o) {
  return read_beside<turbo::beside>(std::move(o));
}

}  // namespace durahash
