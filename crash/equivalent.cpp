#include "crash/equivalent.hpp"

namespace durahash::crash {

std::string argument_for(const std::string&) { return {}; }

}  // namespace durahash::crash
