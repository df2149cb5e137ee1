#include "bench/reproduce/claim.hpp"

namespace durahash::reproduce {

const std::vector<claim>& turbo_claims() {
  static const std::vector<claim> all;
  return all;
}

}  // namespace durahash::reproduce
