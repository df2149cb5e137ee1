// Level hashing (OSDI'18): figures 2, 4, 6(b), 8 to 16, and what the text says beside them.
#include "bench/reproduce/level_claims.hpp"

namespace durahash::reproduce {

const std::vector<claim>& level_claims() {
  static const std::vector<claim> all = [] {
    std::vector<claim> together = level_paper::load_claims();
    for (const claim& one : level_paper::operation_claims()) together.push_back(one);
    return together;
  }();
  return all;
}

}  // namespace durahash::reproduce
