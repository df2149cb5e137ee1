// Pools and heaps on the media of users, compiled once for all engines: with those of each engine
// anew it takes longer.
#pragma once

#include "disk/disk_medium.hpp"
#include "media/pmem_medium.hpp"
#include "media/process_medium.hpp"
#include "persist/heap.hpp"
#include "persist/pool.hpp"

namespace durahash {

extern template class pool<process_medium>;
extern template class pool<pmem_medium>;
extern template class pool<disk_medium>;
extern template class heap<process_medium>;
extern template class heap<pmem_medium>;
extern template class heap<disk_medium>;

}  // namespace durahash
