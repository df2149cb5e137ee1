// Pools and heaps on the media of users, compiled once and not with each engine. Their functions
// that are declared inline are compiled with the engines, too: hot paths lose no instruction.
#pragma once

#include "media/pmem_medium.hpp"
#include "media/process_medium.hpp"
#include "persist/heap.hpp"
#include "persist/pool.hpp"

namespace durahash {

extern template class pool<process_medium>;
extern template class pool<pmem_medium>;
extern template class heap<process_medium>;
extern template class heap<pmem_medium>;

}  // namespace durahash
