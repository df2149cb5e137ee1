#include "store/persist_instances.hpp"

#include "store/opened_pool.hpp"

namespace durahash {

template class pool<process_medium>;
template class pool<pmem_medium>;
template class heap<process_medium>;
template class heap<pmem_medium>;
template void visit_space(pool<process_medium>&, heap<process_medium>&, bool, part_visitor&);
template void visit_space(pool<pmem_medium>&, heap<pmem_medium>&, bool, part_visitor&);
DURAHASH_OPENED_POOL(, process_medium);
DURAHASH_OPENED_POOL(, pmem_medium);

}  // namespace durahash
