// What a look at a pool came to that somebody else may be writing to.
#pragma once

#include <cstdint>

namespace durahash {

/// Of `again` nothing is known. `suspect`: damage, unless it was disturbed.
enum class looked : std::uint8_t { hit, miss, again, suspect };

}  // namespace durahash
