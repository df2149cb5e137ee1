#include "engine/gphash/places.hpp"

#include "base/hash.hpp"

namespace durahash::gphash {

places::places(const shape& s, const hash_seeds& seeds) noexcept : shape_(s), mixer_(seeds) {
  for (unsigned which = 1; which < max_hashes; ++which)
    for (unsigned map = 0; map < maps; ++map) {
      std::uint64_t words[2] = {seeds.flip, seeds.multiply}, first_bits[] = {0, 2, 1, 3};
      std::uint64_t number = 2 * (which * maps + map);
      flips_[which][map] =
          (checksum(words, sizeof words, number) & low_bits(62)) | first_bits[which] << 62;
      carries_[which][map] = checksum(words, sizeof words, number + 1) & low_bits(62);
    }
}

}  // namespace durahash::gphash
