// Flushes, fences and orders that may be left out without breaking the promise, each with its argument. The rest must be caught.
#pragma once

#include <string>

namespace durahash::crash {

/// Why leaving this out changes nothing, or an empty string.
std::string argument_for(const std::string& elision_text);

}  // namespace durahash::crash
