// What the processes that open damaged pools tell their parent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "child.hpp"
#include "random.hpp"

namespace durahash::test {

enum class damage_outcome : std::uint64_t {
  refused,                 ///< open said no, and why
  noticed,                 ///< it opened, and check lists a violation
  harmless,                ///< it opened, every record is right, and check finds nothing
  refused_without_reason,  ///< the rest are faults
  noticed_without_reason,
  wrong_and_unnoticed,  ///< a lookup or a scan was wrong, and check finds nothing
  lost,                 ///< of a pool whose records are whole
  not_recovered,        ///< what need not be believed was
};
constexpr bool is_fault(damage_outcome outcome) { return outcome > damage_outcome::harmless; }

enum class damage_phase : std::uint64_t { open, read, check, write, close };

/// Indices of the shared words.
struct damage_told {
  static constexpr std::size_t current = 0, finished = 1, outcome = 2, phase = 3, counts = 4,
                               words = 12;
};

/// Waits for the end of a reader; a fault in words, or an empty string.
std::string fault_of(child_process& reader, shared_words& told);

/// Whether this damage is tried. A run tries one in 32, chosen by its seed; with DURAHASH_LONG=1
/// all of them.
inline bool is_tried(std::uint64_t which, std::uint64_t seed) {
#ifdef DURAHASH_SANITIZED
  constexpr std::uint64_t one_in = 128;
#else
  constexpr std::uint64_t one_in = 32;
#endif
  return long_run() || mixed(seed + which) % one_in == 0;
}

}  // namespace durahash::test
