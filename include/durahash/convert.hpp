// Changing which crashes a pool survives.
#pragma once

#include <string>

#include "durahash/options.hpp"
#include "durahash/status.hpp"

namespace durahash {

/// Gives a closed pool another durability level. To power or power_buffered: the pool gets a log
/// when it is opened next. To process or none: its log is removed. Records stay as they are.
///
/// Returns   nothing (code ok), or what is wrong: the pool is open, was not closed cleanly, lies on
///           tmpfs and is to survive a loss of power, or is a pool on persistent memory.
/// Durable   when it returns.
/// Crash     at any point: the pool has the old level or the new one, and is whole.
error convert(const std::string& path, durability_level to);

}  // namespace durahash
