// Which keys a pool takes, by their length.
#pragma once

#include <string_view>

#include "durahash/info.hpp"
#include "persist/format.hpp"

namespace durahash {

template <class E>
bool takes_key(const E& engine, const superblock& block, std::string_view key) noexcept {
  if constexpr (E::kind::fixed_key) return key.size() == engine.key_bytes();
  return block.key == data_kind::u64 ? key.size() == sizeof(std::uint64_t)
                                     : key.size() <= max_key_bytes;
}

}  // namespace durahash
