// Opens a pool to be read beside the process that writes it.
#pragma once

#include "store/open.hpp"

namespace durahash {

/// Neither waits for who has the pool, nor keeps it from anybody.
result<opened> open_beside(opening o);

}  // namespace durahash
