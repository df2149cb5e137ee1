// Files that are memory.
#pragma once

#include <string>

namespace durahash {

/// Whether the path, or for a new file its folder, is on tmpfs: gone with the machine, and never
/// torn by its end.
bool is_in_memory(const std::string& path);

}  // namespace durahash
