// What a library that was built without libpmem2 says of persistent memory.
#include <cstdio>

#include "media/pmem_mapping.hpp"

int main() {
  auto map = durahash::open_pmem_mapping({.path = "/dev/shm/none.dh"});
  if (map) return 1;
  std::puts(map.failure().message.c_str());
}
