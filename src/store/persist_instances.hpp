// Pools and heaps on the media of users, and what else is the same for all engines there, compiled
// once and not with each engine. Functions that are declared inline are compiled with the engines,
// too: hot paths lose no instruction.
#pragma once

#include "engine/structure.hpp"
#include "media/pmem_medium.hpp"
#include "media/process_medium.hpp"
#include "persist/heap.hpp"
#include "persist/pool.hpp"

namespace durahash {

extern template class pool<process_medium>;
extern template class pool<pmem_medium>;
extern template class heap<process_medium>;
extern template class heap<pmem_medium>;
extern template void visit_space(pool<process_medium>&, heap<process_medium>&, bool, part_visitor&);
extern template void visit_space(pool<pmem_medium>&, heap<pmem_medium>&, bool, part_visitor&);

}  // namespace durahash
