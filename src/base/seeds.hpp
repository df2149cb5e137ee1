// What makes a pool's hashes its own (base/hash.hpp).
#pragma once

#include <cstdint>

namespace durahash {

struct hash_seeds {
  std::uint64_t flip = 0;      ///< xor-ed into the key
  std::uint64_t multiply = 1;  ///< odd
};

}  // namespace durahash
