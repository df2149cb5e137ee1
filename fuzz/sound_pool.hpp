// Small pools as the library writes them: what damage starts from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "durahash/options.hpp"

namespace durahash::fuzz {

struct sound_pool {
  std::string name;
  data_kind key{}, value{};
  /// closed, or copied while it was open, as a killed process leaves it
  bool clean = false;
  std::string bytes;  ///< the whole file
  /// offsets of the 8-byte words that are not 0, and of some neighbours
  std::vector<std::size_t> words;
};

/// Every key and value kind, and keys in the buckets, clean and not; the same bytes in every
/// process of this run of the machine.
std::vector<sound_pool> make_sound_pools();
const std::vector<sound_pool>& sound_pools();  ///< made once

/// Roots that are whole say that they were written to the file of that mark.
void name_the_file(std::string& bytes, std::uint32_t mark);

inline constexpr std::uint64_t sound_records = 160;

/// The n-th key and value of a sound pool; n from sound_records on is absent from it. `key_bytes`:
/// of every key; 0: keys of many lengths.
std::string nth_key(data_kind kind, std::uint64_t n, std::size_t key_bytes = 0);
std::string nth_value(data_kind kind, std::uint64_t n);

}  // namespace durahash::fuzz
