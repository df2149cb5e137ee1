// What TurboHash's code asks of PMDK, in memory of this process: one pool, whose allocations are
// malloc's. They cost less than PMDK's, which are transactions.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

struct PMEMobjpool {
  void* root;
};
struct PMEMoid {
  std::uint64_t pool_uuid_lo, off;
};

inline PMEMobjpool& the_pool() {
  static PMEMobjpool pool{};
  return pool;
}
inline PMEMobjpool* pmemobj_create(const char*, const char*, std::size_t, unsigned) {
  return &the_pool();
}
inline PMEMobjpool* pmemobj_open(const char*, const char*) { return &the_pool(); }
inline void pmemobj_close(PMEMobjpool*) {}

// An offset is an address less the pool's.
inline char* pmemobj_base() { return reinterpret_cast<char*>(&the_pool()); }
inline PMEMoid pmemobj_oid(const void* at) {
  return {0, static_cast<std::uint64_t>(static_cast<const char*>(at) - pmemobj_base())};
}
inline void* pmemobj_direct(PMEMoid oid) { return pmemobj_base() + oid.off; }

inline int pmemobj_alloc(PMEMobjpool*, PMEMoid* oid, std::size_t bytes, std::uint64_t, void*,
                         void*) {
  constexpr std::size_t block = 256;
  void* at = std::aligned_alloc(block, (bytes + block - 1) / block * block);
  if (at == nullptr) return -1;
  *oid = pmemobj_oid(at);
  return 0;
}
inline void pmemobj_free(PMEMoid* oid) { std::free(pmemobj_direct(*oid)); }

inline PMEMoid pmemobj_root(PMEMobjpool* pool, std::size_t bytes) {
  if (pool->root == nullptr) pool->root = std::calloc(1, bytes);
  return pmemobj_oid(pool->root);
}

#define TX_BEGIN(pool) if ((pool) != nullptr)
#define TX_END
