// The pool that kernels work on, as a kill leaves it just now.
#pragma once

#include <cstring>
#include <filesystem>
#include <string>
#include <utility>

#include "test/ptx/device.hpp"
#include "test/store/patched_pool.hpp"
#include "test/store/scratch.hpp"

namespace durahash::ptx {

/// What is registered: from the pool's first byte on, a piece more with each growth.
inline std::pair<std::uint64_t, std::uint64_t> pool_in_memory(const device& d) {
  std::uint64_t begin = 0, end = 0;
  for (const auto& [first, each] : d.pieces.pieces()) {
    if (!each.registered || (end != 0 && first != end)) continue;
    if (end == 0) begin = first;
    end = each.end;
  }
  return {begin, end};
}

/// Its bytes, with what the host might find of stores that are under way. Of a file at `path`; if
/// that is empty of memory, as those of a file that can be opened. Empty: there is no pool yet.
inline std::string image_of_the_pool(device& d, const std::string& path, bool weak) {
  const auto [first, end] = pool_in_memory(d);
  std::string bytes;
  if (path.empty()) {
    if (first == end) return {};
    bytes.assign(reinterpret_cast<const char*>(first), end - first);
    superblock block = test::superblock_in(bytes);
    block.durability = durability_level::process;
    test::put_superblock(bytes, block);
  } else if (std::filesystem::exists(path)) {
    bytes = test::read_file(path);
  }
  if (first != end && weak)
    for (const weak_order::word& w : d.weak().as_the_host_may_find({{first, end}}))
      if (w.address - first + w.bytes <= bytes.size())
        std::memcpy(bytes.data() + (w.address - first), &w.value, w.bytes);
  return bytes;
}

}  // namespace durahash::ptx
