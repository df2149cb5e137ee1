// Pools on persistent memory where there is none: libpmem2 takes any file for it, by its own switch
// for tests.
#pragma once

#include <cstdlib>
#include <filesystem>

#include "environment.hpp"

namespace durahash::test {

/// Whether the library was built with libpmem2.
inline bool has_pmem() {
  ::setenv("PMEM2_FORCE_GRANULARITY", "CACHE_LINE", 0);
  ::setenv("DURAHASH_PMEM_DIR", "/dev/shm", 0);
  static const bool opens =
      live([] {
        setup any{engine_kind::turbo, place_kind::pmem, api_kind::words, durability_level::power};
        scratch_folder folder(any.folder());
        if (!numbered_pool::open(any, folder.file("pool"), any.create_options()))
          complain("no persistent memory");
      }).empty();
  return opens;
}

/// Every engine that is shipped, with words and with bytes, at the level power; none where the
/// library cannot open them.
inline std::vector<setup> pmem_setups() {
  std::vector<setup> all;
  if (!has_pmem()) return all;
  all = setups_at(place_kind::pmem);
  std::erase_if(all, [](const setup& s) { return !is_shipped(s.engine); });
  for (setup& s : all) s.durability = durability_level::power;
  return all;
}

}  // namespace durahash::test
