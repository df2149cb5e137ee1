#include "base/random.hpp"
#include "durahash/emulated.hpp"

namespace durahash {

void repeat_pool_seeds(std::uint64_t seed) { repeat_random(seed); }

}  // namespace durahash
