// What a kernel does that no device allows, or that PTX leaves undefined.
#pragma once

#include <stdexcept>

namespace durahash::ptx {

struct fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace durahash::ptx
