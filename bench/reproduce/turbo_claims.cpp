// TurboHash (SYSTOR'23): table 1, figures 1, 2 and 6 to 12, §4.7, and what the text says beside.
#include "bench/reproduce/turbo_claims.hpp"

namespace durahash::reproduce {

const std::vector<claim>& turbo_claims() {
  static const std::vector<claim> all = [] {
    using namespace turbo_paper;
    std::vector<claim> together;
    for (const std::vector<claim>& some :
         {scope_claims(), traffic_claims(), time_claims(), load_claims(), distance_claims()})
      together.insert(together.end(), some.begin(), some.end());
    return together;
  }();
  return all;
}

}  // namespace durahash::reproduce
