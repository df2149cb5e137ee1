// The kernels of this program: the PTX that the build has made.
#pragma once

#include "test/ptx/device.hpp"
#include "test/ptx/parser.hpp"

namespace durahash::ptx {

/// Once: from DURAHASH_PTX_FOLDER/<architecture>, DURAHASH_PTX_ARCHITECTURE or the one that the
/// build chose. False: why_not_loaded says what stands in the way.
bool load_once(device& d);
const std::string& why_not_loaded();
int architecture();

/// All files of the folder as one text each.
std::vector<std::string> texts();

}  // namespace durahash::ptx
