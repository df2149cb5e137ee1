// Where the reader of cceh beside a writer is instantiated.
#include "engine/cceh/beside.hpp"
#include "store/read_beside.hpp"

namespace durahash {

result<opened> read_cceh_beside(beside_opening o) {
  return read_beside<cceh::beside>(std::move(o));
}

}  // namespace durahash
