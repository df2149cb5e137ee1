// The hash of keys of whole words (base/hash.hpp, bytes_hash), for a device too: XXH3-64 of 8 to
// 128 bytes.
#pragma once

#include "base/bits.hpp"
#include "base/seeds.hpp"

namespace durahash {

class key_hash {
 public:
  static constexpr unsigned max_words = 16;

  explicit key_hash(const hash_seeds& seeds) noexcept;  // by the host

  /// Of 1 to max_words words.
  constexpr std::uint64_t of(const std::uint64_t* key, unsigned words) const noexcept {
    if (words == 1) return of_one(key[0]);
    if (words == 2) return of_two(key[0], key[1]);
    std::uint64_t sum = words * 8 * 0x9e3779b185ebca87u;
    // from the middle of the key outwards, two words of each half; they may overlap
    for (unsigned pair = (words - 1) / 4 + 1; pair-- > 0;) {
      sum += mixed(key + 2 * pair, secret_ + 4 * pair);
      sum += mixed(key + words - 2 * (pair + 1), secret_ + 4 * pair + 2);
    }
    return avalanche(sum);
  }

 private:
  static constexpr std::uint64_t turned(std::uint64_t x, unsigned by) noexcept {
    return x << by | x >> (64 - by);
  }
  static constexpr std::uint64_t swapped(std::uint64_t x) noexcept {
    x = (x & 0x00ff00ff00ff00ffu) << 8 | (x >> 8 & 0x00ff00ff00ff00ffu);
    x = (x & 0x0000ffff0000ffffu) << 16 | (x >> 16 & 0x0000ffff0000ffffu);
    return x << 32 | x >> 32;
  }
  static constexpr std::uint64_t folded_product(std::uint64_t a, std::uint64_t b) noexcept {
    __extension__ using wide = unsigned __int128;
    wide product = static_cast<wide>(a) * b;
    return static_cast<std::uint64_t>(product >> 64) ^ static_cast<std::uint64_t>(product);
  }
  static constexpr std::uint64_t avalanche(std::uint64_t x) noexcept {
    x = (x ^ x >> 37) * 0x165667919e3779f9u;
    return x ^ x >> 32;
  }
  constexpr std::uint64_t mixed(const std::uint64_t* two,
                                const std::uint64_t* secret) const noexcept {
    return folded_product(two[0] ^ (secret[0] + seed_), two[1] ^ (secret[1] - seed_));
  }
  constexpr std::uint64_t of_one(std::uint64_t key) const noexcept {
    constexpr std::uint64_t multiply = 0x9fb21c651e98df25u;
    std::uint64_t seed = seed_ ^ swapped(seed_ & low_bits(32));
    std::uint64_t x = (key >> 32 | key << 32) ^ ((secret_[1] ^ secret_[2]) - seed);
    x = (x ^ turned(x, 49) ^ turned(x, 24)) * multiply;
    x = (x ^ ((x >> 35) + 8)) * multiply;
    return x ^ x >> 28;
  }
  constexpr std::uint64_t of_two(std::uint64_t first, std::uint64_t second) const noexcept {
    std::uint64_t low = first ^ ((secret_[3] ^ secret_[4]) + seed_),
                  high = second ^ ((secret_[5] ^ secret_[6]) - seed_);
    return avalanche(16 + swapped(low) + high + folded_product(low, high));
  }

  std::uint64_t seed_;
  std::uint64_t secret_[max_words];
};

}  // namespace durahash
