// Bytes that nobody outside can guess.
#pragma once

#include <cstddef>
#include <cstdint>

namespace durahash {

/// The system's random bytes; where it has none, facts that nobody outside knows, mixed. Never
/// fails.
void fill_random(void* at, std::size_t bytes);

/// For programs that measure: from now on the bytes come from `seed`, the same ones each time, and
/// anybody can guess them.
void repeat_random(std::uint64_t seed);

inline std::uint64_t random_word() {
  std::uint64_t word;
  fill_random(&word, sizeof word);
  return word;
}

}  // namespace durahash
