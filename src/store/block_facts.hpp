// What a superblock says of its pool, in the words of the public interface.
#pragma once

#include <cstdint>

#include "durahash/info.hpp"
#include "persist/format.hpp"

namespace durahash {

inline pool_kinds kinds_of(const superblock& block) noexcept {
  return {block.engine, block.key, block.value, block.durability};
}

/// Of a pool with so many records and places for them; the rest is the caller's to say.
inline pool_info facts_of(const superblock& block, medium_kind medium, std::uint64_t records,
                          std::uint64_t slots) noexcept {
  pool_info made;
  made.engine = block.engine;
  made.key = block.key;
  made.value = block.value;
  made.durability = block.durability;
  made.medium = medium;
  made.records = records;
  made.slots = slots;
  made.load_factor = slots == 0 ? 0 : static_cast<double>(records) / static_cast<double>(slots);
  made.format_version = block.version;
  return made;
}

}  // namespace durahash
