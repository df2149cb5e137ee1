#include "base/key_hash.hpp"

#include <cstring>

#include "base/hash.hpp"

namespace durahash {

key_hash::key_hash(const hash_seeds& seeds) noexcept : seed_(seeds.flip) {
  unsigned char all[XXH3_SECRET_DEFAULT_SIZE];
  XXH3_generateSecret_fromSeed(all, 0);  // the library's own
  std::memcpy(secret_, all, sizeof secret_);
}

}  // namespace durahash
