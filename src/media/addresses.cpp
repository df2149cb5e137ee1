#include "media/addresses.hpp"

#include <sys/mman.h>

#include <algorithm>

#include "base/bits.hpp"

namespace durahash {

std::byte* reserve_addresses(std::uint64_t& bytes, std::uint64_t least, std::uint64_t alignment) {
  auto set_aside = [&] {
    return ::mmap(nullptr, bytes + alignment, PROT_NONE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  };
  void* at = set_aside();
  const bool limited = at == MAP_FAILED;
  while (at == MAP_FAILED) {
    if (bytes <= least) return nullptr;
    bytes = std::max(align_down(bytes / 2, page_bytes), least);
    at = set_aside();
  }
  if (limited && bytes > least) {  // the rest of the process wants some, too
    ::munmap(at, bytes + alignment);
    bytes = std::max(align_down(bytes / 2, page_bytes), least);
    at = set_aside();
    if (at == MAP_FAILED) return nullptr;
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
