// Persistent memory: files on a DAX file system mapped with MAP_SYNC, and device DAX, through
// libpmem2.
#pragma once

#include <memory>
#include <string>

#include "media/mapping.hpp"

namespace durahash {

/// Refuses a path whose stores would go through the page cache.
result<std::unique_ptr<mapping>> open_pmem_mapping(const mapping_request& request);

/// Whether `path` (or, when it does not exist yet, its folder) is persistent memory.
bool is_persistent_memory(const std::string& path);

}  // namespace durahash
