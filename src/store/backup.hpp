// A copy of an open pool, as a pool of its own.
#pragma once

#include <string>

#include "durahash/detail/any_table.hpp"
#include "media/image_copy.hpp"
#include "persist/format.hpp"

namespace durahash {

/// `copy` fills what it is given with the pool's bytes, as they may be after a crash. From them the
/// engine recovers, on the new file, and closes it; then it gets its name.
/// crash before that: the file has none. `from` and `block` are the pool's.
error back_up(mapping& from, const superblock& block, const std::string& path,
              detail::function_ref<status(image_copy&)> copy);

}  // namespace durahash
