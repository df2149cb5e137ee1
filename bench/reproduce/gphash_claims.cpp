// GPHash (FAST'25): figures 5 to 15, and what the text says beside them.
#include "bench/reproduce/gphash_claims.hpp"

namespace durahash::reproduce {

const std::vector<claim>& gphash_claims() {
  static const std::vector<claim> all = [] {
    std::vector<claim> together = gphash_paper::load_claims();
    for (auto more :
         {gphash_paper::device_claims, gphash_paper::kernel_claims, gphash_paper::operation_claims})
      for (const claim& one : more()) together.push_back(one);
    return together;
  }();
  return all;
}

}  // namespace durahash::reproduce
