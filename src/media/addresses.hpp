// Ranges of addresses without memory behind them, for mappings that grow in place.
#pragma once

#include <cstddef>
#include <cstdint>

namespace durahash {

// what a pool is to have for growth, beyond its size at open
constexpr std::uint64_t min_address_space = 256 << 20;

/// Sets addresses aside, aligned to `alignment` and nothing beside them. Where the process may not
/// have so many (a limit, a sanitizer), half of them, and so on down to `least`, and as many again
/// are left to the rest of the process; `bytes` then says how many. Null where not even `least` are
/// to be had. Given back by munmap.
std::byte* reserve_addresses(std::uint64_t& bytes, std::uint64_t least, std::uint64_t alignment);

/// A child of this process has nothing there: neither the memory, nor through it the file and its
/// lock. To be said of each mapping put into the range, too.
void keep_from_children(std::byte* at, std::uint64_t bytes) noexcept;

}  // namespace durahash
