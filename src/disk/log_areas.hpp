// Where the entries of a log stand in its file, which grows while the log is in use.
//
// An *area* takes the places from its first one on, until the next area does. They stand one after
// the other in the file's first `slots` slots, round and round. The file grows behind its end, and
// the new area begins there:
//
//   slots    0      S0                 S1
//   area 0   |----->|                      places before Q, round and round
//   area 1          |Q --------------->|   places from Q on: the new part, then round all of it
//
// Invariants
//   A1  No place of an area is taken before the record in force names the area.
//   A2  A slot is taken again when the pool's file has what its entry says (D3). So the newest area
//       goes round when the pool's file has all that stands in older ones.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace durahash {

struct log_area {
  std::uint64_t first;  ///< place
  std::uint64_t slot;   ///< where that stands
  std::uint64_t slots;  ///< places stand in the slots before this one
};

/// As it stands in the record: the areas of places that may be needed, oldest first.
struct log_areas {
  static constexpr std::size_t max_count = 8;
  std::uint64_t count;
  std::array<log_area, max_count> all;

  static log_areas of(std::uint64_t slots) noexcept { return {1, {log_area{0, 0, slots}}}; }

  const log_area& newest() const noexcept { return all[count - 1]; }
  std::uint64_t slots() const noexcept { return newest().slots; }
  bool may_grow() const noexcept { return count < max_count; }

  std::uint64_t slot_of(std::uint64_t place) const noexcept;
  /// How many places from that one on stand one after the other.
  std::uint64_t run_from(std::uint64_t place) const noexcept;
  /// The first place for which there is no slot, while entries from `from` on are needed.
  std::uint64_t end(std::uint64_t from) const noexcept;

  /// Entries before `from` are not needed any more.
  void forget_before(std::uint64_t from) noexcept;
  /// Adds an area, of the places that nobody may have taken before it was named.
  void grow(std::uint64_t from, std::uint64_t slots) noexcept;

  /// With figures that can be.
  bool is_sound() const noexcept;

 private:
  std::size_t area_of(std::uint64_t place) const noexcept;
};
static_assert(sizeof(log_areas) == 200);

}  // namespace durahash
