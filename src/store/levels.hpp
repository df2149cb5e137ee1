// What levels promise, and where they can.
#pragma once

#include <string>

#include "durahash/options.hpp"

namespace durahash {

constexpr bool survives_power(durability_level level) {
  return level == durability_level::power || level == durability_level::power_buffered;
}

/// Whether the path, or for a new file its folder, is on tmpfs: gone with the machine, and never
/// torn by its end.
bool is_in_memory(const std::string& path);

}  // namespace durahash
