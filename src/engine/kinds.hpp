// The kinds of records that engines store: words in the slot itself; bytes in the heap, with their
// hash and offset in the slot; and, in GPHash, keys of one length in the slot, with the offset of
// their value.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/hash.hpp"
#include "durahash/info.hpp"

namespace durahash {

struct word_records {
  using key_type = std::uint64_t;
  using value_type = std::uint64_t;
  static constexpr bool in_slot = true;     // key and value, both
  static constexpr bool fixed_key = false;  // keys of one length in the slot, values in the heap

  static std::uint64_t hash(key_type key, const hash_seeds& seeds) noexcept {
    return word_hash(key, seeds);
  }
  /// What the slot's key word holds.
  static std::uint64_t key_word(key_type key, std::uint64_t) noexcept { return key; }
};

struct byte_records {
  using key_type = std::string_view;
  using value_type = std::string_view;
  static constexpr bool in_slot = false;
  static constexpr bool fixed_key = false;

  static std::uint64_t hash(key_type key, const hash_seeds& seeds) noexcept {
    return bytes_hash(key, seeds);
  }
  static std::uint64_t key_word(key_type, std::uint64_t hash) noexcept { return hash; }
};

struct fixed_records : byte_records {
  static constexpr bool fixed_key = true;
};

/// Kind::hash, inlined also where the compiler would make a call of it.
template <class Kind>
[[gnu::always_inline]] inline std::uint64_t hash_inlined(typename Kind::key_type key,
                                                         const hash_seeds& seeds) noexcept {
  if constexpr (Kind::in_slot) return word_hash(key, seeds);
  else return bytes_hash(key, seeds);
}

}  // namespace durahash
