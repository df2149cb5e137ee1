// Which keys and values a pool takes, by their length.
#pragma once

#include <string_view>

#include "durahash/info.hpp"
#include "persist/format.hpp"

namespace durahash {

struct length_range {
  std::size_t least, most;
  bool takes(std::string_view bytes) const noexcept {
    return bytes.size() - least <= most - least;  // one comparison: what is too short wraps around
  }
};

template <class E>
length_range key_lengths(const E& engine, const superblock& block) noexcept {
  if constexpr (E::kind::fixed_key) return {engine.key_bytes(), engine.key_bytes()};
  if (block.key == data_kind::u64) return {sizeof(std::uint64_t), sizeof(std::uint64_t)};
  return {0, max_key_bytes};
}
inline length_range value_lengths(const superblock& block) noexcept {
  if (block.value == data_kind::u64) return {sizeof(std::uint64_t), sizeof(std::uint64_t)};
  return {0, max_value_bytes};
}
template <class E>
bool takes_key(const E& engine, const superblock& block, std::string_view key) noexcept {
  return key_lengths(engine, block).takes(key);
}

}  // namespace durahash
