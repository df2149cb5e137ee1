// The demo's second index: on a disk, at the level power_buffered, and the power goes.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "demo_files.hpp"

namespace durahash::tool {

/// Indexes the files into a pool of its own, again and again until they are done or `seconds` are
/// over. A worker is killed at a random moment, and its disk then forgets a part of what nobody had
/// waited for. What comes back must be what was there at one moment. Prints a row for each cut.
/// Throws `failure` where it is not so. Where it cannot be shown, it says why.
void show_power_cuts(const std::vector<file_entry>& files, double seconds, std::mt19937_64& random);

}  // namespace durahash::tool
