// What a writer tells readers in other processes: one line of the pool's header, and memory with
// the versions of its stripes. docs/explanation/readers.md.
//
// These words are no part of what a crash leaves, and are not flushed. They are changed on rare
// ways alone, and where nobody else can map the pool, not at all.
#pragma once

#include <array>
#include <cstdint>

#include "base/bits.hpp"
#include "persist/format.hpp"

namespace durahash {

/// Odd `sequence`: nobody reads now.
struct readers_line {
  std::uint64_t sequence;
  std::uint64_t writer;       // its process's number; 0: none
  std::uint64_t start_ticks;  // when that began (base/process_facts.hpp)
  std::uint64_t versions;     // 1 + its descriptor of them; 0: it has none to show
  std::uint64_t incarnation;  // another one whenever who writes is
  std::uint64_t reserved[3];
};
static_assert(sizeof(readers_line) == line_bytes);

inline constexpr std::uint64_t readers_line_offset = owner_offset + sizeof(owner_record);
static_assert(readers_line_offset % line_bytes == 0);

inline readers_line& readers_line_at(std::byte* base) noexcept {
  return *reinterpret_cast<readers_line*>(base + readers_line_offset);
}
inline const readers_line& readers_line_at(const std::byte* base) noexcept {
  return *reinterpret_cast<const readers_line*>(base + readers_line_offset);
}

/// In front of the versions, a page.
struct versions_header {
  std::uint64_t magic;
  std::uint64_t bytes;                // of all
  std::array<std::uint8_t, 16> pool;  // its uuid
};
inline constexpr std::uint64_t versions_magic = 0x3273'6e6f'6973'7276;  // "vrsions2"

}  // namespace durahash
