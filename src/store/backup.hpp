// A copy of an open pool, as a pool of its own: of its bytes, or of its records.
#pragma once

#include <string>

#include "durahash/detail/any_table.hpp"
#include "media/image_copy.hpp"
#include "persist/format.hpp"
#include "store/open.hpp"

namespace durahash {

/// `copy` fills what it is given with the pool's bytes, as they may be after a crash. From them the
/// engine recovers, on the new file, and closes it; then it gets its name.
/// crash before that: the file has none. `from` and `block` are the pool's.
error back_up(mapping& from, const superblock& block, const std::string& path,
              detail::function_ref<status(image_copy&)> copy);

/// `put_all` puts records into a new pool of that engine, with those settings and seeds; that is
/// closed, and gets its name. `bytes`: about how many it will need.
/// crash before that: the file has none.
error back_up_records(const superblock& block, std::uint64_t bytes, const std::string& path,
                      detail::function_ref<status(opened&)> put_all);

}  // namespace durahash
