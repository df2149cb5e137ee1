// What a disk that loses power may forget: the writes of a program that nobody has waited for, in
// a file that outlives the program.
//
// Preloaded into the program, durahash-power-cut.so notes before each write what was there, and
// that it is settled once the program has waited for it. Who cuts the power puts back, sector by
// sector as a disk would, some of what is not settled.
#pragma once

#include <cstdint>

namespace durahash::tool::power_cut {

/// The environment names the file.
inline constexpr const char* undo_variable = "DURAHASH_POWER_CUT_UNDO";
/// Milliseconds that each wait for the disk takes longer.
inline constexpr const char* slow_variable = "DURAHASH_POWER_CUT_SLOW_MS";

inline constexpr std::uint64_t sector_bytes = 512;

/// The old bytes follow, as far as the file had any.
struct undo_record {
  enum class change : std::uint32_t { bytes, length };
  std::uint64_t device, inode;
  std::uint64_t offset;     // of a change of length: the old one
  std::uint64_t old_bytes;  // that follow
  change what;
  std::uint32_t settled;
};
static_assert(sizeof(undo_record) == 40);

}  // namespace durahash::tool::power_cut
