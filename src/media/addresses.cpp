#include "media/addresses.hpp"

#include <sys/mman.h>

#include <algorithm>

#include "base/bits.hpp"

namespace durahash {

std::byte* reserve_addresses(std::uint64_t& bytes, std::uint64_t least, std::uint64_t alignment) {
  void* at = MAP_FAILED;
  for (;; bytes = std::max(bytes / 2, least)) {
    at = ::mmap(nullptr, bytes + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                -1, 0);
    if (at != MAP_FAILED) break;
    if (bytes <= least) return nullptr;
  }
  auto start = reinterpret_cast<std::uintptr_t>(at);
  auto aligned = align_up(start, alignment);
  if (aligned != start) ::munmap(at, aligned - start);
  if (aligned - start != alignment)
    ::munmap(reinterpret_cast<void*>(aligned + bytes), alignment - (aligned - start));
  keep_from_children(reinterpret_cast<std::byte*>(aligned), bytes);
  return reinterpret_cast<std::byte*>(aligned);
}

void keep_from_children(std::byte* at, std::uint64_t bytes) noexcept {
  ::madvise(at, bytes, MADV_DONTFORK);
}

}  // namespace durahash
